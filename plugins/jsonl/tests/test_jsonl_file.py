"""``jsonl:FILE.jsonl[.gz|.zst]``: one file of events, seen by json, gzip and zstandard."""

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from harvest import DatasetError, Record, UsageError, field, record, record_type
from harvest.model.arrow import table_of
from harvest_jsonl.sink import JsonlSink
from harvest_testing import SinkDriver


@record("demo.line", layer="job", level="client")
class Line(Record):
    time: datetime | None = field(role="time")
    text: str = field(role="subject")
    value: dict[str, str] | None = None


@record("demo.count", layer="job", level="job")
class Count(Record):
    # the same name as in Line, of another type
    value: int


LINE, COUNT = record_type(Line), record_type(Count)
ENDINGS = [".jsonl", ".ndjson", ".jsonl.gz", ".jsonl.zst"]


def lines(*positions: int, origin: str = "/in/a", text: str = 'say "hi"\n') -> pa.Table:
    return table_of(
        LINE,
        [
            Line(
                time=datetime(2024, 1, 1, 0, 0, p % 60, tzinfo=UTC),
                text=text,
                value={"p": str(p)} if p % 2 else None,
                origin=origin,
                position=p,
            )
            for p in positions
        ],
    )


def counts(*positions: int, origin: str = "/in/a") -> pa.Table:
    return table_of(COUNT, [Count(value=p, origin=origin, position=p) for p in positions])


