"""The values that a column accepts: the same contract for instances, frames and Arrow data.

A column accepts values of its declared type, and equal values of other types: integers of any width
within its range; for a float column, integers that it represents exactly; times of any zone and
unit without loss. Nothing is parsed, rounded, truncated or reinterpreted. The table of accepted
values is in docs/explanation/data-model.md.
"""

from collections.abc import Mapping, Sequence, Set
from datetime import datetime
from itertools import chain
from types import NoneType
from typing import Any, Final, TypeAlias

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from .types import SIMPLE, Shape

Column: TypeAlias = "pa.Array | pa.ChunkedArray"

CONVERT: Final = "convert it in the source, or declare the column with its type"


class Misfit(ValueError):
    """A value that a column does not accept."""

    def __init__(self, reason: str, remedy: str = CONVERT):
        super().__init__(reason, remedy)
        self.reason = reason
        self.remedy = remedy


def _refuse_null() -> Misfit:
    return Misfit("None where none is declared", "give a value, or declare that it may be None")


def _refuse_naive() -> Misfit:
    return Misfit("a naive time has no zone", "attach the zone that the input declares")


def _refuse_type(given: object, kind: pa.DataType) -> Misfit:
    return Misfit(f"{given} is not taken for {kind}")


def _refuse_field(name: str) -> Misfit:
    return Misfit(f"field {name!r} is not declared, or is there twice", "declare it once")


def fit(array: Column, shape: Shape) -> Column:
    """Convert an array to the shape's type; raise Misfit if a value is not of that type.

    An array that contains only nulls may have any type.
    """
    given, kind = array.type, shape.kind
    if array.null_count and not shape.nullable:
        raise _refuse_null()
    if array.null_count == len(array):
        return array if given == kind else pa.nulls(len(array), kind)
    if shape.inner:
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
        made = (_fit_structs if pa.types.is_struct(kind) else _fit_lists)(array, shape)
        return array if given == kind else made
    if given == kind:
        return array
    if pa.types.is_dictionary(given):
        return fit(_decoded(array), shape)
    if pa.types.is_dictionary(kind):
        text = fit(array, attrs.evolve(shape, kind=kind.value_type))
        return text.dictionary_encode().cast(kind)
    if not _takes(kind, given):
        raise _refuse_type(given, kind)
    if pa.types.is_timestamp(given) and given.tz is None:
        raise _refuse_naive()
    try:
        made = array.cast(kind)
    except pa.ArrowException as error:
        raise Misfit(str(error)) from error
    # of all safe casts, only the one to a narrower float loses precision silently
    if pa.types.is_floating(given) and made.type.bit_width < given.bit_width:
        same = pc.or_(pc.equal(made.cast(given), array), pc.is_nan(array))
        if not pc.all(same).as_py():
            raise Misfit(f"{kind} has no such number")
    return made


def _decoded(array: Column) -> Column:
    if isinstance(array, pa.ChunkedArray):
        return pa.chunked_array([_decoded(chunk) for chunk in array.chunks])
    words = array.dictionary
    if pa.types.is_string_view(words.type):  # from polars; Arrow cannot take from string views
        words = words.cast(pa.string())
    return pa.DictionaryArray.from_arrays(array.indices, words).cast(words.type)


def _takes(kind: pa.DataType, given: pa.DataType) -> bool:
    """Return whether values of a given type may be equal values of another; for simple types."""
    for alike in (_TEXTS, _BYTES):
        if kind in alike:
            return given in alike
    if pa.types.is_integer(kind):
        return bool(pa.types.is_integer(given))
    if pa.types.is_floating(kind):
        return bool(pa.types.is_floating(given) or pa.types.is_integer(given))
    if pa.types.is_timestamp(kind):
        return bool(pa.types.is_timestamp(given))
    return bool(kind == given)


_TEXTS: Final = frozenset((pa.string(), pa.large_string(), pa.string_view()))
_BYTES: Final = frozenset((pa.binary(), pa.large_binary(), pa.binary_view()))
"""Without fixed-size binary: polars exports addresses of Python objects in that form."""


def _fit_structs(array: pa.Array, shape: Shape) -> pa.Array:
    """Fit structs; nullable fields may be missing."""
    if not pa.types.is_struct(array.type):
        raise _refuse_type(array.type, shape.kind)
    names = [field.name for field in array.type]
    for name in names:
        if name not in shape.inner or names.count(name) > 1:
            raise _refuse_field(name)
    fields = dict(zip(names, array.flatten(), strict=True))  # null if the struct is null
    absent = pa.nulls(len(array))
    parts = []
    for name, part in shape.inner.items():
        field = fields.get(name, absent)
        if field.null_count > array.null_count and not part.nullable:
            raise _refuse_null()
        parts.append(fit(field, attrs.evolve(part, nullable=True)))
    return pa.StructArray.from_arrays(parts, fields=list(shape.kind), mask=array.is_null())


