"""JSON Schema for record types, and for values in JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from .types import shape_of

if TYPE_CHECKING:
    from .record import RecordType

__all__ = ["in_words", "json_type"]

# JSON has no NaN or infinity: rows contain these words
_NUMBER = {"anyOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]}
_SIMPLE: tuple[tuple[Callable[[pa.DataType], bool], dict[str, Any]], ...] = (
    (pa.types.is_boolean, {"type": "boolean"}),
    (pa.types.is_unsigned_integer, {"type": "integer", "minimum": 0}),
    (pa.types.is_integer, {"type": "integer"}),
    (pa.types.is_floating, _NUMBER),
    (pa.types.is_duration, _NUMBER),  # written as seconds
    (pa.types.is_timestamp, {"type": "string", "format": "date-time"}),
    (pa.types.is_date, {"type": "string", "format": "date"}),
    (pa.types.is_binary, {"type": "string", "contentEncoding": "base64"}),
)


def json_schema(record_type: RecordType) -> dict[str, Any]:
    """Return the JSON Schema of one record as the JSONL sink writes it, with all columns."""
    properties = {}
    for column in record_type.columns:
        schema = json_type(shape_of(column.python_type).kind)
        schema = _nullable(schema) if column.nullable else schema
        properties[column.name] = schema | in_words(column.doc, column.unit, column.role)
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


def in_words(doc: str, unit: str | None, role: str | None = None) -> dict[str, str]:
    """Return the keywords of JSON Schema for a column in addition to its type."""
    words = {"description": doc, "x-unit": unit, "x-role": role}
    return {key: word for key, word in words.items() if word}


def json_type(kind: pa.DataType) -> dict[str, Any]:
    """Return the JSON Schema of an Arrow type's values, as rows contain them in JSON."""
    if pa.types.is_map(kind):
        return {"type": "object", "additionalProperties": _nullable(json_type(kind.item_type))}
    if pa.types.is_list(kind):
        items = json_type(kind.value_type)
        return {"type": "array", "items": _nullable(items) if kind.value_field.nullable else items}
    if pa.types.is_struct(kind):
        members = {field.name: _nullable(json_type(field.type)) for field in kind}
        return {"type": "object", "properties": members}
    return next((dict(schema) for fits, schema in _SIMPLE if fits(kind)), {"type": "string"})


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}
