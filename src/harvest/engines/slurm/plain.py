"""Plain Python values as JSON and back, exactly: tuples stay tuples, bytes bytes, times times.

Batch jobs get partitions and settings this way, as text that a person can read, rather than as
pickles.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from harvest.errors import PluginError

__all__ = ["from_json", "to_json"]


def to_json(value: Any) -> Any:
    """The value as what JSON can hold; raises PluginError for one that is not plain."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is list:
        return [to_json(item) for item in value]
    if kind is dict:
        return {"dict": [[to_json(key), to_json(item)] for key, item in value.items()]}
    if kind is tuple:
        return {"tuple": [to_json(item) for item in value]}
    if kind in (set, frozenset):
        return {kind.__name__: [to_json(item) for item in sorted(value, key=repr)]}
    if kind is bytes:
        return {"bytes": value.hex()}
    if kind in (datetime, date, time):
        return {kind.__name__: value.isoformat()}
    if kind is timedelta:
        return {"timedelta": [value.days, value.seconds, value.microseconds]}
    if isinstance(value, Path):
        return {"path": str(value)}
    raise PluginError(
        f"a value of type {kind.__qualname__} cannot be sent to a batch job",
        where=repr(value)[:200],
        remedy="use plain values in settings and in Partition.options, or another engine",
    )


def from_json(value: Any) -> Any:
    """The value that ``to_json`` was given."""
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    return _MAKERS[kind](content)


_MAKERS: dict[str, Any] = {
    "dict": lambda items: {from_json(key): from_json(item) for key, item in items},
    "tuple": lambda items: tuple(from_json(item) for item in items),
    "set": lambda items: {from_json(item) for item in items},
    "frozenset": lambda items: frozenset(from_json(item) for item in items),
    "bytes": bytes.fromhex,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "timedelta": lambda parts: timedelta(*parts),
    "path": Path,
}
