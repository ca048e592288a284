"""Column types: from annotations to Arrow, their form in a manifest, and compatibility.

A dataset records the Arrow type of each column of its rows. Two types are compatible if one of them
has every value of the other: numbers of one sort with wider ones, structs with more or fewer
fields, and lists and maps of compatible types. An integer and a float are never compatible: float64
cannot distinguish all large int64 values.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import attrs
import pyarrow as pa

from .column import TAIL, Column, RecordTypeError, without_none

if TYPE_CHECKING:
    from .record import RecordType

Types: TypeAlias = Mapping[str, pa.DataType]
"""Arrow types of columns by name, in order, without the columns that end every table."""

TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
ORIGIN: Final = pa.dictionary(pa.int32(), pa.string())

_TIME: Final = "timestamp[us, UTC]"
"""The word for ``TIMESTAMP`` in a manifest."""

SIMPLE: Final[Mapping[Any, pa.DataType]] = {
    str: pa.string(),
    bytes: pa.binary(),
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    datetime: TIMESTAMP,
}
"""Annotations that map directly to an Arrow type."""

_HINTS: Final = {kind: hint for hint, kind in SIMPLE.items()}


@attrs.frozen
class Shape:
    """The type of a column or of a part of it, and where None is allowed.

    kind: the Arrow type; nullable: whether None is allowed instead of a value.
    inner: shapes of the parts: ``item`` of a list, ``key`` and ``value`` of a map, each field of a
        struct by name; else empty.
    """

    kind: pa.DataType
    nullable: bool = False
    inner: Mapping[str, Shape] = attrs.field(factory=dict)


def shape_of(hint: Any) -> Shape:
    """Return the shape for an annotation; raise RecordTypeError if it has no Arrow type."""
    bare, nullable = without_none(hint)
    if bare in SIMPLE:
        return Shape(SIMPLE[bare], nullable)
    origin, args = typing.get_origin(bare), typing.get_args(bare)
    if origin is typing.Annotated:
        return Shape(pa.type_for_alias(args[1]), nullable)
    if origin in (list, Sequence, tuple):
        item = shape_of(args[0])
        return Shape(pa.list_(item.kind), nullable, {"item": item})
    if origin in (dict, Mapping):
        key, value = map(shape_of, args)
        return Shape(pa.map_(key.kind, value.kind), nullable, {"key": key, "value": value})
    if attrs.has(bare):
        hints = typing.get_type_hints(bare, include_extras=True)
        inner = {a.name: shape_of(hints[a.name]) for a in attrs.fields(bare)}
        return Shape(pa.struct([(n, part.kind) for n, part in inner.items()]), nullable, inner)
    raise RecordTypeError(
        f"{hint!r} has no Arrow type here; use str, bytes, bool, int, float, datetime, "
        "list[...], dict[str, ...], an attrs class, or UInt64"
    )


@cache
def shapes_of(record_type: RecordType) -> Mapping[str, Shape]:
    """Return the shape of each column of a declared record type, in order."""
    shapes = {c.name: (shape_of(c.python_type), c.nullable) for c in record_type.columns}
    shapes["origin"] = (Shape(ORIGIN), False)
    return {n: attrs.evolve(shape, nullable=null) for n, (shape, null) in shapes.items()}


def schema_of(record_type: RecordType) -> pa.Schema:
    """Return the Arrow schema of a record type, documented in its metadata."""
    shapes = shapes_of(record_type).values()
    fields = [
        pa.field(column.name, shape.kind, nullable=shape.nullable, metadata=_metadata(column))
        for column, shape in zip(record_type.columns, shapes, strict=True)
    ]
    said = {"record_type": record_type.name, "version": str(record_type.version)}
    said |= {word: getattr(record_type, word) for word in ("layer", "level", "doc")}
    return pa.schema(fields, metadata={f"harvest.{key}": word for key, word in said.items()})


def _metadata(column: Column) -> dict[str, str]:
    words = {"doc": column.doc, "unit": column.unit, "role": column.role}
    return {f"harvest.{key}": word for key, word in words.items() if word}


def declared_types(record_type: RecordType) -> dict[str, pa.DataType]:
    """Return the Arrow types of a record type's own columns, in order, without the tail."""
    return {field.name: field.type for field in record_type.arrow_schema if field.name not in TAIL}


def common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """Return the wider of two types, which has every value of both; None if neither does.

    For structs, return the type with the fields of both.
    """
    if one == other:
        return one
    if _widens(one, other):
        return other
    if _widens(other, one):
        return one
    if pa.types.is_list(one) and pa.types.is_list(other):
        inner = common_type(one.value_type, other.value_type)
        return None if inner is None else pa.list_(inner)
    if pa.types.is_map(one) and pa.types.is_map(other) and one.key_type == other.key_type:
        inner = common_type(one.item_type, other.item_type)
        return None if inner is None else pa.map_(one.key_type, inner)
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        fields = {field.name: field.type for field in one}
        for field in other:
            inner = common_type(fields.get(field.name, field.type), field.type)
            if inner is None:
                return None
            fields[field.name] = inner
        return pa.struct(list(fields.items()))
    return None


