"""Rows as JSON text: what is written, that it reads back, and that its schema describes it."""

import base64
import json
import math
from datetime import UTC, datetime
from typing import Any, get_args, get_origin

import attrs
import jsonschema
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harvest.model import Int32, Record, RecordType, UInt32, UInt64, field, record, record_type
from harvest.model.arrow import table_of
from harvest.model.frames import frame_of, polars_schema
from harvest.model.json import encode_lines
from harvest_jsonl.decoding import decode


@attrs.define
class Segment:
    offset: int | None = None
    name: str | None = None
    ratio: float | None = None
    seen: datetime | None = None


@record("demo.all", layer="system", level="process")
class Everything(Record):
    """A column of every kind."""

    time: datetime | None
    text: str | None
    raw: bytes | None
    flag: bool | None
    count: int | None
    big: UInt64 | None
    small: UInt32 | None
    signed: Int32 | None
    ratio: float | None
    names: list[str] | None
    ratios: list[float] | None
    segments: list[Segment] | None
    labels: dict[str, str] | None
    sizes: dict[str, int] | None


EVERYTHING = record_type(Everything)


def one(**values: Any) -> pa.Table:
    return table_of(EVERYTHING, [Everything(origin="/in", position=1, **values)])


def lines_of(kind: RecordType, table: pa.Table) -> list[str]:
    return bytes(encode_lines(kind, table)).decode().split("\n")[:-1]


def test_an_empty_table_gives_no_text_and_no_text_gives_no_rows() -> None:
    empty = one().slice(0, 0)
    assert bytes(encode_lines(EVERYTHING, empty)) == b""
    assert decode(EVERYTHING, b"").schema == polars_schema(EVERYTHING)
    assert decode(EVERYTHING, b"\n").height == 0


def test_columns_wanted_come_in_the_order_asked_for() -> None:
    lines = bytes(encode_lines(EVERYTHING, one(labels={"a": "b"}, count=3)))
    found = decode(EVERYTHING, lines, columns=["labels", "count"])
    assert found.to_dicts() == [{"labels": [{"key": "a", "value": "b"}], "count": 3}]


def test_members_that_a_line_lacks_are_null_and_unknown_ones_are_passed_over() -> None:
    # as an older or newer version of the record type would have written it
    lines = b'{"count":1,"origin":"/in","position":1,"later":{"x":[1]}}\n{"text":"b"}\n'
    found = decode(EVERYTHING, lines)
    assert found["count"].to_list() == [1, None]
    assert found["text"].to_list() == [None, "b"]
    assert found["extra"].to_list() == [None, None]
    assert dict(found.schema) == polars_schema(EVERYTHING)


@pytest.mark.parametrize(
    "line", [b'{"count":', b'{"count":"many"}', b'{"ratio":"much"}', b'{"time":"yesterday"}']
)
def test_a_damaged_line_is_an_error(line: bytes) -> None:
    with pytest.raises(pl.exceptions.PolarsError):
        decode(EVERYTHING, line + b"\n")


# --- any record type, any values ------------------------------------------------------------------

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
TIMES = st.datetimes(timezones=st.just(UTC))
LEAVES: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXTS,
    bytes: st.binary(max_size=8),
    bool: st.booleans(),
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(width=64),
    datetime: TIMES,
    UInt64: st.integers(0, 2**64 - 1),
    UInt32: st.integers(0, 2**32 - 1),
    Int32: st.integers(-(2**31), 2**31 - 1),
}


def _struct(hints: list[Any]) -> type:
    names = [f"s{number}" for number, _ in enumerate(hints)]
    cls = type("Struct", (), {"__annotations__": dict(zip(names, hints, strict=True))})
    return attrs.define(cls)


HINTS = st.recursive(
    st.sampled_from(list(LEAVES)),
    lambda inner: st.one_of(
        inner.map(lambda h: list[h]),
        inner.map(lambda h: dict[str, h]),
        st.lists(inner, min_size=1, max_size=3).map(_struct),
    ),
    max_leaves=4,
)


def _values(hint: Any) -> st.SearchStrategy[Any]:
    """Values for a type."""
    if hint in LEAVES:
        return LEAVES[hint]
    if get_origin(hint) is list:
        return st.lists(_values(get_args(hint)[0]), max_size=3)
    if get_origin(hint) is dict:
        return st.dictionaries(TEXTS, _values(get_args(hint)[1]), max_size=3)
    parts = {a.name: _values(a.type) for a in attrs.fields(hint)}
    return st.builds(hint, **parts)


def _expected(hint: Any, value: Any) -> Any:
    """What JSON should hold for a value, told in plain Python."""
    if value is None:
        return None
    if hint is float:
        if math.isnan(value):
            return "NaN"
        return value if math.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")
    if hint is datetime:
        return value.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
    if hint is bytes:
        return base64.b64encode(value).decode()
    if get_origin(hint) is list:
        return [_expected(get_args(hint)[0], item) for item in value]
    if get_origin(hint) is dict:
        return {key: _expected(get_args(hint)[1], item) for key, item in value.items()}
    if attrs.has(hint):
        return {a.name: _expected(a.type, getattr(value, a.name)) for a in attrs.fields(hint)}
    return value


@st.composite
def _types_and_rows(draw: st.DrawFn) -> tuple[RecordType, list[Record]]:
    hints = draw(st.lists(HINTS, min_size=1, max_size=4))
    names = [f"c{number}" for number, _ in enumerate(hints)]
    body = {name: field() for name in names}
    annotations = {name: hint | None for name, hint in zip(names, hints, strict=True)}
    cls: Any = record("random.row", layer="job", level="job")(
        type("Row", (Record,), {**body, "__annotations__": annotations})
    )
    columns = {n: st.none() | _values(h) for n, h in zip(names, hints, strict=True)}
    extra = st.none() | st.dictionaries(TEXTS, TEXTS, max_size=2)
    position = st.integers(1, 2**63 - 1)
    row = st.builds(cls, **columns, extra=extra, origin=TEXTS, position=position)
    return record_type(cls), draw(st.lists(row, max_size=5))


@pytest.mark.slow
@given(_types_and_rows())
def test_each_row_is_written_as_plain_python_would(case: tuple[RecordType, list[Record]]) -> None:
    kind, rows = case
    lines = lines_of(kind, table_of(kind, rows))
    expected = [
        {c.name: _expected(c.python_type, getattr(row, c.name)) for c in kind.columns}
        for row in rows
    ]
    # dumped again, so that 1 and 1.0 differ
    assert [json.dumps(json.loads(line)) for line in lines] == [json.dumps(e) for e in expected]


@pytest.mark.slow
@given(_types_and_rows())
def test_what_is_written_reads_back(case: tuple[RecordType, list[Record]]) -> None:
    kind, rows = case
    table = table_of(kind, rows)
    found, expected = decode(kind, bytes(encode_lines(kind, table))), frame_of(kind, table)
    assert found.schema == expected.schema
    # as text, where NaN equals itself and -0.0 is not 0.0
    assert repr(found.to_dicts()) == repr(expected.to_dicts())


@pytest.mark.slow
@given(_types_and_rows())
def test_every_line_fits_the_json_schema(case: tuple[RecordType, list[Record]]) -> None:
    kind, rows = case
    validator = jsonschema.Draft202012Validator(kind.json_schema())
    for line in lines_of(kind, table_of(kind, rows)):
        validator.validate(json.loads(line))