def _fit_lists(array: pa.Array, shape: Shape) -> pa.Array:
    """Fit lists and maps; a list of key-value structs (polars' form) is accepted as a map."""
    kind, given = shape.kind, array.type
    if pa.types.is_map(given) and pa.types.is_map(kind):
        entry = pa.struct([("key", given.key_type), ("value", given.item_type)])
        array = array.cast(pa.list_(entry))
    elif not any(
        is_list(given)
        for is_list in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    ):
        raise _refuse_type(given, kind)
    lengths = pc.fill_null(pc.list_value_length(array), 0).cast(pa.int64())
    ends = pc.cumulative_sum(lengths).cast(pa.int32())
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    if array.null_count:  # no mask: Arrow before 22 rejects it with computed offsets
        null = pa.concat_arrays([array.is_null(), pa.array([False])])
        offsets = pc.if_else(null, None, offsets)
    if not pa.types.is_map(kind):
        items = fit(array.flatten(), shape.inner["item"])
        return pa.ListArray.from_arrays(offsets, items)
    pair = pa.struct([("key", kind.key_type), ("value", kind.item_type)])
    entries = fit(array.flatten(), Shape(pair, inner=shape.inner))
    keys, items = entries.flatten()
    return pa.MapArray.from_arrays(offsets, keys, items)


def array_of(values: Sequence[Any], shape: Shape) -> pa.Array:
    """Convert Python values to an array of the shape's type; raise Misfit as ``fit`` does."""
    _check(values, shape)
    if pa.types.is_dictionary(shape.kind):
        return _made(values, shape.kind.value_type).dictionary_encode().cast(shape.kind)
    return _made([_plain(value) for value in values] if shape.inner else values, shape.kind)


def _made(values: Sequence[Any], kind: pa.DataType | None = None) -> pa.Array:
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError as error:
        raise Misfit(
            f"it cannot be encoded as UTF-8 ({error.reason})",
            "harvest.toolkit.texts.printable makes text of any string",
        ) from error
    except (pa.ArrowException, OverflowError, TypeError) as error:
        raise Misfit(str(error)) from error


def _check(values: Sequence[Any], shape: Shape) -> None:
    """Raise Misfit unless the shape accepts the classes of all values."""
    classes = set(map(type, values))
    if NoneType in classes:
        if not shape.nullable:
            raise _refuse_null()
        classes.remove(NoneType)
        values = [value for value in values if value is not None]
    for cls in classes:
        those: Sequence[Any] = [each for each in values if type(each) is cls]
        if pa.types.is_struct(shape.kind):
            _check_structs(cls, those, shape)
        elif pa.types.is_map(shape.kind):
            if not issubclass(cls, Mapping):
                raise _refuse_type(cls.__qualname__, shape.kind)
            _check(list(chain.from_iterable(those)), shape.inner["key"])
            _check([v for each in those for v in each.values()], shape.inner["value"])
        elif shape.inner and issubclass(cls, (list, tuple)):
            _check(list(chain.from_iterable(those)), shape.inner["item"])
        else:
            _check_values(cls, those, shape)


def _check_structs(cls: type, values: Sequence[Any], shape: Shape) -> None:
    """Check instances of an attrs class; nullable fields may be missing."""
    if not attrs.has(cls):
        raise _refuse_type(cls.__qualname__, shape.kind)
    for field in attrs.fields(cls):
        if field.name not in shape.inner:
            raise _refuse_field(field.name)
    for name, part in shape.inner.items():
        _check([getattr(value, name, None) for value in values], part)


def _check_values(cls: type, values: Sequence[Any], shape: Shape) -> None:
    """Check values of one class; classes that are not built-in count as what Arrow infers."""
    kind = shape.kind.value_type if pa.types.is_dictionary(shape.kind) else shape.kind
    given = SIMPLE.get(cls)
    if given is None or (cls is float and pa.types.is_floating(kind) and kind != given):
        if issubclass(cls, (Set, Mapping)):  # Arrow would accept a set as a list, in any order
            raise _refuse_type(cls.__qualname__, shape.kind)
        fit(_made(values), attrs.evolve(shape, kind=kind))
    elif shape.inner or not _takes(kind, given):
        raise _refuse_type(cls.__qualname__, shape.kind)
    elif cls is datetime and any(value.utcoffset() is None for value in values):
        raise _refuse_naive()


def _plain(value: Any) -> Any:
    """Convert a value of a nested column for Arrow: attrs instances become dicts."""
    if attrs.has(type(value)):
        return {a.name: _plain(getattr(value, a.name)) for a in attrs.fields(type(value))}
    if isinstance(value, Mapping):
        return [(key, _plain(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
