"""Columns of the scheduler's events, built in the writer thread."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from dask.utils import key_split
from distributed.utils import key_split_group

from ..write.queues import Columns, Payload, spell, spell_all

EXCEPTION: Final = 1000
"""Maximum characters of an exception's text, or bytes of a pickled exception."""

ANNOTATION: Final = 10_000
"""Maximum characters of an annotation of a task."""

PART_TASKS: Final = 50_000
PART_KEYS: Final = 200_000
"""Maximum tasks in a frame of a graph, and maximum keys including dependencies."""

Tasks = Sequence[tuple[Any, list[Any]]]
"""Keys, each with its dependencies."""

_DETAILS: Final = (
    *("begins", "ends", "exception", "exception_pickle", "cause", "worker", "thread"),
    *("size_bytes", "type", "run_id"),
)
"""Columns from the details that Dask gives with some transitions."""
_NO_DETAILS: Final = (None,) * len(_DETAILS)


def transition_columns(rows: Sequence[tuple[Any, ...]]) -> Columns:
    """Build columns from transitions, each (time, key, start, finish, stimulus, details)."""
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
    """Return the values of the columns ``_DETAILS``."""
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
    head: Payload,
    requested: Iterable[Any],
    tasks: Tasks,
    annotations: Mapping[str, Mapping[Any, Any]],
    code: Collection[Any],
) -> Iterator[Payload]:
    """Yield the frames of a graph: its keys, and in the same order their dependencies.

    head: fields of all its frames.
    A large graph has several frames with the same number. A requested key is in the frame of its
    task; requested keys of earlier graphs are in the last frame.
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
            **head,
            "requested": here + list(asked) if number == len(parts) else here,
            "keys": keys,
            "dependencies": [spell_all(needed) for _, needed in part],
            "annotations": {name: values for name, values in noted.items() if values},
            "code": ("\n\n".join(map(str, code)) or None) if number == 1 else None,
        }


def _parts(tasks: Tasks) -> Iterator[Tasks]:
    """Split tasks into parts, one per frame; yield at least one part."""
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
    """Return begin and end of the execution before a transition, by the worker's clock."""
    for interval in reversed(details.get("startstops") or ()):
        if interval["action"] == "compute":
            return interval["start"], interval["stop"]
    return None, None
