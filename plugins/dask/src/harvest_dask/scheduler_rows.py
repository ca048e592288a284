"""Columns of what the scheduler sees, made in the thread that writes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from dask.utils import key_split
from distributed.utils import key_split_group

from .keys import spell, spell_all
from .queues import Columns, Payload

__all__ = ["Tasks", "graph_frame", "transition_columns"]

EXCEPTION: Final = 1000
"""Characters of an exception's text."""

Tasks = Sequence[tuple[Any, list[Any]]]
"""Keys, each with those it depends on."""

_DETAILS: Final = {
    "worker": "worker",
    "thread": "thread",
    "size_bytes": "nbytes",
    "type": "typename",
    "run_id": "run_id",
}
"""Columns, and what Dask calls them in a transition's details."""


def transition_columns(rows: Sequence[tuple[Any, ...]]) -> Columns:
    """Columns of transitions: (time, key, start, finish, stimulus, details) each."""
    times, keys, starts, finishes, stimuli, details = zip(*rows, strict=True)
    begins, ends = zip(*map(_executed, details), strict=True)
    columns: dict[str, Sequence[Any]] = {
        "time": times,
        "key": spell_all(keys),
        "prefix": [key_split(key) for key in keys],
        "group": spell_all(key_split_group(key) for key in keys),
        "start_state": starts,
        "finish_state": finishes,
        "stimulus_id": stimuli,
        "begins": begins,
        "ends": ends,
        "exception": [_exception(found) for found in details],
        "cause": [spell(d["cause"]) if d.get("cause") is not None else None for d in details],
    }
    return columns | {c: [d.get(name) for d in details] for c, name in _DETAILS.items()}


def graph_frame(
    *,
    time: float,
    client: str | None,
    stimulus_id: str,
    requested: Iterable[Any],
    tasks: Tasks,
    annotations: Mapping[str, Mapping[Any, Any]],
    code: Collection[Any],
) -> Payload:
    """The frame of a graph: its keys, and parallel to them what each depends on."""
    return {
        "kind": "graph",
        "time": time,
        "client": client,
        "stimulus_id": stimulus_id,
        "requested": spell_all(requested),
        "keys": spell_all(key for key, _ in tasks),
        "dependencies": [spell_all(needed) for _, needed in tasks],
        "annotations": {
            str(name): {spell(key): str(value) for key, value in values.items()}
            for name, values in annotations.items()
        },
        "code": "\n\n".join(str(part) for part in code) or None,
    }


def _executed(details: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """When the execution that ended in a transition began and ended, by the worker's clock."""
    for spell_ in reversed(details.get("startstops") or ()):
        if spell_["action"] == "compute":
            return spell_["start"], spell_["stop"]
    return None, None


def _exception(details: Mapping[str, Any]) -> str | None:
    text = details.get("exception_text")
    return None if text is None else str(text)[:EXCEPTION]
