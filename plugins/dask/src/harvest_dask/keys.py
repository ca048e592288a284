"""Keys and messages as text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Set
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
    if isinstance(message, dict):
        message = {str(k): v for k, v in message.items()}
    return json.dumps(message, default=_plain)[:LONGEST]


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return f"{len(value)} bytes"  # a pickled function
    return sorted(map(str, value)) if isinstance(value, Set) else str(value)
