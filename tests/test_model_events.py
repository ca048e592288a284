"""The common event model: how columns with a role and all others show up in it."""

import json
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

from harvest.model import Record, RecordType, RecordTypeError, UInt64, field, record, record_type
from harvest.model.arrow import table_of
from harvest.model.events import EVENTS_SCHEMA, event_columns
from harvest.model.frames import frame_of
from harvest_jsonl.decoding import decode
from harvest_jsonl.piece_writer import encode_event_lines

NOON = datetime(2024, 4, 19, 12, tzinfo=UTC)
LATER = datetime(2024, 4, 19, 12, 0, 1, 500000, tzinfo=UTC)


@record("demo.step", layer="workflow", level="thread")
class Step(Record):
    """One step of a program."""

    begin: datetime | None = field(role="time")
    end: datetime | None = field(role="end_time")
    name: str = field(role="subject")
    machine: str | None = field(role="host")
    process: int | None = field(role="pid")
    thread: UInt64 | None = field(role="thread")
    owner: str | None = field(role="user")
    job: int | None = field(role="job")
    ratio: float | None = field()


@record("demo.bare", layer="system", level="config")
class Bare(Record):
    """A record type without columns of its own."""


STEP, BARE = record_type(Step), record_type(Bare)


def project(kind: RecordType, table: pa.Table) -> pa.Table:
    """A table's rows as events."""
    return frame_of(kind, table).select(event_columns(kind)).to_arrow().cast(EVENTS_SCHEMA)


FULL = Step(
    begin=NOON,
    end=LATER,
    name='read "x"',
    machine="n1",
    process=7,
    thread=2**64 - 1,
    owner="ann",
    job=12,
    ratio=float("nan"),
    extra={"odd": "1"},
    origin="/in/a",
    position=3,
)
EMPTY = Step(name="write", origin="/in/a", position=4)


def test_columns_with_a_role_become_the_shared_columns() -> None:
    [row] = project(STEP, table_of(STEP, [FULL])).to_pylist()
    data = row.pop("data")
    assert row == {
        "record_type": "demo.step",
        "time": NOON,
        "end_time": LATER,
        "subject": 'read "x"',
        "host": "n1",
        "pid": 7,
        "thread": "18446744073709551615",
        "user": "ann",
        "job": "12",
        "layer": "workflow",
        "level": "thread",
        "origin": "/in/a",
        "position": 3,
    }
    assert json.loads(data) == {
        "begin": "2024-04-19T12:00:00.000000Z",
        "end": "2024-04-19T12:00:01.500000Z",
        "name": 'read "x"',
        "machine": "n1",
        "process": 7,
        "thread": 2**64 - 1,
        "owner": "ann",
        "job": 12,
        "ratio": "NaN",
        "extra": {"odd": "1"},
    }


def test_data_leaves_out_extra_where_it_is_null_and_keeps_other_nulls() -> None:
    [row] = project(STEP, table_of(STEP, [EMPTY])).to_pylist()
    data = json.loads(row["data"])
    assert "extra" not in data
    assert data["ratio"] is None


def test_roles_that_a_type_does_not_have_are_null() -> None:
    rows = [Bare(origin="/a", position=1), Bare(extra={"k": "v"}, origin="/a", position=2)]
    first, second = project(BARE, table_of(BARE, rows)).to_pylist()
    assert {name for name, value in first.items() if value is not None} == {
        "record_type",
        "layer",
        "level",
        "origin",
        "position",
        "data",
    }
    assert (first["data"], second["data"]) == ("{}", '{"extra":{"k":"v"}}')


@pytest.mark.parametrize("rows", [[], [FULL], [FULL, EMPTY, FULL]])
def test_the_projection_has_the_schema_and_the_lazy_one_gives_the_same(rows: list[Any]) -> None:
    table = table_of(STEP, rows)
    found = project(STEP, table)
    assert found.schema == EVENTS_SCHEMA
    lazy = frame_of(STEP, table).lazy().select(event_columns(STEP)).collect()
    assert_frame_equal(lazy, pl.DataFrame(found))


def test_event_lines_hold_the_same_with_data_as_an_object() -> None:
    table = table_of(STEP, [FULL, EMPTY])
    lines = bytes(encode_event_lines(STEP, table)).splitlines()
    rows = project(STEP, table).to_pylist()
    for line, row in zip(lines, rows, strict=True):
        found = json.loads(line)
        assert list(found) == EVENTS_SCHEMA.names
        assert line.startswith(b'{"record_type":"demo.step",')
        assert found["data"] == json.loads(row["data"])
        assert found["thread"] == row["thread"]
        begin = row["time"]
        assert found["time"] == (begin and begin.strftime("%Y-%m-%dT%H:%M:%S.%fZ"))


def test_event_lines_read_back_as_rows_of_the_type() -> None:
    table = table_of(STEP, [FULL, EMPTY])
    found = decode(STEP, bytes(encode_event_lines(STEP, table)), inside="data")
    assert_frame_equal(found, frame_of(STEP, table))


@pytest.mark.parametrize(
    ("hint", "role", "needed"),
    [
        (str, "time", "a datetime"),
        (float, "end_time", "a datetime"),
        (str, "pid", "an integer"),
        (list[str], "subject", "text or a number"),
        (dict[str, str], "host", "text or a number"),
        (bytes, "user", "text or a number"),
    ],
)
def test_a_column_that_cannot_play_its_role_is_an_error(hint: Any, role: Any, needed: str) -> None:
    body = {"column": field(role=role), "__annotations__": {"column": hint | None}}
    made: Any = record("demo.wrong", layer="job", level="job")(type("Wrong", (Record,), body))
    kind = record_type(made)
    with pytest.raises(RecordTypeError, match=f"'column'.*role '{role}', which needs {needed}"):
        project(kind, kind.arrow_schema.empty_table())
