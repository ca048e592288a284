"""JSON Schema of a record as the JSONL sink writes it."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import attrs

from .errors import RecordTypeError
from .record import RecordType

__all__ = ["json_schema"]

_SIMPLE: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    bytes: {"type": "string", "contentEncoding": "base64"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    # JSON has no NaN or infinity: they are written as these words
    float: {"anyOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]},
    datetime: {"type": "string", "format": "date-time"},
}


def json_schema(record_type: RecordType) -> dict[str, Any]:
    """The schema of one record: an object with a property for every column."""
    properties = {}
    for column in record_type.columns:
        schema = _of(column.python_type)
        if column.nullable:
            schema = {"anyOf": [schema, {"type": "null"}]}
        if column.doc:
            schema["description"] = column.doc
        if column.unit:
            schema["x-unit"] = column.unit
        if column.role:
            schema["x-role"] = column.role
        properties[column.name] = schema
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": record_type.name,
        "description": record_type.doc,
        "type": "object",
        "properties": properties,
        "required": [c.name for c in record_type.columns if not c.nullable],
        "additionalProperties": False,
        "x-version": record_type.version,
        "x-layer": record_type.layer,
        "x-level": record_type.level,
    }


def _of(hint: Any) -> dict[str, Any]:
    if hint in _SIMPLE:
        return dict(_SIMPLE[hint])
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        schema: dict[str, Any] = {"type": "integer"}
        return {**schema, "minimum": 0} if args[1].startswith("u") else schema
    if origin in (list, Sequence, tuple):
        return {"type": "array", "items": _item(args[0])}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": _nullable(_of(_strip(args[1])))}
    if attrs.has(hint):
        hints = typing.get_type_hints(hint, include_extras=True)
        return {
            "type": "object",
            "properties": {
                a.name: _nullable(_of(_strip(hints[a.name]))) for a in attrs.fields(hint)
            },
        }
    raise RecordTypeError(f"{hint!r} has no JSON Schema")


def _item(hint: Any) -> dict[str, Any]:
    inner = _of(_strip(hint))
    return _nullable(inner) if _strip(hint) is not hint else inner


def _strip(hint: Any) -> Any:
    members = [a for a in typing.get_args(hint) if a is not type(None)]
    return members[0] if type(None) in typing.get_args(hint) else hint


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}
