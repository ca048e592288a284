"""Tables without a header: known by the order of their columns, or refused."""

import gzip
import re

import pytest

from harvest import SourceError, collect
from harvest_ncem.source import NcemSource

RECEIVERS = "scan_number,time0,time1,time2,time3"
TIMES = [f"2023-10-16T15:30:4{second}+00:00" for second in range(6)]
ROWS = [f"47{number},{','.join(TIMES[:4])}" for number in range(28, 40)]
TABLES = {
    "receivers": (RECEIVERS, [*ROWS, f"4740,{TIMES[0]},,nan,{TIMES[3]}+00:00"]),
    "last write": (f"{RECEIVERS},time_last_written", [f"{row},{TIMES[5]}" for row in ROWS]),
    "files": (
        "distiller_id,scan_number,datetime",
        [f"0{number},2{number},2023-10-13 09:45:{number}" for number in range(10, 22)]
        + [",2722,2023-10-13 09:46:00", "x,2723,2023-10-13 09:46:00"],
    ),
}


def read(path):
    found = collect(NcemSource(str(path)))
    assert found.accounted == found.units
    return found


def without_position(found):
    own = ("position", "line", "origin", "id")
    kept = {
        name: [{k: v for k, v in row.items() if k not in own} for row in found.rows(name)]
        for name in ("ncem.receiver_status", "ncem.data_file")
    }
    return kept, [(reject.raw, reject.reason) for reject in found.rejects], found.filtered


@pytest.mark.parametrize("table", TABLES)
def test_a_table_gives_the_same_rows_without_its_header_and_compressed(tmp_path, table):
    header, rows = TABLES[table]
    whole, cut = tmp_path / "whole.csv", tmp_path / "cut.csv.gz"
    whole.write_text("\n".join([header, *rows]) + "\n")
    packed = gzip.compress(("\n".join(rows) + "\n").encode())
    cut.write_bytes(packed)
    # when both are read
    expected, found = read(whole), read(cut)
    # then only the lines' numbers differ, and what was assumed is said
    assert without_position(found) == without_position(expected)
    assert f"taken as {header.replace(',', ', ')}, the one known order" in found.notes[0]
    assert not any("no header" in note for note in expected.notes)
    first = min(row["position"] for name in found.tables for row in found.rows(name))
    assert first == 1
    detected = NcemSource.detect(cut)
    assert 0.5 <= detected.confidence < NcemSource.detect(whole).confidence
    assert "without a header" in detected.reason
    cut.write_bytes(packed[:-8])
    with pytest.raises(SourceError, match="damaged or cut short"):
        read(cut)


def test_a_directory_reads_such_a_table_and_counts_strangers(tmp_path):
    """Given a table without a header beside foreign CSVs, then it alone is read."""
    _, rows = TABLES["last write"]
    (tmp_path / "write_times.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "prices.csv").write_text("1,2,3.5\n")
    (tmp_path / "named.csv").write_text("a,b,c\n1,2,2023-10-13 09:45:10\n")
    found = read(tmp_path)
    assert len(found.rows("ncem.receiver_status")) == 4 * len(rows)
    assert sum(found.filtered.values()) == 2


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1,2,00:00:10\n", r"line 1: datetime is '00:00:10'"),
        ("a,b,c\n1,2,2023-10-13 09:45:10\n", r"one of the experiment's$"),
        (f"1,{TIMES[0]},{TIMES[1]}\n", r"line 1: scan_number is '2023-10-16"),
        ("1,,,,\n2,,,,\n", "nothing in its lines shows"),
    ],
)
def test_lines_of_something_else_are_refused(tmp_path, text, why):
    path = tmp_path / "other.csv"
    path.write_text(text)
    assert NcemSource.detect(path) is None
    with pytest.raises(SourceError) as caught:
        read(path)
    assert re.search(why, caught.value.message)
