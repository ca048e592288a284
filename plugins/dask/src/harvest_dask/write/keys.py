"""Keys and messages as text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Set
from typing import Any, Final

__all__ = ["as_json", "spell", "spell_all"]

LONGEST: Final = 10_000
"""Characters of a message."""


def spell(key: Any) -> str:
    """A key as text: a string is itself, a tuple as Python prints it."""
    return key if type(key) is str else str(key)


def spell_all(keys: Iterable[Any]) -> list[str]:
    """Keys as text."""
    return [key if type(key) is str else str(key) for key in keys]


def as_json(message: Any) -> str:
    """A message of Dask's as JSON, cut where it is long."""
    return json.dumps(_plain(message))[:LONGEST]


def _plain(value: Any) -> Any:
    """A value with what JSON has no type for as text."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {spell(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, bytes):
        return f"{len(value)} bytes"  # a pickled function
    if isinstance(value, Set):
        return sorted(map(str, value))
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else str(value)