def holds(kind: pa.DataType, other: pa.DataType) -> bool:
    """Return whether ``kind`` has every value of ``other``."""
    return bool(common_type(kind, other) == kind)


def _widens(narrow: pa.DataType, wide: pa.DataType) -> bool:
    """Return whether ``wide`` is a wider number type of the same sort."""
    if pa.types.is_floating(narrow) and pa.types.is_floating(wide):
        return bool(wide.bit_width > narrow.bit_width)
    if not (pa.types.is_integer(narrow) and pa.types.is_integer(wide)):
        return False
    if pa.types.is_signed_integer(narrow) and pa.types.is_unsigned_integer(wide):
        return False
    return bool(wide.bit_width > narrow.bit_width)


def to_plain(kind: pa.DataType) -> Any:
    """Convert an Arrow type to a word, ``{"list": T}``, ``{"map": [K, V]}`` or ``{"struct": ...}``.

    Raises RecordTypeError for a type that no column of a record type has.
    """
    if pa.types.is_list(kind):
        return {"list": to_plain(kind.value_type)}
    if pa.types.is_map(kind):
        return {"map": [to_plain(kind.key_type), to_plain(kind.item_type)]}
    if pa.types.is_struct(kind):
        return {"struct": {field.name: to_plain(field.type) for field in kind}}
    word = _TIME if kind == TIMESTAMP else str(kind)
    if from_plain(word) != kind:
        raise RecordTypeError(f"{kind} is not the type of a record type's column")
    return word


def from_plain(plain: Any) -> pa.DataType:
    """Invert :func:`to_plain`; raise RecordTypeError for anything else."""
    if plain == _TIME:
        return TIMESTAMP
    try:
        if isinstance(plain, str):
            return pa.type_for_alias(plain)
        ((form, inner),) = plain.items()
        if form == "list":
            return pa.list_(from_plain(inner))
        if form == "map":
            key, item = inner
            return pa.map_(from_plain(key), from_plain(item))
        if form == "struct":
            return pa.struct([(name, from_plain(each)) for name, each in inner.items()])
    except (AttributeError, TypeError, ValueError) as error:
        raise RecordTypeError(f"{plain!r} is not the type of a column") from error
    raise RecordTypeError(f"{plain!r} is not the type of a column")


def with_types(record_type: RecordType, types: Types) -> RecordType:
    """Return the record type with these columns instead of its own, then the tail."""
    declared = {column.name: column for column in record_type.columns}
    known = declared_types(record_type)
    columns = []
    for name, kind in types.items():
        column = declared.get(name, Column(name=name, python_type=None, nullable=True))
        if known.get(name) != kind:
            nullable = column.nullable or not (name in known and holds(kind, known[name]))
            column = attrs.evolve(column, python_type=_hint(kind), nullable=nullable)
        columns.append(column)
    columns += [declared[name] for name in TAIL]
    return attrs.evolve(record_type, columns=tuple(columns))


def as_recorded(record_type: RecordType, recorded: Types) -> RecordType:
    """Return the record type for reading rows with these recorded columns: its own columns.

    A column has the declared type, or the dataset's type if that has values which it lacks.
    """
    declared = declared_types(record_type)
    types = {n: _read_type(recorded[n], k) if n in recorded else k for n, k in declared.items()}
    return record_type if types == declared else with_types(record_type, types)


def _read_type(recorded: pa.DataType, declared: pa.DataType) -> pa.DataType:
    if common_type(recorded, declared) is None:
        return recorded
    if pa.types.is_list(declared):
        return pa.list_(_read_type(recorded.value_type, declared.value_type))
    if pa.types.is_map(declared):
        return pa.map_(declared.key_type, _read_type(recorded.item_type, declared.item_type))
    if pa.types.is_struct(declared):
        had = {field.name: field.type for field in recorded}
        return pa.struct([(f.name, _read_type(had.get(f.name, f.type), f.type)) for f in declared])
    return common_type(recorded, declared)


def _hint(kind: pa.DataType) -> Any:
    if kind in _HINTS:
        return _HINTS[kind]
    if pa.types.is_list(kind):
        return list[_hint(kind.value_type)]  # type: ignore[misc]
    if pa.types.is_map(kind):
        return dict[_hint(kind.key_type), _hint(kind.item_type)]  # type: ignore[misc]
    if pa.types.is_struct(kind):
        fields = {field.name: attrs.field(type=_hint(field.type)) for field in kind}
        return attrs.make_class("Fields", fields, frozen=True)
    python = float if pa.types.is_floating(kind) else int
    return Annotated[python, str(kind)]
