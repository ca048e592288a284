"""Reads values of Slurm's JSON in all their shapes; any other shape raises ValueError.

From 21.08 (data_parser v0.0.37) to 25.05 (v0.0.43), one value has several shapes:

- a number: plain or null; since 23.02 ``{"set", "infinite", "number"}`` where it may be unset, and
with each version in more places; null or ``"Infinity"`` there with ``--json=v0.0.43+complex``
- CPU time: ``{"seconds", "microseconds"}``
- a text: a text, null, empty, or 0 (a reservation's name in 22.05)
- ``state.current`` of jobs, ``state`` of steps, ``exit_code.status``: a text; since 23.11 a list
- ``exit_code.signal``: absent; ``{"signal_id", "name"}``; since 23.11 ``{"id", "name"}``
- ``step.id``: ``batch`` or 0, next to ``step.het.component``; in 23.02 ``{"job_id", "step_id"}``,
of a component also ``"step_het_component"``; since 23.11 ``101.0``, ``101.0+1``
- ``flags``: a list of texts; ``steps``: a list of objects; ``tres.*``: lists of ``{"type", "name",
"id", "count"}``, of ``max`` and ``min`` also with ``"node"`` and ``"task"``
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final, TypeVar

import orjson

from harvest.toolkit.texts import excerpt

T = TypeVar("T")

INFINITE: Final = "Infinity"
_NUMBER: Final = frozenset({"set", "infinite", "number"})
_STEP_ID: Final = frozenset({"job_id", "step_het_component", "step_id"})
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def member(data: Any, keys: str) -> Any:
    """Return the value at a path of keys; None if it or an object around it is null or absent."""
    for key in keys.split("."):
        if data is None:
            return None
        if not isinstance(data, dict):
            raise _odd(data, "an object")
        data = data.get(key)
    return data


def read(data: Any, keys: str, shape: Callable[[Any], T]) -> T:
    """Read a member by its shape; raises ValueError with its keys if it has another shape."""
    try:
        return shape(member(data, keys))
    except ValueError as error:
        raise ValueError(f"{keys}: {error}") from None


def in_words(value: Any) -> str:
    """Return a text unchanged, and any other value as JSON."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _odd(value: Any, due: str) -> ValueError:
    return ValueError(f"{excerpt(in_words(value))!r} instead of {due}")


def object_of(value: Any) -> Mapping[str, Any]:
    """Return an object."""
    if not isinstance(value, dict):
        raise _odd(value, "an object")
    return value


def objects_of(value: Any) -> list[Mapping[str, Any]]:
    """Return a list of objects."""
    if value is not None and not isinstance(value, list):
        raise _odd(value, "a list")
    return [object_of(item) for item in value or ()]


def number(value: Any) -> int | None:
    """Return a whole number of 64 bits; None if it is not set, or larger."""
    if isinstance(value, dict):
        flags = [value.get("set", True), value.get("infinite", False)]
        if not value.keys() <= _NUMBER or not all(isinstance(flag, bool) for flag in flags):
            raise _odd(value, "a number")
        if flags != [True, False]:
            return None
        value = value.get("number", value)
    if value is None or value in ("", INFINITE):
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise _odd(value, "a number")
    try:
        whole = int(value)
    except (ValueError, OverflowError):
        raise _odd(value, "a number") from None
    if isinstance(value, float) and whole != value:
        raise _odd(value, "a whole number")
    return whole if -(2**63) <= whole < 2**63 else None


def time_of(value: Any) -> datetime | None:
    """Return a time from seconds since 1970; None for 0."""
    found = number(value)
    try:
        return _EPOCH + timedelta(seconds=found) if found else None
    except OverflowError:
        raise _odd(value, "a time") from None


def seconds_of(value: Any) -> float | None:
    """Return seconds from a number, or from ``{"seconds", "microseconds"}``."""
    if isinstance(value, dict) and "seconds" in value:
        whole = number(value["seconds"]) or 0
        return (whole * 1_000_000 + (number(value.get("microseconds")) or 0)) / 1_000_000
    found = number(value)
    return None if found is None else float(found)


def text_of(value: Any) -> str | None:
    """Return a text, or a number as a text; None without a value."""
    if isinstance(value, (dict, list)):
        raise _odd(value, "a text")
    return in_words(value) if value not in (None, "", 0) else None


def texts_of(value: Any) -> list[str]:
    """Return one text or several as a list."""
    found = map(text_of, value if isinstance(value, list) else [value])
    return [text for text in found if text is not None]


def joined(value: Any) -> str | None:
    """Return one text, or several with commas."""
    return ",".join(texts_of(value)) or None


def states_of(value: Any) -> tuple[str | None, str | None]:
    """Return the state in lower case, and the words printed after it (``REQUEUED``)."""
    names = [name.lower() for name in texts_of(value)]
    return (names[0] if names else None), ",".join(names[1:]) or None


def step_id_of(value: Any) -> str:
    """Return the id of a step within its job: ``batch``, ``0``, ``0+1``."""
    if isinstance(value, dict) and value.keys() <= _STEP_ID:
        part = number(value.get("step_het_component"))
        return step_id_of(value.get("step_id")) + ("" if part is None else f"+{part}")
    if isinstance(value, bool) or not isinstance(value, (int, str)) or value == "":
        raise _odd(value, "the id of a step")
    return str(value).rpartition(".")[2]


def tres_of(value: Any, *, mega: bool = False) -> dict[str, int]:
    """Return amounts by resource, in sacct's spelling; mem in bytes (``mega``: it is in MiB)."""
    found = {}
    for entry in objects_of(value):
        amount, kind = read(entry, "count", number), read(entry, "type", text_of)
        name = read(entry, "name", text_of)
        if kind is None:
            raise _odd(entry, "a resource with its type")
        if amount is None or amount < 0:
            continue
        key = f"{kind}/{name}" if name else kind
        found[key] = amount * 1024**2 if mega and key == "mem" else amount
    return found


mega_tres_of: Final = partial(tres_of, mega=True)
