"""Dumps of any names and delimiters, against a plain and slow reading of what sacct writes.

What is put together is exact: a row is a record that was written, and a record is a row or its
lines are rejects.  Where a text can be read in one way only, that way is found.
"""

import csv
import io
import tempfile
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
import sacct_records
from hypothesis import example, given
from hypothesis import strategies as st
from sacct_records import Record

from harvest import ReadContext
from harvest_slurm.read.csvtext import settle
from harvest_slurm.read.layout import find_layout
from harvest_slurm.read.text import read_text

pytestmark = pytest.mark.slow

HEADERS = [
    ["JobID", "JobName", "State", "ExitCode", "Elapsed"],
    ["JobName", "JobID", "State", "Elapsed"],
    ["JobID", "User", "State", "JobName"],
    ["JobID", "JobName", "Comment", "State"],
]
MARKS = ["|", ",", ";", "\t", "\x1f", ";|;", "::", '"', "~~sep~~", "¦", "||", ", "]
NAMES = st.text(st.sampled_from('ab|,;:"\n \x1f'), max_size=8).filter(
    # sacct's own way of writing a name has no line end or blank at its ends
    lambda name: name == name.strip()
)


def record(number: int, header: list[str], name: str, comment: str) -> Record:
    """A record of the columns of a header."""
    fields = {
        "JobID": f"{number}.batch" if number % 3 == 0 else str(number),
        "JobName": name,
        "Comment": comment,
        "User": "ann",
        "State": "COMPLETED",
        "ExitCode": "0:0",
        "Elapsed": "00:00:05",
    }
    return tuple(fields[column] for column in header)


def read(text: str, block: int, **known: Any) -> tuple[dict[int, Record], ReadContext, str]:
    """Rows by their positions, what was reported on the way, and the kind of layout."""
    data = text.encode()
    ctx = ReadContext("x", Path(tempfile.gettempdir()))
    layout = find_layout(data, where="x", **known)
    if layout.kind == "csv":
        layout = settle(io.BytesIO(data), layout, ctx)
    rows = {}
    for raw in read_text(io.BytesIO(data), layout, ctx, block_bytes=block):
        columns = [raw.column(name).text.to_pylist() for name in raw.names]
        rows.update(zip(raw.position.tolist(), zip(*columns, strict=True), strict=True))
    return rows, ctx, layout.kind


def rejects_of_all_other_lines(
    text: str, first: int, mark: str, end: str, rows: dict[int, Record], ctx: ReadContext
) -> set[int]:
    """Lines that are rejects.  Each line from the first on is of one row, a reject or a fold."""
    lines = text.split("\n")[:-1]
    left = set(range(first, len(lines) + 1))
    for position, fields in rows.items():
        written = (mark.join(fields) + end).split("\n")
        assert lines[position - 1 :][: len(written)] == written
        own = set(range(position, position + len(written)))
        assert own <= left
        left -= own
    rejected = {reject.position for reject in ctx.rejects if reject.position is not None}
    assert rejected <= left
    assert len(left - rejected) == sum(ctx.folded_by.values())
    return rejected


@given(
    st.sampled_from(HEADERS),
    st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=4),
    st.sampled_from(MARKS),
    st.booleans(),
    st.booleans(),
    st.integers(1, 400),
)
@example(HEADERS[2], [(";\nb;a", "")], ";", True, True, 400)
def test_what_sacct_writes_is_read_or_refused(
    header: list[str],
    made: list[tuple[str, str]],
    mark: str,
    trailing: bool,
    headed: bool,
    block: int,
) -> None:
    # given records of sacct, written as sacct writes them
    # (without header most have plain names, by which the dump shows how it is laid out)
    named = [*[("plain", "text")] * (0 if headed else 9), *made]
    records = [record(n, header, *names) for n, names in enumerate(named, start=1)]
    end = mark if trailing else ""
    body = "".join(mark.join(fields) + end + "\n" for fields in records)
    text = (mark.join(header) + end + "\n" if headed else "") + body
    # when they are read with the delimiter that was given to sacct
    rows, ctx, _ = read(text, block, delimiter=mark, columns=header)
    # then each row is, at its lines, what sacct writes for it; all other lines are accounted for
    rejected = rejects_of_all_other_lines(text, 1 + headed, mark, end, rows, ctx)
    # and where only one list of records can have been written so, no row is anything else
    readings = sacct_records.readings(body, header, mark, trailing=trailing)
    assert records in readings or len(readings) == 2
    if len(readings) == 1:
        places = accumulate((1 + "".join(fields).count("\n") for fields in records), initial=1)
        expected = dict(zip((place + headed for place in places), records, strict=False))
        for position, fields in rows.items():
            # a name in the last column ends before a line that holds a delimiter: a reject
            after = position + 1 + "".join(fields).count("\n")
            whole, own = (mark.join(each) + end for each in (expected[position], fields))
            cut = whole.startswith(own + "\n") and after in rejected
            assert fields == expected[position] or (cut and header[-1] == "JobName")


