"""The source ncem: directories, files and tables; nothing is lost."""

import csv
import json
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import planning
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harvest import SourceError, collect, collect_partition
from harvest_ncem.config import NcemConfig
from harvest_ncem.source import OTHER, NcemSource


def told(**changes) -> bytes:
    """A receiver status with other values; a key given as ... is left out."""
    whole = {
        "time": "2023-10-16T15:30:41.250000+00:00",
        "last_scan_number": 1,
        "progress": 100.0,
        "UUID": "0a1b2c3d-0001-4000-8000-00000000000f",
    }
    return json.dumps({k: v for k, v in (whole | changes).items() if v is not ...}).encode()


def status(folder: Path, receiver: int, scan: int, **changes) -> Path:
    path = folder / f"4dstem_rec_status_{receiver}_scan_{scan}.json"
    path.write_bytes(told(last_scan_number=scan, **changes))
    return path


def read(location: Path, **config):
    found = collect(NcemSource(str(location), NcemConfig(**config)))
    assert found.accounted == found.units
    return found


def test_a_directory_gives_statuses_and_files(tmp_path):
    # given two receivers, a data file, a log, an HDF5 file and a stranger
    status(tmp_path, 0, 12)
    status(tmp_path, 2, 12, time="2023-10-16T15:30:40+00:00+00:00", progress=5, note="x")
    for name in (
        "data_scan0000000012_module3.data",
        "log_scan12.txt",
        "FOURD_231016_0830_00007_00012.h5",
    ):
        (tmp_path / name).write_bytes(b"abc")
        os.utime(tmp_path / name, ns=(0, 1_697_470_245_123_456_789))
    (tmp_path / "notes.txt").write_text("hello")
    # when the directory is read
    found = read(tmp_path)
    # then every file is a row or counted
    first, second = found.rows("ncem.receiver_status")
    assert first["time"] == datetime(2023, 10, 16, 15, 30, 41, 250000, tzinfo=UTC)
    assert (first["scan_number"], first["receiver"], first["progress"]) == (12, 0, 100.0)
    assert first["origin"] == str(tmp_path / "4dstem_rec_status_0_scan_12.json")
    assert second["time"] == datetime(2023, 10, 16, 15, 30, 40, tzinfo=UTC)
    assert second["extra"] == [("note", "x")]
    assert any("doubled" in note for note in found.notes)
    files = found.rows("ncem.data_file")
    assert sorted(row["kind"] for row in files) == ["data", "h5", "log"]
    assert {row["size_bytes"] for row in files} == {3}
    assert {row["modify_time"] for row in files} == {
        datetime(2023, 10, 16, 15, 30, 45, 123456, tzinfo=UTC)
    }
    assert {row["distiller_id"] for row in files} == {7, None}
    assert found.filtered == {OTHER: 1}


def test_an_empty_uuid_is_none(tmp_path):
    # given a status without a UUID, and its time in a table
    status(tmp_path, 0, 7, UUID="")
    (tmp_path / "times.csv").write_text("scan_number,time0\n7,2023-10-16T15:30:41.25+00:00\n")
    found = read(tmp_path).rows("ncem.receiver_status")
    # then both are of one take
    assert [row["uuid"] for row in found] == [None, None]


