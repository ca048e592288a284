"""Which types of columns go together, and how a manifest writes them."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated

import attrs
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harvest.model import Record, RecordTypeError, field, record, record_type
from harvest.model.record import Int32, UInt32, UInt64
from harvest.model.types import (
    as_recorded,
    common_type,
    declared_types,
    from_plain,
    holds,
    shape_of,
    to_plain,
    with_types,
)

INTEGERS = [getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)]
SIMPLE = [
    *INTEGERS, pa.float32(), pa.float64(), pa.string(), pa.binary(), pa.bool_(),
    pa.timestamp("us", "UTC"),
]  # fmt: skip


def nested(inner: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[pa.DataType]:
    names = st.sampled_from("abc")
    return st.one_of(
        inner.map(pa.list_),
        inner.map(lambda kind: pa.map_(pa.string(), kind)),
        st.dictionaries(names, inner, min_size=1).map(lambda fields: pa.struct([*fields.items()])),
    )


types = st.recursive(st.sampled_from(SIMPLE), nested, max_leaves=4)


@pytest.mark.slow
@given(types)
def test_a_type_is_read_back_as_it_was_written(kind: pa.DataType) -> None:
    assert from_plain(to_plain(kind)) == kind


@pytest.mark.parametrize("plain", ["int65", "", 7, None, [], {}, {"list": []}, {"heap": "int8"},
                                   {"map": ["string"]}, {"struct": ["a"]}])  # fmt: skip
def test_what_is_no_type_is_an_error(plain: object) -> None:
    with pytest.raises(RecordTypeError, match="not the type of a column"):
        from_plain(plain)


def bounds(kind: pa.DataType) -> Iterable[int]:
    """The smallest and the largest value of an integer type."""
    bits = kind.bit_width
    signed = str(kind).startswith("int")
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)


@pytest.mark.parametrize("one", INTEGERS, ids=str)
@pytest.mark.parametrize("other", INTEGERS, ids=str)
def test_integers_go_together_where_one_has_every_value_of_the_other(
    one: pa.DataType, other: pa.DataType
) -> None:
    # given what Arrow itself says of the bounds of one type in the other
    def has(kind: pa.DataType, values: Iterable[int]) -> bool:
        try:
            pa.array(list(values), kind)
        except (pa.ArrowInvalid, OverflowError):
            return False
        return True

    assert holds(one, other) == has(one, bounds(other))
    expected = one if has(one, bounds(other)) else other if has(other, bounds(one)) else None
    assert common_type(one, other) == expected


@given(types, types)
def test_the_common_type_has_both_and_does_not_depend_on_their_order(
    one: pa.DataType, other: pa.DataType
) -> None:
    together = common_type(one, other)
    if together is None:
        assert common_type(other, one) is None
        return
    assert holds(together, one)
    assert holds(together, other)
    assert holds(together, common_type(other, one))


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from("abcdef"), types, min_size=1))
def test_a_record_type_takes_any_columns(columns: dict[str, pa.DataType]) -> None:
    @record("evolution.sample", layer="workflow", level="client")
    class Sample(Record):
        """A sample."""

        a: int = field(doc="A number.")

    made = with_types(record_type(Sample), columns)

    assert made.arrow_schema.names == [*columns, "extra", "origin", "position"]
    assert {name: made.arrow_schema.field(name).type for name in columns} == columns
    assert made.json_schema()["properties"].keys() == set(made.arrow_schema.names)


@attrs.frozen
class Inner:
    """Nested columns."""

    ratio: float | None
    counts: list[UInt32]


INNER = {"struct": {"ratio": "double", "counts": {"list": "uint32"}}}
WORDS = [
    (str, "string"), (bytes, "binary"), (bool, "bool"), (int, "int64"), (float, "double"),
    (datetime, "timestamp[us, UTC]"), (UInt64, "uint64"), (UInt32, "uint32"), (Int32, "int32"),
    (Annotated[int, "int8"], "int8"), (Annotated[float, "float32"], "float"),
    (Annotated[float, "float"], "float"), (list[str], {"list": "string"}),
    (list[float | None], {"list": "double"}), (tuple[int, ...], {"list": "int64"}),
    (Sequence[datetime], {"list": "timestamp[us, UTC]"}),
    (dict[str, int | None], {"map": ["string", "int64"]}),
    (Mapping[str, list[bytes]], {"map": ["string", {"list": "binary"}]}),
    (Inner, INNER), (list[Inner], {"list": INNER}),
]  # fmt: skip


@pytest.mark.parametrize(("hint", "words"), WORDS, ids=str)
def test_a_manifest_records_an_annotation_in_these_words(hint: object, words: object) -> None:
    assert to_plain(shape_of(hint).kind) == words


def test_an_annotation_that_no_column_can_have_is_an_error() -> None:
    with pytest.raises(RecordTypeError, match="has no Arrow type here"):
        shape_of(complex)


def test_a_column_is_read_by_the_type_of_the_dataset_where_that_holds_other_values():
    @record("typed.row", layer="system", level="process")
    class Row(Record):
        number: int = field(doc="A number; earlier versions wrote texts.")
        name: str = field(doc="A name.")

    kind = record_type(Row)
    declared = declared_types(kind)

    found = declared_types(as_recorded(kind, {**declared, "number": pa.string()}))

    assert found == {**declared, "number": pa.string()}
    assert as_recorded(kind, declared) is kind
