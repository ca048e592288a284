"""All forms of the first-party sinks give the same frames for the same rows."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from harvest import Record, UInt64, field, record, record_type
from harvest.model.arrow import table_of
from harvest.model.frames import frame_of
from harvest_testing import SinkDriver

pytestmark = pytest.mark.slow

parquet = pytest.importorskip("harvest_parquet.sink")
jsonl = pytest.importorskip("harvest_jsonl.sink")


@attrs.define
class Piece:
    key: str | None = None
    ratio: float | None = None
    seen: datetime | None = None


@record("demo.full", layer="workflow", level="worker")
class Full(Record):
    time: datetime | None = field(role="time")
    text: str | None = field(role="subject")
    number: UInt64 | None
    count: int | None
    ratio: float | None
    flag: bool | None
    raw: bytes | None
    pieces: list[Piece] | None
    labels: dict[str, float] | None


FULL = record_type(Full)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
TIMES = st.datetimes(timezones=st.just(UTC))
PIECES = st.builds(Piece, key=st.none() | TEXTS, ratio=st.none() | st.floats(), seen=TIMES)
ROWS = st.builds(
    Full,
    time=st.none() | TIMES,
    text=st.none() | TEXTS,
    number=st.none() | st.integers(0, 2**64 - 1),
    count=st.none() | st.integers(-(2**63), 2**63 - 1),
    ratio=st.none() | st.floats(),
    flag=st.none() | st.booleans(),
    raw=st.none() | st.binary(max_size=5),
    pieces=st.none() | st.lists(PIECES, max_size=2),
    labels=st.none() | st.dictionaries(TEXTS, st.floats(), max_size=2),
    extra=st.none() | st.dictionaries(TEXTS, TEXTS, max_size=2),
    origin=TEXTS,
)
LOCATIONS = ["parquet:out", "jsonl:out", "jsonl:out.jsonl", "jsonl:out.jsonl.gz"]


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(rows=st.lists(ROWS, max_size=6))
@pytest.mark.parametrize("location", LOCATIONS)
def test_what_is_scanned_is_what_was_written(
    location: str, rows: list[Any], tmp_path_factory: Any
) -> None:
    name, _, path = location.partition(":")
    folder: Path = tmp_path_factory.mktemp("out")
    cls = {"parquet": parquet.ParquetSink, "jsonl": jsonl.JsonlSink}[name]
    table = table_of(FULL, [attrs.evolve(row, position=n) for n, row in enumerate(rows, 1)])
    driver = SinkDriver(cls(str(folder / path)))
    driver.commit({"a": [(FULL, table)]})
    assert_frame_equal(driver.scan(FULL).collect(), frame_of(FULL, table), check_exact=True)
