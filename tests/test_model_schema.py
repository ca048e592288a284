"""Schemas derived from a record class: Arrow, JSON Schema, polars."""

import json
from datetime import UTC, datetime

import attrs
import jsonschema
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harvest.model import Int32, Record, UInt64, field, record, record_type
from harvest.model.arrow import table_of
from harvest.model.describe import json_type
from harvest.model.frames import (
    arrow_type_of,
    frame_of,
    native_schema,
    plain_columns,
    polars_schema,
    polars_type,
)
from harvest.model.json import encode_frame


@attrs.define
class Piece:
    key: str
    size_bytes: int | None = None


@record("demo.move", layer="workflow", level="worker", version=2)
class Move(Record):
    """Data that moved."""

    time: datetime | None = field(role="time", doc="When.")
    number: UInt64 = field(doc="Which.")
    rank: Int32 | None
    duration_s: float | None = field(unit="s")
    pieces: list[Piece] | None
    labels: dict[str, str] | None
    raw: bytes | None
    done: bool


MOVE = record_type(Move)
TAIL = ["extra", "origin", "position"]


def test_the_arrow_schema_has_the_columns_in_order_and_ends_with_the_tail() -> None:
    schema = MOVE.arrow_schema
    assert schema.names == [
        *("time", "number", "rank", "duration_s", "pieces", "labels", "raw", "done"),
        *TAIL,
    ]
    assert schema.field("time").type == pa.timestamp("us", tz="UTC")
    assert schema.field("number").type == pa.uint64()
    assert schema.field("rank").type == pa.int32()
    piece = pa.struct([("key", pa.string()), ("size_bytes", pa.int64())])
    assert schema.field("pieces").type == pa.list_(piece)
    assert schema.field("labels").type == pa.map_(pa.string(), pa.string())
    assert schema.field("origin").type == pa.dictionary(pa.int32(), pa.string())


def test_columns_declared_without_none_are_not_nullable_nor_are_origin_and_position() -> None:
    required = [f.name for f in MOVE.arrow_schema if not f.nullable]
    assert required == ["number", "done", "origin", "position"]
    assert MOVE.json_schema()["required"] == required


def test_the_arrow_schema_tells_what_the_type_and_its_columns_are() -> None:
    schema = MOVE.arrow_schema
    assert schema.metadata[b"harvest.record_type"] == b"demo.move"
    assert schema.metadata[b"harvest.version"] == b"2"
    assert schema.field("time").metadata == {b"harvest.doc": b"When.", b"harvest.role": b"time"}
    assert schema.field("duration_s").metadata == {b"harvest.unit": b"s"}


def test_the_json_schema_is_one_and_describes_every_column() -> None:
    schema = MOVE.json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert list(schema["properties"]) == MOVE.arrow_schema.names
    assert schema["properties"]["duration_s"]["x-unit"] == "s"
    assert schema["properties"]["time"]["x-role"] == "time"
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("number", "7"),
        ("number", -1),
        ("number", None),
        ("duration_s", "nan"),
        ("done", 1),
        ("pieces", [{"key": 1}]),
        ("labels", ["a"]),
        ("unknown", 1),
    ],
)
def test_the_json_schema_refuses_what_is_no_record(member: str, value: object) -> None:
    good = {"number": 7, "done": True, "origin": "/in", "position": 1, "duration_s": "NaN"}
    validator = jsonschema.Draft202012Validator(MOVE.json_schema())
    validator.validate(good)
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**good, member: value})


def test_a_table_becomes_a_frame_with_nulls_and_empty_maps_told_apart() -> None:
    labels: list[dict[str, str] | None] = [None, {}, {"a": "b"}]
    rows = [
        Move(number=i, done=True, labels=labels[i], origin="/in", position=i + 1) for i in range(3)
    ]
    frame = frame_of(MOVE, table_of(MOVE, rows))
    assert dict(frame.schema) == polars_schema(MOVE)
    assert frame["labels"].to_list() == [None, [], [{"key": "a", "value": "b"}]]
    assert frame["origin"].to_list() == ["/in"] * 3


def test_frames_in_polars_own_types_can_be_made_plain() -> None:
    own = pl.DataFrame(schema=native_schema(MOVE))
    assert dict(own.select(plain_columns(MOVE)).schema) == polars_schema(MOVE)


VALUES = {
    pl.Boolean(): True,
    pl.Int32(): -1,
    pl.UInt64(): 2**64 - 1,
    pl.Float64(): float("nan"),
    pl.String(): "text",
    pl.Binary(): b"\xff",
    pl.Datetime("us", "UTC"): datetime(2024, 4, 19, tzinfo=UTC),
}
"""Polars types of columns, with a value of each."""


def nested(inner: st.SearchStrategy[pl.DataType]) -> st.SearchStrategy[pl.DataType]:
    return st.one_of(
        inner.map(pl.List),
        inner.map(lambda kind: pl.List(pl.Struct({"key": pl.String(), "value": kind}))),
        st.tuples(inner, inner).map(lambda two: pl.Struct({"a": two[0], "b": two[1]})),
    )


KINDS = st.recursive(st.sampled_from(list(VALUES)), nested, max_leaves=4)


def value_of(kind: pl.DataType) -> object:
    if isinstance(kind, pl.List):
        return [value_of(kind.inner), None] if not isinstance(kind.inner, pl.Struct) else [
            value_of(kind.inner)]  # fmt: skip
    if isinstance(kind, pl.Struct):
        return {field.name: value_of(field.dtype) for field in kind.fields}
    return VALUES[kind]


@given(kind=KINDS)
def test_arrow_and_polars_types_stand_for_each_other(kind: pl.DataType) -> None:
    assert polars_type(arrow_type_of(kind)) == kind


@given(kind=KINDS)
def test_a_value_written_as_json_fits_the_json_schema_of_its_type(kind: pl.DataType) -> None:
    frame = pl.DataFrame({"v": [value_of(kind)]}, schema={"v": kind})
    (line,) = encode_frame(frame)
    schema = json_type(arrow_type_of(kind))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(line)["v"], schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(object(), schema)
