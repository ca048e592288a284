"""Record types, and values in JSON, as JSON Schema."""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import attrs
import pyarrow as pa

from .errors import RecordTypeError
from .types import without_none

if TYPE_CHECKING:
    from .record import RecordType

__all__ = ["json_type"]

_SIMPLE: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    bytes: {"type": "string", "contentEncoding": "base64"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    # JSON has no NaN or infinity: they are written as these words
    float: {"anyOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]},
    datetime: {"type": "string", "format": "date-time"},
}

_BY_ARROW: tuple[tuple[Callable[[pa.DataType], bool], Any], ...] = (
    (pa.types.is_boolean, bool),
    (pa.types.is_integer, int),
    (pa.types.is_floating, float),
    (pa.types.is_duration, float),  # written as seconds
    (pa.types.is_timestamp, datetime),
    (pa.types.is_binary, bytes),
)


def json_schema(record_type: RecordType) -> dict[str, Any]:
    """The JSON Schema of one record as the JSONL sink writes it: a property for every column."""
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
        return {"type": "object", "additionalProperties": _nullable(_of(without_none(args[1])))}
    if attrs.has(hint):
        hints = typing.get_type_hints(hint, include_extras=True)
        return {
            "type": "object",
            "properties": {
                a.name: _nullable(_of(without_none(hints[a.name]))) for a in attrs.fields(hint)
            },
        }
    raise RecordTypeError(f"{hint!r} has no JSON Schema")


def json_type(kind: pa.DataType) -> dict[str, Any]:
    """The JSON Schema of a value of an Arrow type, as rows are written in JSON."""
    if pa.types.is_map(kind):
        return {"type": "object", "additionalProperties": _nullable(json_type(kind.item_type))}
    if pa.types.is_list(kind):
        return {"type": "array", "items": _nullable(json_type(kind.value_type))}
    if pa.types.is_struct(kind):
        members = {field.name: _nullable(json_type(field.type)) for field in kind}
        return {"type": "object", "properties": members}
    if pa.types.is_unsigned_integer(kind):
        return {"type": "integer", "minimum": 0}
    for fits, hint in _BY_ARROW:
        if fits(kind):
            return dict(_SIMPLE[hint])
    return {"type": "string", "format": "date"} if pa.types.is_date(kind) else {"type": "string"}


def _item(hint: Any) -> dict[str, Any]:
    bare = without_none(hint)
    return _of(bare) if bare is hint else _nullable(_of(bare))


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}