def test_offsets_are_applied_and_recorded(tmp_path):
    status(tmp_path, 1, 5)
    (tmp_path / "FOURD_231016_0830_00007_00005.h5").touch()
    found = read(tmp_path, clock_offset={"1": "-27ms", "nersc": "2m"})
    (row,) = found.rows("ncem.receiver_status")
    assert row["clock_offset_s"] == -0.027
    assert row["recorded_time"] == datetime(2023, 10, 16, 15, 30, 41, 250000, tzinfo=UTC)
    assert row["time"] == row["recorded_time"] - timedelta(milliseconds=27)
    (file,) = found.rows("ncem.data_file")
    assert file["modify_time"] - file["recorded_time"] == timedelta(minutes=2)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b'{"time": "2023-10-16T15:30:41+00', "damaged JSON"),
        (b"", "the file is empty"),
        (b"[1, 2]", "the JSON is not an object"),
        (told(time=...), "key 'time' is missing"),
        (told(time=5), "time is 5, not a text"),
        (told(last_scan_number="1"), "last_scan_number is 1, not a whole number"),
        (told(progress=True), "progress is true, not a number"),
        (told(time="2023-03-12T02:30:00"), "does not exist in America/Los_Angeles"),
        (b"\xff\xfe{}", "damaged JSON"),
    ],
)
def test_a_damaged_status_is_kept_as_a_reject(tmp_path, raw, reason):
    status(tmp_path, 0, 1)
    broken = tmp_path / "4dstem_rec_status_1_scan_1.json"
    broken.write_bytes(raw)
    found = read(tmp_path)
    assert len(found.rows("ncem.receiver_status")) == 1
    (reject,) = found.rejects
    assert reject.origin == str(broken)
    assert reject.raw == raw
    assert reason in reject.reason


@pytest.mark.parametrize("size", [4_095, 4_096, 4_097, 2**20, 2**20 + 1])
def test_a_status_of_up_to_a_mebibyte_is_read_whole(tmp_path, size):
    # given a status of so many bytes
    path = status(tmp_path, 0, 1, note="")
    status(tmp_path, 0, 1, note="x" * (size - path.stat().st_size))
    assert path.stat().st_size == size

    found = read(tmp_path)

    # then it has its whole note, or is a reject
    if size <= 2**20:
        (row,) = found.rows("ncem.receiver_status")
        assert json.loads(path.read_text())["note"] == dict(row["extra"])["note"]
    else:
        (reject,) = found.rejects
        assert reject.reason.startswith("larger than 1048576 bytes, so not a receiver status")


def test_a_file_that_vanishes_is_a_reject(tmp_path):
    gone = status(tmp_path, 0, 1)
    data = tmp_path / "data_scan0000000001_module0.data"
    data.touch()
    source = NcemSource(str(tmp_path))
    partitions = list(source.plan())
    gone.unlink()
    data.unlink()
    rejects = [r for p in partitions for r in collect_partition(source, p).rejects]
    assert [Path(r.origin).name for r in rejects] == [gone.name, data.name]
    assert all("vanished" in r.reason for r in rejects)


def test_an_override_beside_the_first_scan_keeps_both(tmp_path):
    # given a status, and in a subdirectory the one that it replaced
    status(tmp_path, 0, 9, UUID="new", time="2023-10-16T16:00:00Z")
    (tmp_path / "before").mkdir()
    status(tmp_path / "before", 0, 9, UUID="old", time="2023-10-16T15:00:00Z")
    rows = read(tmp_path).rows("ncem.receiver_status")
    assert {(row["scan_number"], row["uuid"]) for row in rows} == {(9, "new"), (9, "old")}


def test_groups_of_files_stay_stable_when_scans_come(tmp_path):
    # given scans of two groups
    for scan in (1, 499, 500):
        status(tmp_path, 0, scan)
        (tmp_path / f"data_scan{scan:010d}_module0.data").touch()
    before = {p.id: p for p in NcemSource(str(tmp_path)).plan()}
    assert sorted(before) == [
        "files-0000000000",
        "files-0000000500",
        "status-0000000000",
        "status-0000000500",
    ]
    # when a scan is added to the last group
    status(tmp_path, 1, 500)
    (tmp_path / "data_scan0000000501_module0.data").touch()
    after = {p.id: p for p in NcemSource(str(tmp_path)).plan()}
    # then the other groups did not change, and the last did
    for name in ("files-0000000000", "status-0000000000"):
        assert after[name] == before[name]
    assert after["files-0000000500"].fingerprint != before["files-0000000500"].fingerprint
    assert len(after["status-0000000500"].inputs) == 2


