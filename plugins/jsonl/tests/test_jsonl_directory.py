"""``jsonl:DIR``: a directory of parts, seen by the json module."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from harvest import Record, UsageError, record, record_type
from harvest.model.arrow import table_of
from harvest.model.frames import polars_schema
from harvest_jsonl.sink import Config, JsonlSink
from harvest_testing import SinkDriver


@record("demo.line", layer="job", level="job")
class Line(Record):
    text: str
    ratio: float | None = None
    labels: dict[str, str] | None = None


@record("demo.count", layer="job", level="job")
class Count(Record):
    number: int


LINE, COUNT = record_type(Line), record_type(Count)


def lines(*texts: str, origin: str = "/in/a") -> pa.Table:
    return table_of(
        LINE,
        [
            Line(
                text=text,
                ratio=float("inf") if number % 2 else 0.5,
                labels={text: text} if number % 2 else None,
                origin=origin,
                position=number,
            )
            for number, text in enumerate(texts, 1)
        ],
    )


def counts(*numbers: int) -> pa.Table:
    return table_of(COUNT, [Count(number=n, origin="/in/c", position=n) for n in numbers])


@pytest.fixture
def driver(tmp_path: Path) -> SinkDriver:
    return SinkDriver(JsonlSink(str(tmp_path / "out")))


def by_glob(driver: SinkDriver, name: str) -> list[dict[str, Any]]:
    files = sorted(driver.sink.root.glob(f"{name}/*.jsonl"))
    return [json.loads(line) for path in files for line in path.read_bytes().splitlines()]


def test_each_row_is_an_object_of_all_columns(driver: SinkDriver) -> None:
    driver.commit({"a": [(LINE, lines("x", "y")), (COUNT, counts(5))]})
    tail = {"extra": None, "origin": "/in/a"}
    assert by_glob(driver, "demo.line") == [
        {"text": "x", "ratio": "Infinity", "labels": {"x": "x"}, **tail, "position": 1},
        {"text": "y", "ratio": 0.5, "labels": None, **tail, "position": 2},
    ]
    assert [row["number"] for row in by_glob(driver, "demo.count")] == [5]


def test_the_scan_reads_several_files_lazily(driver: SinkDriver) -> None:
    driver.commit({"a": [(LINE, lines("x", "y"))], "b": [(LINE, lines("z", origin="/in/b"))]})
    scan = driver.scan(LINE)
    assert dict(scan.collect_schema()) == polars_schema(LINE)
    assert scan.select(pl.len()).collect().item() == 3
    assert scan.head(1).collect()["text"].to_list() == ["x"]
    found = scan.filter(pl.col("origin") == "/in/b").select("text", "labels").collect()
    assert found.to_dicts() == [{"text": "z", "labels": [{"key": "z", "value": "z"}]}]
    assert scan.group_by("origin").len().sort("origin").collect()["len"].to_list() == [2, 1]


def test_files_longer_than_a_block_read_back(
    driver: SinkDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harvest_jsonl.codecs.BLOCK_BYTES", 100)
    texts = [str(n) * 40 for n in range(50)]
    driver.commit({"a": [(LINE, lines(*texts)), (LINE, lines(*texts))]})
    assert driver.scan(LINE).collect()["text"].to_list() == texts * 2


def test_a_file_cut_short_is_an_error(driver: SinkDriver) -> None:
    driver.commit({"a": [(LINE, lines("x", "y"))]})
    path = driver.sink.root / driver.files["a"][0].path
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(Exception, match="bytes before the manifest"):
        driver.scan(LINE).collect()


@pytest.mark.parametrize("name", ["out.jsonl.bz2", "out.ndjson.xz"])
def test_an_unknown_compression_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="compression"):
        JsonlSink(str(tmp_path / name)).check()


@pytest.mark.parametrize(("name", "level"), [("o.jsonl.gz", 10), ("o.jsonl.zst", 0)])
def test_a_level_that_does_not_exist_is_refused(tmp_path: Path, name: str, level: int) -> None:
    with pytest.raises((UsageError, ValueError), match="level"):
        JsonlSink(str(tmp_path / name), Config(level=level)).check()
