"""The sink ``parquet``, seen by independent readers."""

import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

from harvest import Record, UInt64, UsageError, field, record, record_type
from harvest.model.arrow import table_of
from harvest.model.frames import frame_of, polars_schema
from harvest_parquet.encodings import choose
from harvest_parquet.sink import Config, ParquetSink
from harvest_parquet.writer import ParquetFile, ParquetPartWriter
from harvest_testing import SinkDriver


@attrs.define
class Piece:
    key: str
    size_bytes: int | None = None


@record("demo.move", layer="workflow", level="worker")
class Move(Record):
    """Data that moved."""

    time: datetime | None = field(role="time", doc="When it began.")
    number: UInt64
    duration_s: float | None = field(unit="s")
    pieces: list[Piece] | None
    labels: dict[str, str] | None
    raw: bytes | None


@record("demo.note", layer="job", level="job")
class Note(Record):
    text: str


MOVE, NOTE = record_type(Move), record_type(Note)


def moves(numbers: Any, origin: str = "/in/a") -> pa.Table:
    return table_of(
        MOVE,
        [
            Move(
                time=datetime(2024, 1, 1, tzinfo=UTC),
                number=number,
                duration_s=number / 3,
                pieces=[Piece(key="k", size_bytes=number)] * (number % 3),
                labels={"a": str(number)} if number % 2 else None,
                raw=b"\x00\xff",
                origin=origin,
                position=number + 1,
            )
            for number in numbers
        ],
    )


@pytest.fixture
def driver(tmp_path: Path) -> SinkDriver:
    return SinkDriver(ParquetSink(str(tmp_path / "out")))


@pytest.mark.slow
def test_other_readers_agree(driver: SinkDriver) -> None:
    duckdb = pytest.importorskip("duckdb")
    driver.commit({"a": [(MOVE, moves(range(5000)))]})
    query = "SELECT sum(number), sum(position), sum(duration_s), count(labels) FROM "
    [found] = duckdb.sql(f"{query} '{driver.sink.root}/demo.move/*.parquet'").fetchall()
    numbers = range(5000)
    assert found[:2] == (sum(numbers), sum(n + 1 for n in numbers))
    assert math.isclose(found[2], sum(n / 3 for n in numbers))
    assert found[3] == 2500


def test_files_say_what_their_columns_mean(driver: SinkDriver) -> None:
    driver.commit({"a": [(MOVE, moves([1]))]})
    [path] = driver.sink.root.glob("demo.move/*.parquet")
    schema = pq.read_schema(path)
    assert schema.metadata[b"harvest.record_type"] == b"demo.move"
    assert schema.field("duration_s").metadata[b"harvest.unit"] == b"s"
    assert schema.field("time").metadata[b"harvest.role"] == b"time"
    assert schema.field("time").type == pa.timestamp("us", tz="UTC")
    assert schema.field("number").type == pa.uint64()
    column = pq.read_metadata(path).row_group(0).column(1)
    assert (column.compression, column.statistics.max) == ("ZSTD", 1)


def test_columns_that_older_files_lack_are_null_and_newer_ones_are_left_out(
    driver: SinkDriver,
) -> None:
    driver.commit({"a": [(MOVE, moves([1]))]})
    driver.commit({"b": [(MOVE, moves([2]))]})
    old = driver.sink.root / driver.files["a"][0].path
    table = pq.read_table(old, partitioning=None)
    piece = pa.array([[{"key": "k"}]], pa.list_(pa.struct([("key", pa.string())])))
    table = table.drop_columns(["labels", "raw", "pieces"]).append_column("pieces", piece)
    pq.write_table(table.append_column("later", pa.array(["x"])), old)
    found = driver.scan(MOVE).collect()
    assert dict(found.schema) == polars_schema(MOVE)
    assert found["number"].to_list() == [1, 2]
    assert found["raw"].to_list() == [None, b"\x00\xff"]
    assert found["pieces"].to_list()[0] == [{"key": "k", "size_bytes": None}]


def test_tables_are_gathered_into_row_groups(tmp_path: Path) -> None:
    sink = ParquetSink(str(tmp_path / "out"), Config(row_group_rows=100))
    driver = SinkDriver(sink, small_bytes=0)
    driver.commit({"a": [(MOVE, moves(range(start, start + 30))) for start in range(0, 300, 30)]})
    [path] = sink.root.glob("demo.move/*.parquet")
    metadata = pq.read_metadata(path)
    groups = [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)]
    assert groups == [120, 120, 60]
    assert pq.ParquetFile(path).read().to_pylist() == moves(range(300)).to_pylist()


