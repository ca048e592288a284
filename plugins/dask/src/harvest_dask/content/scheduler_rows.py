"""Columns of what the scheduler sees, made in the thread that writes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from dask.utils import key_split
from distributed.utils import key_split_group

from ..write.queues import Columns, Payload, spell, spell_all

EXCEPTION: Final = 1000
"""Characters of an exception's text, or bytes of it pickled."""

ANNOTATION: Final = 10_000
"""Characters of an annotation of a task."""

PART_TASKS: Final = 50_000
PART_KEYS: Final = 200_000
"""Tasks of a frame of a graph, and keys with those they depend on."""

Tasks = Sequence[tuple[Any, list[Any]]]
"""Keys, each with those it depends on."""

_DETAILS: Final = (
    *("begins", "ends", "exception", "exception_pickle", "cause", "worker", "thread"),
    *("size_bytes", "type", "run_id"),
)
"""Columns that follow from the details that Dask gives with some transitions."""
_NO_DETAILS: Final = (None,) * len(_DETAILS)


def transition_columns(rows: Sequence[tuple[Any, ...]]) -> Columns:
    """Columns of transitions: (time, key, start, finish, stimulus, details) each."""
    times, keys, starts, finishes, stimuli, details = zip(*rows, strict=True)
    # a key has several transitions, and most of those have no details
    names = {key: (spell(key), key_split(key), spell(key_split_group(key))) for key in set(keys)}
    spelled, prefixes, groups = zip(*map(names.__getitem__, keys), strict=True)
    detailed = zip(*(_detailed(d) if d else _NO_DETAILS for d in details), strict=True)
    return {
        "time": times,
        "key": spelled,
        "prefix": prefixes,
        "group": groups,
        "start_state": starts,
        "finish_state": finishes,
        "stimulus_id": stimuli,
        **dict(zip(_DETAILS, detailed, strict=True)),
    }


def _detailed(details: Mapping[str, Any]) -> tuple[Any, ...]:
    """The values of ``_DETAILS``."""
    error, cause = details.get("exception_text"), details.get("cause")
    pickled = details.get("exception")  # alone, where the scheduler gave the task up
    return (
        *_executed(details),
        None if error is None else error[:EXCEPTION],
        pickled[:EXCEPTION] if error is None and isinstance(pickled, bytes) else None,
        None if cause is None else spell(cause),
        *map(details.get, ("worker", "thread", "nbytes", "typename", "run_id")),
    )


def graph_frames(
    *,
    graph: int,
    time: float,
    client: str | None,
    stimulus_id: str | None,
    requested: Iterable[Any],
    tasks: Tasks,
    annotations: Mapping[str, Mapping[Any, Any]],
    code: Collection[Any],
) -> Iterator[Payload]:
    """The frames of a graph: its keys, and parallel to them what each depends on.

    A large graph has several, with the same number.  Keys that are asked for stand in the frame of
    their task; those of earlier graphs in the last one.
    """
    notes = {
        str(name): {spell(key): str(value)[:ANNOTATION] for key, value in values.items()}
        for name, values in annotations.items()
    }
    asked = dict.fromkeys(spell_all(requested))
    parts = list(_parts(tasks))
    for number, part in enumerate(parts, 1):
        keys = spell_all(key for key, _ in part)
        here = [key for key in keys if key in asked]
        for key in here:
            del asked[key]
        noted = {n: {k: values[k] for k in keys if k in values} for n, values in notes.items()}
        yield {
            "kind": "graph",
            "graph": graph,
            "time": time,
            "client": client,
            "stimulus_id": stimulus_id,
            "requested": here + list(asked) if number == len(parts) else here,
            "keys": keys,
            "dependencies": [spell_all(needed) for _, needed in part],
            "annotations": {name: values for name, values in noted.items() if values},
            "code": ("\n\n".join(map(str, code)) or None) if number == 1 else None,
        }


def _parts(tasks: Tasks) -> Iterator[Tasks]:
    """Tasks in as many parts as frames are needed; at least one."""
    part: list[tuple[Any, list[Any]]] = []
    keys = 0
    for task in tasks:
        if part and (len(part) == PART_TASKS or keys + len(task[1]) > PART_KEYS):
            yield part
            part, keys = [], 0
        part.append(task)
        keys += 1 + len(task[1])
    yield part


def _executed(details: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """When the execution that ended in a transition began and ended, by the worker's clock."""
    for interval in reversed(details.get("startstops") or ()):
        if interval["action"] == "compute":
            return interval["start"], interval["stop"]
    return None, None