def test_files_of_one_directory_are_planned_without_listing_others(tmp_path):
    folders = [tmp_path / name for name in ("a", "b")]
    for folder in folders:
        folder.mkdir()
        for scan in (1, 500):
            status(folder, 0, scan)
    source = NcemSource(str(tmp_path))
    plan = list(source.plan())
    shutil.rmtree(folders[1])

    given = source.plan_files([folders[0] / "gone.json"])

    assert given == [partition for partition in plan if partition.origin == str(folders[0])]
    assert len(given) == 2


CHANGES = st.dictionaries(
    st.sampled_from(
        [
            f"{at}{name}"
            for at in ("", "a/", "a/b/")
            for name in (
                *("4dstem_rec_status_0_scan_1.json", "4dstem_rec_status_3_scan_1.json"),
                *("4dstem_rec_status_0_scan_700.json", "data_scan0000000002_module1.data"),
                *("times.csv", "notes.txt"),
            )
        ]
    ),
    st.sampled_from(["scan_number,time0,time1\n", "other\n", "", None]),
)


@given(first=CHANGES, second=CHANGES)
def test_partitions_of_changed_files_are_those_of_a_new_plan(tmp_path_factory, first, second):
    root = tmp_path_factory.mktemp("scans")
    planning.change(root, {"log_scan1": "so that there is always something to read", **first})
    assert planning.require_changes_planned(NcemSource(str(root)), root, second)


def test_a_single_file_is_its_own_partition(tmp_path):
    # its origin is not the directory, whose other files it does not stand for
    path = status(tmp_path, 0, 1)
    assert NcemSource.detect(path).confidence > 0.9
    (partition,) = NcemSource(str(path)).plan()
    assert (partition.origin, partition.inputs) == (str(path), (str(path),))
    assert len(read(path).rows("ncem.receiver_status")) == 1


def test_a_place_without_anything_of_the_experiment_is_an_error(tmp_path):
    (tmp_path / "notes.txt").touch()
    with pytest.raises(SourceError, match="holds no receiver status"):
        list(NcemSource(str(tmp_path)).plan())
    with pytest.raises(SourceError, match="no such file"):
        list(NcemSource(str(tmp_path / "absent")).plan())
    with pytest.raises(SourceError, match="neither the name nor the header"):
        collect(NcemSource(str(tmp_path / "notes.txt")))


def test_cells_of_a_receiver_table_are_counted_one_by_one(tmp_path):
    table = tmp_path / "write_times.csv"
    table.write_bytes(
        b"scan_number,time0,time1,time2,time3,time_last_written,operator\r\n"
        b"7,2023-10-16T15:30:41+00:00,,2023-10-16T15:30:43+00:00+00:00,soon,"
        b"2023-10-16 08:30:45,Ann\r\n"
        b"\r\n"
        b"x,2023-10-16T15:30:41+00:00,,,,,Ann\r\n"
        b"8,1,2\r\n"
        b"9,,,,,,Ben \xff\r\n"
        b'"10",2023-10-16T15:30:41Z,,,,,"Ben, Jr."'
    )
    found = read(table)
    rows = found.rows("ncem.receiver_status")
    assert [(r["scan_number"], r["receiver"], r["line"], r["position"]) for r in rows] == [
        (7, 0, 2, 1),
        (7, 2, 2, 3),
        (10, 0, 7, 21),
    ]
    assert rows[0]["extra"] == [("operator", "Ann")]
    assert rows[2]["extra"] == [("operator", "Ben, Jr.")]
    (last,) = found.rows("ncem.data_file")
    assert last["kind"] == "data"
    assert last["modify_time"] == datetime(2023, 10, 16, 15, 30, 45, tzinfo=UTC)
    reasons = {(r.position, r.reason) for r in found.rejects}
    assert (2, "time3 of scan 7: no ISO 8601 time") in reasons
    assert (4, "scan_number 'x' is not a number") in reasons
    assert (5, "3 fields where the header has 7") in reasons
    assert any(p == 6 and "not UTF-8" in reason for p, reason in reasons)
    assert found.filtered == {"blank line": 1, "receiver or file without a time": 5}