def test_what_waits_for_row_groups_is_bounded_over_all_record_types(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harvest_parquet.writer.HELD_BYTES", 4_000)
    writer = ParquetSink(str(tmp_path)).writer(tmp_path, "part")
    assert isinstance(writer, ParquetPartWriter)
    notes = [Note(text="x" * 50, origin="/in/n", position=n) for n in range(10)]
    for _ in range(20):
        writer.write(MOVE, moves(range(10)))
        writer.write(NOTE, table_of(NOTE, notes))
        assert sum(file.held_bytes for file in writer._files.values()) <= 4_000
    assert [rows for _, _, rows in writer.close()] == [200, 200]


def test_encodings_follow_the_values() -> None:
    chosen = choose(moves(range(2000)))
    encoding = chosen["column_encoding"]
    assert encoding["number"] == encoding["position"] == "DELTA_BINARY_PACKED"
    assert encoding["duration_s"] == "BYTE_STREAM_SPLIT"
    assert {"time", "origin", "pieces.list.element.key", "labels.key_value.key"} <= set(
        chosen["use_dictionary"]
    )


def test_what_is_nested_is_encoded_by_its_own_values() -> None:
    count = 2000
    items = [[("cpu", n * 0.1), ("mem", n * 7.0)] for n in range(count)]
    sizes = [[{"size": n, "kind": "x"}] for n in range(count)]
    struct = pa.struct([("size", pa.int64()), ("kind", pa.string())])
    chosen = choose(
        pa.table(
            {
                "usage": pa.array(items, pa.map_(pa.string(), pa.float64())),
                "sizes": pa.array(sizes, pa.list_(struct)),
                "empty": pa.array([[]] * count, pa.list_(pa.int64())),
            }
        )
    )
    assert chosen["column_encoding"] == {
        "usage.key_value.value": "BYTE_STREAM_SPLIT",
        "sizes.list.element.size": "DELTA_BINARY_PACKED",
    }
    assert set(chosen["use_dictionary"]) == {
        "usage.key_value.key", "sizes.list.element.kind", "empty.list.element",
    }  # fmt: skip


@pytest.mark.parametrize(
    "groups",
    [
        [["x", None, "x"]],
        [["x", None] * 1000],
        [[f"{n}" for n in range(1000)], ["x", None, None]],
    ],
    ids=["few", "many", "in the last row group"],
)
def test_duckdb_finds_unknown_texts_where_all_known_ones_are_equal(tmp_path, groups) -> None:
    schema = pa.schema({"text": pa.string(), "part": pa.struct({"text": pa.string()})})
    file = ParquetFile(tmp_path / "a.parquet", schema, {})
    for texts in groups:
        file.add(pa.table({"text": texts, "part": [{"text": t} for t in texts]}, schema))
        file.flush()
    file.close()

    unknown = sum(texts.count(None) for texts in groups)
    for name in ("text", "part.text"):
        query = f"select count(*) from '{tmp_path}/a.parquet' where {name} is null"
        assert duckdb.sql(query).fetchall() == [(unknown,)]


def test_a_full_disk_is_an_error_of_the_system(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this system")
    writer = ParquetSink(str(tmp_path), Config(compression="none")).writer(tmp_path, "part")
    (tmp_path / "demo.move").mkdir()
    (tmp_path / "demo.move" / "part.parquet").symlink_to("/dev/full")
    writer.write(MOVE, moves(range(10)))
    with pytest.raises(OSError, match="No space left"):
        writer.close()
    writer.abort()


@pytest.mark.parametrize(
    ("settings_", "text"),
    [
        ({"compression": "zip"}, "zstd, gzip, snappy, none"),
        ({"level": 23}, "1 to 22 for zstd"),
        ({"compression": "gzip", "level": 10}, "1 to 9 for gzip"),
        ({"row_group_rows": 0}, "at least 1"),
    ],
)
def test_wrong_settings_are_told(settings_: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Config(**settings_)


@pytest.mark.parametrize("compression", ["zstd", "gzip", "snappy", "none"])
def test_every_compression_reads_back(tmp_path: Path, compression: str) -> None:
    driver = SinkDriver(ParquetSink(str(tmp_path / "o"), Config(compression=compression)))
    driver.commit({"a": [(MOVE, moves(range(10)))]})
    assert_frame_equal(driver.scan(MOVE).collect(), frame_of(MOVE, moves(range(10))))


def test_a_foreign_parquet_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "demo.move").mkdir()
    pq.write_table(pa.table({"a": [1]}), tmp_path / "demo.move" / "mine.parquet")
    with pytest.raises(UsageError, match="not of a harvest dataset"):
        ParquetSink(str(tmp_path)).check()
