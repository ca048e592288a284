"""The types of columns in plain words, as manifests record them.

A word is Arrow's name of a type, and ``{"list": T}``, ``{"map": [K, V]}`` or ``{"struct": ...}``
are made of others (``evolution`` turns Arrow types into them and back).  Here they come from the
record class alone: Arrow takes longer to import than a run takes that has nothing to do.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import attrs

from .record import PRIMITIVES, TAIL, RecordType

__all__ = ["TIME", "declared_columns", "plain_type", "without_none"]

TIME: Final = "timestamp[us, UTC]"

_WORDS: Final[Mapping[Any, str]] = {**PRIMITIVES, float: "double", datetime: TIME}

_INTEGERS: Final = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))


def declared_columns(record_type: RecordType) -> dict[str, Any]:
    """The types of a record type's own columns, in order; those of the tail never change.

    Raises RecordTypeError for a column that has no type.
    """
    return {
        column.name: plain_type(column.python_type)
        for column in record_type.columns
        if column.name not in TAIL
    }


def plain_type(hint: Any) -> Any:
    """The type of a column annotated ``hint`` (``None`` already removed).

    Raises RecordTypeError for an annotation that no column can have.
    """
    if hint in _WORDS:
        return _WORDS[hint]
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated and args[1] in _INTEGERS:
        return args[1]
    if origin in (list, Sequence, tuple):
        return {"list": plain_type(without_none(args[0]))}
    if origin in (dict, Mapping):
        return {"map": [plain_type(args[0]), plain_type(without_none(args[1]))]}
    if attrs.has(hint):
        hints = typing.get_type_hints(hint, include_extras=True)
        fields = attrs.fields(hint)
        return {"struct": {a.name: plain_type(without_none(hints[a.name])) for a in fields}}
    from .arrow import arrow_type
    from .types import to_plain

    return to_plain(arrow_type(hint))


def without_none(hint: Any) -> Any:
    """An annotation without its ``| None``."""
    args = [a for a in typing.get_args(hint) if a is not type(None)]
    if type(None) in typing.get_args(hint) and len(args) == 1:
        return args[0]
    return hint