def read(path: Path) -> list[dict[str, Any]]:
    """All lines of the file, by independent readers."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    elif path.suffix == ".zst":
        with zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True) as stream:
            data = stream.read()
    return [json.loads(line) for line in data.splitlines()]


def order(path: Path) -> list[tuple[str, int, str]]:
    return [(row["origin"], row["position"], row["record_type"]) for row in read(path)]


@pytest.fixture(params=ENDINGS)
def driver(tmp_path: Path, request: Any) -> SinkDriver:
    return SinkDriver(JsonlSink(str(tmp_path / f"out{request.param}")))


@pytest.fixture
def plain(tmp_path: Path) -> SinkDriver:
    return SinkDriver(JsonlSink(str(tmp_path / "out.jsonl")))


def file_of(driver: SinkDriver) -> Path:
    return Path(driver.sink.location)


def test_lines_have_the_shape_of_the_events_model(plain: SinkDriver) -> None:
    plain.commit({"a": [(LINE, lines(3))]})
    assert read(file_of(plain)) == [
        {
            "record_type": "demo.line",
            "time": "2024-01-01T00:00:03.000000Z",
            "end_time": None,
            "subject": 'say "hi"\n',
            "host": None,
            "pid": None,
            "thread": None,
            "user": None,
            "job": None,
            "layer": "job",
            "level": "client",
            "origin": "/in/a",
            "position": 3,
            "data": {
                "time": "2024-01-01T00:00:03.000000Z",
                "text": 'say "hi"\n',
                "value": {"p": "3"},
            },
        }
    ]


def test_record_types_of_a_partition_are_merged_by_position(driver: SinkDriver) -> None:
    driver.commit(
        {
            "a": [(LINE, lines(1, 4)), (COUNT, counts(2, 4)), (LINE, lines(5)), (COUNT, counts(9))],
            "b": [(COUNT, counts(1, origin="/in/b"))],
        }
    )
    assert order(file_of(driver)) == [
        ("/in/a", 1, "demo.line"),
        ("/in/a", 2, "demo.count"),
        ("/in/a", 4, "demo.count"),
        ("/in/a", 4, "demo.line"),
        ("/in/a", 5, "demo.line"),
        ("/in/a", 9, "demo.count"),
        ("/in/b", 1, "demo.count"),
    ]
    assert [f.record_type for f in driver.files["a"]] == ["events"]
    assert [f.record_type for f in driver.files["b"]] == ["demo.count"]


def test_rows_out_of_order_are_sorted(driver: SinkDriver) -> None:
    driver.commit({"a": [(LINE, lines(5, 6)), (LINE, lines(1, 2, 5, text="later"))]})
    found = [(row["position"], row["subject"] == "later") for row in read(file_of(driver))]
    assert found == [(1, True), (2, True), (5, False), (5, True), (6, False)]


def test_unchanged_pieces_are_kept_byte_for_byte(driver: SinkDriver) -> None:
    driver.commit({key: [(LINE, lines(1, 2, origin=key))] for key in "abc"})
    kept = piece(driver, "c")
    driver.commit({"b": [(LINE, lines(1, 2, 3, 4, origin="b"))]})
    assert piece(driver, "c") == kept
    assert [origin for origin, _, _ in order(file_of(driver))] == list("aabbbbcc")
    driver.commit({"a": None})
    assert piece(driver, "c") == kept
    assert [origin for origin, _, _ in order(file_of(driver))] == list("bbbbcc")
    driver.commit({"b": None, "c": None})
    assert file_of(driver).read_bytes() == b""


def piece(driver: SinkDriver, key: str) -> bytes:
    [part] = driver.files[key]
    assert part.offset is not None
    return file_of(driver).read_bytes()[part.offset : part.offset + part.size_bytes]


def test_between_manifest_and_rename_readers_see_the_new_rows(driver: SinkDriver) -> None:
    driver.commit({"a": [(LINE, lines(1))], "b": [(LINE, lines(5))]})
    publication = driver.stage({"a": [(LINE, lines(2, 3))]})
    driver.publish(publication)  # the manifest is in force, the file not yet renamed
    assert driver.scan(LINE).collect()["position"].to_list() == [2, 3, 5]
    driver.recover(publication.token)
    assert driver.scan(LINE).collect()["position"].to_list() == [2, 3, 5]
    assert [row["position"] for row in read(file_of(driver))] == [2, 3, 5]


def test_a_query_begun_before_a_commit_is_told_to_begin_again(plain: SinkDriver) -> None:
    plain.commit({"a": [(LINE, lines(1))]})
    scan = plain.scan(LINE)
    plain.commit({"a": [(LINE, lines(2, 3))]})
    with pytest.raises(Exception, match="changed since it was opened"):
        scan.collect()


def test_a_damaged_piece_is_not_carried_into_the_next_file(driver: SinkDriver) -> None:
    driver.commit({"a": [(LINE, lines(1))], "b": [(LINE, lines(2))]})
    path = file_of(driver)
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    with pytest.raises(DatasetError, match="not what was written"):
        driver.publish(driver.stage({"a": [(LINE, lines(3))]}))


def test_a_damaged_line_is_told_with_its_file(plain: SinkDriver) -> None:
    plain.commit({"a": [(LINE, lines(1))]})
    path = file_of(plain)
    path.write_bytes(path.read_bytes().replace(b'"p":"1"', b'"p":"1,'))
    with pytest.raises(Exception, match="a line of demo") as error:
        plain.scan(LINE).collect()
    assert str(path) in str(error.value)


def test_the_mode_of_the_file_is_kept(plain: SinkDriver) -> None:
    plain.commit({"a": [(LINE, lines(1))]})
    file_of(plain).chmod(0o640)
    plain.commit({"a": [(LINE, lines(2))]})
    assert file_of(plain).stat().st_mode & 0o777 == 0o640


def test_state_and_root_lie_beside_the_file(tmp_path: Path) -> None:
    sink = JsonlSink(str(tmp_path / "out.jsonl.gz"))
    assert sink.root == tmp_path
    assert sink.state == tmp_path / "out.jsonl.gz._harvest"


def test_files_of_others_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text("{}\n")
    with pytest.raises(UsageError, match="was not written by harvest"):
        JsonlSink(str(path)).check()
    path.unlink()
    path.mkdir()
    with pytest.raises(UsageError, match="is a directory"):
        JsonlSink(str(path)).check()


@pytest.mark.slow
def test_a_full_disk_is_an_error_of_the_system(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this system")
    for ending in ENDINGS:
        sink = JsonlSink(str(tmp_path / f"out{ending}"))
        (tmp_path / f"out{ending}").symlink_to("/dev/full")
        writer = sink.writer(tmp_path, "part")
        writer_fails(writer)
        writer.abort()


def writer_fails(writer: Any) -> None:
    def write_all() -> None:
        writer.write(LINE, lines(*range(1, 3_000)))
        writer.close()

    with pytest.raises(OSError, match="No space left"):
        write_all()


# --- merging, compared with sorted() --------------------------------------------------------------

POSITIONS = st.lists(st.integers(1, 12), max_size=8)
BATCHES = st.lists(st.tuples(st.sampled_from([lines, counts]), POSITIONS), max_size=8)


@pytest.mark.slow
@given(BATCHES, st.booleans(), st.sampled_from(ENDINGS))
def test_any_batches_come_out_in_order(
    tmp_path_factory: Any, batches: Any, rising: bool, ending: str
) -> None:
    # given batches of two record types, each in order of position or not
    path = tmp_path_factory.mktemp("merge") / f"out{ending}"
    seen: dict[Any, int] = {lines: 0, counts: 0}
    made = []
    for make, found in batches:
        positions = [p + seen[make] for p in sorted(found)] if rising else found
        seen[make] = positions[-1] if rising and positions else seen[make]
        made.append((make, positions))
    kinds = {lines: LINE, counts: COUNT}
    driver = SinkDriver(JsonlSink(str(path)))
    driver.commit({"a": [(kinds[make], make(*positions)) for make, positions in made]})
    # then all rows are there, by position and record type
    expected = [(p, kinds[make].name) for make, positions in made for p in positions]
    assert [(row["position"], row["record_type"]) for row in read(path)] == sorted(expected)


def test_merging_holds_blocks_not_spools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harvest_jsonl.codecs.BLOCK_BYTES", 500)
    driver = SinkDriver(JsonlSink(str(tmp_path / "out.jsonl")))
    rows = [(LINE, lines(*range(1, 200, 2))), (COUNT, counts(*([7] * 50), *range(8, 200, 2)))]
    driver.commit({"a": rows})
    found = [(row["position"], row["record_type"]) for row in read(file_of(driver))]
    assert found == sorted(found)
    assert len(found) == 246
    assert attrs.asdict(driver.files["a"][0])["rows"] == 246
