"""Tables of a report on a terminal of any width."""

import polars as pl
import pytest
from drawn_frames import frames
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from harvest import columns as kinds
from harvest_report import Column, Report, Table, with_others

ADDRESSES = [f"tcp://10.9.0.{n}:4010{n}" for n in range(1, 4)]


def test_an_address_in_a_report_does_not_break():
    rows = pl.DataFrame(
        {"source": ADDRESSES, "target": ADDRESSES[::-1], "bytes": [10**9] * 3, "by": ["x y z"] * 3}
    )
    columns = [Column("source", format="id"), Column("target", format="id"), Column("bytes"),
               Column("by", "reported by")]  # fmt: skip
    lines = Report("r", sections=[Table("t", rows, columns)]).text(60).splitlines()
    assert lines[5:] == [
        "tcp://1….1:40101 tcp://1….3:40103 1,000,000,000 x y z",
        "tcp://1….2:40102 tcp://1….2:40102 1,000,000,000 x y z",
        "tcp://1….3:40103 tcp://1….1:40101 1,000,000,000 x y z",
    ]


def test_a_report_writes_addresses_in_full_to_a_file():
    table = Table("t", pl.DataFrame({"worker": ADDRESSES}), [Column("worker", format="id")])
    page = Report("r", sections=[table])
    assert all(address in page.latex().replace("{}", "") for address in ADDRESSES)
    assert page.to_dict()["sections"][0]["rows"][0]["worker"] == ADDRESSES[0]


def test_each_part_of_a_table_begins_with_what_names_its_rows():
    """Given two programs of one name, then the further part has their jobs, too."""
    frame = pl.DataFrame(
        {"program": ["a", "a"], "job": ["7", "8"], "first": [10**12] * 2, "second": [10**12] * 2}
    )
    lines = Report("r", sections=[Table("t", frame)]).text(34).splitlines()
    assert lines[3:] == [
        "program  job              first",
        "───────────────────────────────",
        "a        7    1,000,000,000,000",
        "a        8    1,000,000,000,000",
        "",
        "program  job             second",
        "───────────────────────────────",
        "a        7    1,000,000,000,000",
        "a        8    1,000,000,000,000",
    ]


@pytest.mark.slow
@given(frames(kinds=(pl.Int64, pl.String)), st.integers(40, 120))
def test_a_report_shows_all_its_numbers_at_any_width(frame, width):
    text = Report("r", sections=[Table("t", frame)]).text(width)
    for name in frame.columns:
        if frame[name].dtype == pl.Int64:
            for value in frame[name].drop_nulls():
                assert f"{value:,}" in text
    assert all(cell_len(line) <= width for line in text.splitlines())


def shown_in(values, unit="GiB", scale=2**30, column="size"):
    """The unit of a column of bytes, and its cells, on a terminal."""
    table = Table("t", pl.DataFrame({column: values}), [Column(column, unit=unit, scale=scale)])
    lines = Report("r", sections=[table]).text(80).splitlines()[3:]
    rule = next(number for number, line in enumerate(lines) if line.startswith("─"))
    return " ".join(" ".join(lines[:rule]).split()), [cell.strip() for cell in lines[rule + 1 :]]


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        ([3 * 2**40, *[5 * 2**20] * 9], "MiB"),  # one giant among many small ones
        ([3 * 2**40, *[2**40] * 3, 2**20], "TiB"),  # one small one is no reason
        ([0, 0, 0, 7], "bytes"),
        ([0, None], "bytes"),  # nothing that a larger unit would suit
        ([0, None, 2**30], "GiB"),  # what is zero is small in any unit
        ([-(2**30), 2**30], "GiB"),
    ],
)
def test_a_column_of_bytes_has_the_unit_of_its_typical_values(values, unit):
    for declared, scale in (("GiB", 2**30), ("bytes", 1), ("B", 1), ("MB", 10**6)):
        head, cells = shown_in(values, declared, scale)
        assert head == f"size ({unit})"
        size = {"bytes": 1, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}[unit]
        for value, cell in zip(values, cells, strict=True):
            if value is not None and "<" not in cell:
                assert float(cell.replace(",", "")) == pytest.approx(value / size, abs=0.005)


def test_columns_of_bytes_have_a_common_unit_unless_they_are_far_apart():
    def heads(small, large):
        rows = pl.DataFrame({"small": [small] * 4, "large": [large] * 4, "rate": [2.5e3] * 4})
        columns = [Column("small", unit="GiB", scale=2**30), Column("large", unit="bytes"),
                   Column("rate", unit="MB/s")]  # fmt: skip
        lines = Report("r", sections=[Table("t", rows, columns)]).text(80).splitlines()[3:5]
        return [line.split() for line in lines]

    # 2.5e3 MB/s are 2.33 GiB/s
    names = ["small", "large", "rate"]
    assert heads(5 * 2**20, 2**30) == [names, ["(MiB)", "(MiB)", "(GiB/s)"]]
    assert heads(2**10, 2**40) == [names, ["(KiB)", "(TiB)", "(GiB/s)"]]


def test_ids_that_would_look_alike_are_folded():
    keys = [f"('sum-0123456789', {n}, 'end-of-a-long-key')" for n in range(3)]
    rows = pl.DataFrame({"key": keys, "n": [10**12] * 3})
    report = Report("r", sections=[Table("t", rows, [Column("key", format="id"), Column("n")])])
    assert [f", {n}," in report.text(40) for n in range(3)] == [True] * 3


def test_all_others_are_one_row_behind_those_shown():
    shown = pl.DataFrame({"user": ["ada", "bob"], "jobs": [9, 7], "median_s": [4.0, 5.0]})

    rows = with_others(shown, 1200, "user", pl.DataFrame({"jobs": [31]}))

    assert rows.rows() == [("ada", 9, 4.0), ("bob", 7, 5.0), ("(1,200 others)", 31, None)]
    assert rows.schema == shown.schema


def test_a_table_has_the_units_of_the_view_whose_columns_it_names():
    # given
    rows = pl.DataFrame({"user": ["bob"], "wait_s": [1.5], "pid": [41077], "share": [0.5]})
    of = (kinds.seconds("wait_s", "How long."), kinds.number("pid"), kinds.share("share"))

    # when
    columns = ("user", Column("wait_s", "wait"), "pid", Column("share", format=".1%"))
    shown = Table("waits", rows, columns, of=of).columns

    # then
    assert [c.heading for c in shown] == ["user", "wait (s)", "pid", "share"]
    assert [c.format for c in shown] == [None, None, "d", ".1%"]
    assert [c.doc for c in shown] == [None] * 4
