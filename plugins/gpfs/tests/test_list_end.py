"""A list that ends inside a line is incomplete, however long that line is."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from policy_lists import layout_of, line, listing, row

from harvest import ReadContext
from harvest_gpfs.parse.counting import Before
from harvest_gpfs.parse.reading import Reading
from harvest_toolkit.streams import open_stream

GOOD = listing([row()], "record", "percent")
LONG = line(row(), "record", "percent") + b"x" * 3000


def rejects_of(path: Path, block_bytes: int) -> list[tuple[int, str]]:
    """Lines and reasons of the rejects of a list, after one row."""
    ctx = ReadContext(path.name, path.parent)
    reading = Reading(layout_of(GOOD), ctx, Before(), to_end=True)
    with open_stream(path) as stream:
        assert sum(table.num_rows for table in reading.tables(stream, block_bytes)) == 1
    return [(reject.position, reject.reason) for reject in ctx.rejects]


@pytest.mark.parametrize("block_bytes", [1000, 1 << 20])
@pytest.mark.parametrize("cut", [1, 3000])
def test_a_list_that_ends_inside_a_line_is_incomplete(tmp_path, block_bytes, cut):
    (tmp_path / "list").write_bytes(GOOD + LONG[:-cut])
    said = "the list ends inside this line: it is incomplete"
    assert rejects_of(tmp_path / "list", block_bytes) == [(2, said)]


@pytest.mark.parametrize("block_bytes", [1000, 1 << 20])
def test_a_stream_that_is_cut_inside_a_line_gives_one_reject(tmp_path, block_bytes):
    # given a packed list without the eight bytes that end its stream
    (tmp_path / "list.gz").write_bytes(gzip.compress(GOOD + LONG)[:-8])
    said = "the gzip stream is cut short: it is incomplete"
    assert rejects_of(tmp_path / "list.gz", block_bytes) == [(2, said)]


def test_a_long_line_with_its_end_is_a_reject_of_its_own(tmp_path):
    (tmp_path / "list").write_bytes(GOOD + LONG + b"\n")
    ((number, reason),) = rejects_of(tmp_path / "list", 1000)
    assert number == 2
    assert reason.startswith(f"a line of {len(LONG)} bytes, longer than any path makes it")
