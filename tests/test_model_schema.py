"""Schemas derived from a record class: Arrow, JSON Schema, polars."""

from __future__ import annotations

from datetime import datetime

import attrs
import jsonschema
import polars as pl
import pyarrow as pa
import pytest

from harvest.model import Int32, Record, UInt64, field, record, record_type
from harvest.model.arrow import table_of
from harvest.model.frames import frame_of, native_schema, plain_columns, polars_schema, polars_type


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


def test_frames_have_plain_columns_only() -> None:
    schema = polars_schema(MOVE)
    text_pairs = pl.List(pl.Struct({"key": pl.String, "value": pl.String}))
    assert list(schema) == MOVE.arrow_schema.names
    assert schema["labels"] == schema["extra"] == text_pairs
    assert schema["origin"] == pl.String
    assert schema["pieces"] == pl.List(pl.Struct({"key": pl.String, "size_bytes": pl.Int64}))


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


def test_an_arrow_type_outside_the_model_has_no_polars_type() -> None:
    with pytest.raises(TypeError, match="duration"):
        polars_type(pa.duration("s"))