def test_a_quoted_cell_may_hold_a_line_end_and_blanks_are_a_blank_line(tmp_path):
    table = tmp_path / "write_times.csv"
    table.write_text(
        "scan_number,time0,operator\n"
        '7,2023-10-16T15:30:41Z,"Ann\nand Ben"\n'
        "  \t\n"
        "8,2023-10-16T15:31:41Z,Ann\n"
    )
    found = read(table)
    rows = found.rows("ncem.receiver_status")
    assert [(row["scan_number"], row["line"]) for row in rows] == [(7, 2), (8, 5)]
    assert rows[0]["extra"] == [("operator", "Ann\nand Ben")]
    assert found.filtered == {"blank line": 1}
    assert not found.rejects


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(
            st.integers(0, 9999),
            st.lists(
                st.one_of(
                    st.just(""),
                    st.just("junk"),
                    st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)).map(
                        lambda t: t.isoformat() + "+00:00"
                    ),
                ),
                min_size=4,
                max_size=4,
            ),
        ),
        max_size=20,
    )
)
def test_receiver_tables_agree_with_the_csv_module(tmp_path_factory, lines):
    table = tmp_path_factory.mktemp("t") / "times.csv"
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["scan_number", "time0", "time1", "time2", "time3"])
        writer.writerows([scan, *times] for scan, times in lines)
    found = read(table) if lines else collect(NcemSource(str(table)))
    with table.open(newline="") as file:
        expected = [
            (int(row["scan_number"]), n, datetime.fromisoformat(row[f"time{n}"]))
            for row in csv.DictReader(file)
            for n in range(4)
            if row[f"time{n}"] not in ("", "junk")
        ]
    rows = found.rows("ncem.receiver_status")
    assert [(r["scan_number"], r["receiver"], r["time"]) for r in rows] == expected
    assert len({r["position"] for r in rows}) == len(rows)
    assert len(found.rejects) == sum(times.count("junk") for _, times in lines)


def test_write_times_at_nersc_are_local_unless_declared_otherwise(tmp_path):
    table = tmp_path / "scan_times.csv"
    table.write_text(
        "distiller_id,scan_number,datetime\n"
        "02209,2709,2023-10-13 09:45:14\n"
        "02210,2710,2023-03-12 02:30:00\n"
        ",2711,2023-11-05 01:30:00\n"
    )
    found = read(table)
    first, second = found.rows("ncem.data_file")
    assert (first["distiller_id"], first["scan_number"], first["kind"]) == (2209, 2709, "h5")
    assert first["modify_time"] == datetime(2023, 10, 13, 16, 45, 14, tzinfo=UTC)
    assert second["distiller_id"] is None
    assert second["modify_time"] == datetime(2023, 11, 5, 8, 30, tzinfo=UTC)
    (reject,) = found.rejects
    assert reject.position == 3
    assert "does not exist" in reject.reason
    assert any("read as America/Los_Angeles" in note for note in found.notes)
    in_utc = read(table, timezone="UTC").rows("ncem.data_file")[0]
    assert in_utc["modify_time"] == datetime(2023, 10, 13, 9, 45, 14, tzinfo=UTC)


def test_real_samples(shared_data):
    folder = shared_data / "ncem"
    for name, rows in {
        "ncem_file_created_times.head.csv": {"ncem.receiver_status": 100},
        "write_times.head.csv": {"ncem.receiver_status": 100, "ncem.data_file": 25},
        "scan_times_2709_3688.head.csv": {"ncem.data_file": 25},
    }.items():
        assert NcemSource.detect(folder / name).confidence >= 0.9
        found = read(folder / name)
        assert {t: table.num_rows for t, table in found.tables.items()} == rows
        assert not found.rejects
    for name in ("128_128.head.csv", "1024_1024.head.csv", "slurm_job_info.head.csv"):
        assert NcemSource.detect(folder / name) is None
