"""How the columns of a record type may change from one version to the next.

A dataset records the Arrow type of each column that its rows have.  Two types go together when one
of them has every value of the other: integers and fractions with wider ones, structs with fields
more or less, and lists and maps of such.  An integer and a fraction never do: an int64 may be
larger than what a float64 tells apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final, TypeAlias

import attrs
import pyarrow as pa

from .arrow import TIMESTAMP
from .errors import RecordTypeError
from .plain import TIME
from .record import TAIL, Column, RecordType

__all__ = [
    "Types",
    "as_recorded",
    "common_type",
    "declared_types",
    "from_plain",
    "holds",
    "to_plain",
    "with_types",
]

Types: TypeAlias = Mapping[str, pa.DataType]
"""Arrow types of columns by name, in order, without the columns that end every table."""

_HINTS: Final[dict[pa.DataType, Any]] = {
    pa.string(): str,
    pa.binary(): bytes,
    pa.bool_(): bool,
    pa.int64(): int,
    pa.float64(): float,
    TIMESTAMP: datetime,
}


def declared_types(record_type: RecordType) -> dict[str, pa.DataType]:
    """The Arrow types of a record type's own columns, in order; those of the tail never change."""
    return {field.name: field.type for field in record_type.arrow_schema if field.name not in TAIL}


def common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The type that has every value of both, which one of them has already; None if neither does.

    Of structs, the type with the fields of both.
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
    """Whether ``kind`` has every value of ``other``."""
    return bool(common_type(kind, other) == kind)


def _widens(narrow: pa.DataType, wide: pa.DataType) -> bool:
    """Whether a number's type is a wider one of the same sort."""
    if pa.types.is_floating(narrow) and pa.types.is_floating(wide):
        return bool(wide.bit_width > narrow.bit_width)
    if not (pa.types.is_integer(narrow) and pa.types.is_integer(wide)):
        return False
    if pa.types.is_signed_integer(narrow) and pa.types.is_unsigned_integer(wide):
        return False
    return bool(wide.bit_width > narrow.bit_width)


def to_plain(kind: pa.DataType) -> Any:
    """An Arrow type as JSON: a word, or ``{"list": T}``, ``{"map": [K, V]}``, ``{"struct": ...}``.

    Raises RecordTypeError for a type that no record type's column has.
    """
    if pa.types.is_list(kind):
        return {"list": to_plain(kind.value_type)}
    if pa.types.is_map(kind):
        return {"map": [to_plain(kind.key_type), to_plain(kind.item_type)]}
    if pa.types.is_struct(kind):
        return {"struct": {field.name: to_plain(field.type) for field in kind}}
    word = TIME if kind == TIMESTAMP else str(kind)
    if from_plain(word) != kind:
        raise RecordTypeError(f"{kind} is not the type of a record type's column")
    return word


def from_plain(plain: Any) -> pa.DataType:
    """The inverse of :func:`to_plain`; raises RecordTypeError for anything else."""
    if plain == TIME:
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
    """The record type with these columns instead of its own, then the tail.

    A column that it does not declare, or declares of another type, may be null.
    """
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
    """The record type as rows of these recorded columns are read: its own columns.

    Each has the declared type; where the dataset's has values that are none of that, the dataset's.
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
    """An annotation whose Arrow type is ``kind``."""
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