ANY = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc"]) | st.sampled_from("|\n|"), max_size=12
)


@given(st.lists(ANY, max_size=12), st.integers(1, 400))
def test_names_last_are_always_exact(made: list[str], block: int) -> None:
    """With the name last and a delimiter that no name holds, every name survives (slurm:live).

    All but line ends of the file's last name, which may as well be empty lines after it.
    """
    records = [("JobID", "State", "JobName")]
    records += [(str(n), "FAILED", name) for n, name in enumerate([*made, "last"], start=1)]
    rows, ctx, _ = read("".join("\x1f\x1e".join(each) + "\n" for each in records), block)
    assert list(rows.values()) == records[1:]
    assert not ctx.rejects


COMMAS = st.text(st.sampled_from('ab,"\n'), max_size=6).filter(lambda name: name == name.strip())


@given(st.sampled_from(HEADERS[:3]), st.lists(COMMAS, min_size=1, max_size=5), st.integers(1, 400))
def test_raw_commas_are_not_taken_for_csv(header: list[str], made: list[str], block: int) -> None:
    """``sacct --parsable2 --delimiter=,`` and no setting: quotes are part of names."""
    records = [record(n, header, name, "") for n, name in enumerate(made, start=1)]
    body = "".join(",".join(fields) + "\n" for fields in records)
    text = ",".join(header) + "\n" + body
    rows, ctx, kind = read(text, block)
    if kind == "text":
        rejects_of_all_other_lines(text, 2, ",", "", rows, ctx)
        return
    # else programs for tables write the same text, and no records became one
    quoted = sacct_records.csv_records(body)
    assert '"' in body
    assert quoted is not None
    assert len(quoted) >= len(records)
    assert rows == {
        place: fields for place, fields in enumerate(quoted, start=2) if len(fields) == len(header)
    }
    assert len(rows) + len(ctx.rejects) + ctx.folded_by["blank line"] == len(quoted)


@given(
    st.lists(st.tuples(COMMAS, COMMAS), min_size=1, max_size=8),
    st.sampled_from([(",", csv.QUOTE_MINIMAL), *((mark, csv.QUOTE_ALL) for mark in ",;\t")]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.integers(1, 400),
)
def test_what_programs_for_tables_write_is_read_as_they_mean_it(
    made: list[tuple[str, str]], how: tuple[str, Any], line_end: str, index: bool, block: int
) -> None:
    header = ["JobName", "JobID", "State", "Comment"]
    records = [record(n, header, *names) for n, names in enumerate(made, start=1)]
    if index:  # as pandas and R write one
        header, records = ["", *header], [(str(n), *fields) for n, fields in enumerate(records)]
    text = io.StringIO()
    writer = csv.writer(text, delimiter=how[0], quoting=how[1], lineterminator=line_end)
    writer.writerows([header, *records])
    rows, ctx, _ = read(text.getvalue(), block)
    assert not ctx.rejects
    assert not ctx.folded_by
    assert list(rows.values()) == records


def test_a_quote_out_of_place_costs_its_line_where_names_of_columns_are_quoted() -> None:
    lines = ['"JobID","JobName","State"', '"1","a","FAILED"', '"2","b"c","FAILED"']
    lines += ['"3","two', 'lines","FAILED"', '"4","never closed,FAILED', '"5","e","FAILED"']
    for block in range(1, 130):
        rows, ctx, kind = read("\n".join(lines), block)
        assert kind == "csv"
        assert rows == {
            2: ("1", "a", "FAILED"),
            4: ("3", "two\nlines", "FAILED"),
            6: ("5", "e", "FAILED"),
        }
        assert [(r.position, r.raw) for r in ctx.rejects] == [
            (3, lines[2].encode()),
            (5, lines[5].encode()),
        ]
