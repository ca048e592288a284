"""Rows on a terminal: what fits is shown, what does not is named, and --exact loses nothing."""

import io
import os
from contextlib import redirect_stdout
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from unittest import mock

import polars as pl
import pytest
from commands import harvest_here
from drawn_frames import frames
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from harvest import Column
from harvest.commands.tables import print_table
from harvest.toolkit.layout import fit, fold, shorten
from harvest_report.records import Style, print_records
from harvest_report.values import exact, texts_of

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "dask-run"


def printed(frame, *columns, width=80, total=None, **style) -> str:
    known = {column.name: column for column in columns}
    with (
        mock.patch.dict(os.environ, {"COLUMNS": str(width)}),
        redirect_stdout(io.StringIO()) as out,
    ):
        print_records("rows", frame, known, Style(**style), total=total)
    return out.getvalue()


# how a value is written


@pytest.mark.parametrize(
    ("values", "form", "texts"),
    [
        ([1204, None, 7], None, ["1,204", "–", "7"]),
        ([48060], "id", ["48060"]),
        ([7.066, 0.0123, 4.0], None, ["7.066", "0.012", "4.000"]),
        ([7.5, 12.25], None, ["7.50", "12.25"]),
        ([3.0, 12.0], None, ["3", "12"]),
        ([12137.213333, 0.0004], None, ["12,137.21", "<0.01"]),
        ([Decimal("123456789012345678901234567890")], None, ["1.235e+29"]),
        ([float("nan"), 1.5], None, ["nan", "1.5"]),
        ([5_242_880, 987], "bytes", ["5.00 MiB", "987 bytes"]),
        ([0.0032, 210.0, -42.0], "seconds", ["3.2 ms", "3.5 min", "-42 s"]),
        ([timedelta(seconds=42)], None, ["42 s"]),
        ([0.37, 1], "share", ["37 %", "100 %"]),
        ([93_784.0], "duration", ["1-02:03:04"]),
        ([True, False], None, ["yes", "no"]),
        ([["a", 1]], None, ['["a",1]']),
        (["a\x1b[31m"], None, ["a\\x1b[31m"]),
    ],
)
def test_a_value_is_written_for_people(values, form, texts):
    assert texts_of(values, form) == texts


def test_a_fraction_is_shown_where_a_plugin_declared_whole_numbers():
    assert "1.5" in printed(pl.DataFrame({"mean": [1.5]}), Column("mean", format="d"))


def test_times_have_the_digits_that_part_them():
    day, moment = datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 2, 7, 8, 9, 250_000, UTC)
    assert texts_of([day]) == ["2026-03-02"]
    assert texts_of([moment]) == ["2026-03-02 07:08:09.250"]
    assert texts_of([day, moment]) == ["2026-03-02 00:00:00", "2026-03-02 07:08:09"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (4_001_664, "4001664"),
        (0.1 + 0.2, "0.30000000000000004"),
        (datetime(2026, 3, 2, 7, 8, 9, 250_000, UTC), "2026-03-02T07:08:09.250000Z"),
        (datetime.min, "0001-01-01T00:00:00.000000"),
        (timedelta(milliseconds=1500), "1.5"),
        (None, "–"),
        (True, "true"),
    ],
)
def test_an_exact_value_has_all_its_digits(value, text):
    assert exact(value) == text


@given(st.lists(st.floats(-1e14, 1e14), min_size=1))
@example([1.0, 5.9e-31])
def test_a_number_is_rounded_by_less_than_a_thousandth_of_the_largest(values):
    largest = max(map(abs, values))
    for value, text in zip(values, texts_of(values), strict=True):
        said = float(text.strip("<>").replace(",", ""))
        assert said == pytest.approx(value, abs=max(largest * 1e-3, 1e-300))
        assert bool(said) == bool(value)


# what is too long


@pytest.mark.parametrize(
    ("text", "form", "short"),
    [
        ("tcp://10.9.0.21:40101", "id", "tcp://1…21:40101"),
        ("/gpfs/demo/scratch/run90164.txt", "path", "…ch/run90164.txt"),
        ("a sentence of many words", None, "a sentence of m…"),
        ("short", "id", "short"),
    ],
)
def test_an_id_keeps_both_ends_and_a_path_its_end(text, form, short):
    assert shorten(text, 16, form) == short


@given(st.text(), st.integers(1, 50), st.sampled_from(["id", "path", None]))
def test_a_shortened_text_fits(text, width, form):
    assert cell_len(shorten(text, width, form)) <= width


@given(st.text("ab 中", max_size=300), st.integers(8, 50))
def test_a_folded_text_fits_and_is_whole(text, width):
    lines = fold(text, width, "  ")
    assert all(cell_len(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


@given(st.lists(st.tuples(st.integers(0, 90), st.integers(0, 20)), min_size=1, max_size=9),
       st.integers(0, 200))  # fmt: skip
def test_widths_fit_unless_all_are_at_their_least(columns, room):
    natural = [n for n, _ in columns]
    least = [min(n, m) for n, m in columns]
    widths = fit(natural, least, room)
    assert all(m <= w <= n for n, m, w in zip(natural, least, widths, strict=True))
    assert sum(widths) <= room or widths == least


# rows of records

FILES = pl.DataFrame(
    {
        "scan": ["2026"] * 5,
        "inode": [100_000 + n for n in range(5)],
        "note": [f"a remark of many words about file number {n}" for n in range(5)],
        "size": [10**9 + n for n in range(5)],
        "path": [f"/gpfs/demo/projects/climate/member{n}/forcing.nc" for n in range(5)],
    }
)


def test_columns_are_shown_by_their_importance_and_the_others_are_named():
    path, size = Column("path", format="path"), Column("size", unit="bytes")
    assert printed(FILES, path, size, width=60, total=124).splitlines() == [
        "rows: 5 of 124 rows",
        "scan: 2026",
        "path                                           size    inode",
        "…/demo/projects/climate/member0/forcing.nc  954 MiB  100,000",
        "…/demo/projects/climate/member1/forcing.nc  954 MiB  100,001",
        "…/demo/projects/climate/member2/forcing.nc  954 MiB  100,002",
        "…/demo/projects/climate/member3/forcing.nc  954 MiB  100,003",
        "…/demo/projects/climate/member4/forcing.nc  954 MiB  100,004",
        "not shown here: note",
        "(--wide shows all)",
        "",
    ]


WIDE = pl.DataFrame({f"measured_amount_{n:02d}": [10**9 + n] for n in range(12)})


def test_two_rows_stay_a_table_and_one_is_shown_column_by_column():
    two = pl.concat([WIDE, WIDE.with_columns(pl.all() + 1)])
    lines = printed(two, width=60).splitlines()
    last = next(number for number, line in enumerate(lines) if line.startswith("not shown here"))
    assert "1,000,000,000" in lines[last - 2]
    assert "1,000,000,001" in lines[last - 1]
    one = printed(two.head(1), width=60)
    assert [name for name in WIDE.columns if name not in one] == []


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_all_columns_that_were_asked_for_are_shown(width):
    text = printed(WIDE, width=width, every=True)
    for number in range(12):
        assert f"{10**9 + number:,}" in text
    assert "not shown" not in text
    assert all(cell_len(line) <= width for line in text.splitlines())


def test_what_tells_rows_apart_is_shown_before_what_matters_more():
    # given rows that are alike in all that fits
    rows = pl.DataFrame(
        {"user": ["ada", "ada", "bela"], "note_of_many": ["a" * 30, "a" * 30, "b" * 30],
         "amount_a": [10**12] * 2 + [0], "amount_b": [10**12] * 2 + [0], "job": [17, 18, 19]}
    )  # fmt: skip
    lines = printed(rows, width=48).splitlines()
    assert lines[1].split() == ["user", "note_of_many", "job"]
    assert [line.split()[-1] for line in lines[2:5]] == ["17", "18", "19"]
    assert "not shown here: amount_a, amount_b" in lines


def test_notes_are_not_cut():
    note = " ".join(f"word{n}" for n in range(40))
    rows = pl.DataFrame({"name": ["a", "b", "c", "d"], "note": [f"{note} {n}" for n in range(4)]})
    for frame in (rows, rows.head(1)):
        text = printed(frame, width=60)
        assert all(f"word{n}" in text for n in range(40))
        assert "…" not in text


def test_wide_shows_all_columns_in_full():
    lines = printed(FILES, Column("path"), width=40, wide=True).splitlines()
    assert lines[1].split() == ["path", "scan", "inode", "note", "size"]
    assert lines[2].split("  ")[0] == "/gpfs/demo/projects/climate/member0/forcing.nc"
    assert "a remark of many words about file number 0" in lines[2]


def test_a_unit_stands_in_the_heading_where_the_values_do_not_name_it():
    frame = pl.DataFrame({"rate": [2.5e6], "heat": [0.5], "wait": [90.0]})
    lines = printed(frame, Column("rate", unit="MB/s", scale=10**6), Column("heat", unit="%"),
                    Column("wait", unit="s", format="seconds"))  # fmt: skip
    assert lines.splitlines()[1:3] == [
        "rate (MB/s)  heat (%)     wait",
        "        2.5       0.5  1.5 min",
    ]


def test_values_that_are_only_shown_alike_are_not_called_one_value():
    frame = pl.DataFrame({"size": [10**9, 10**9 + 1, 10**9 + 2, 10**9 + 3], "text": ["x" * 90] * 4})
    assert "size: " not in printed(frame, Column("size", unit="bytes"))


def test_a_format_that_does_not_suit_a_text_is_not_applied():
    assert "unknown" in printed(pl.DataFrame({"s": ["unknown"]}), Column("s", format="seconds"))


@st.composite
def declared(draw, frame):
    """Columns of any format that suits them, some of the frame's, in any order."""
    names = draw(st.lists(st.sampled_from(frame.columns), unique=True))
    numbers = st.sampled_from([None, ",.2f", "seconds", "bytes", "share", "duration", "id"])
    texts = st.sampled_from([None, "id", "path"])
    return [
        Column(name, format=draw(numbers if frame[name].dtype.is_numeric() else texts),
               unit=draw(st.sampled_from([None, "s", "bytes", "J"])))
        for name in names
    ]  # fmt: skip


@given(st.data(), frames(), st.integers(40, 200), st.booleans())
def test_no_line_is_too_long_and_no_column_unnamed(data, frame, width, exactly):
    columns = data.draw(declared(frame))
    text = printed(frame, *columns, width=width, exact=exactly)
    assert all(cell_len(line) <= width for line in text.splitlines())
    if frame.height:
        # a name is broken behind underlines, and folded beside a long number
        begins = [name.split("_")[0] + "_" for name in frame.columns]
        assert [name for name in begins if name not in text] == []


@given(frames(kinds=(pl.Int64, pl.Float64)))
def test_exact_numbers_read_back(frame):
    lines = printed(frame, exact=True, wide=True).splitlines()[1:-1]
    assert lines[0].split() == frame.columns
    read = [[None if cell == "–" else float(cell) for cell in line.split()] for line in lines[1:]]
    wanted = [[v if v is None else float(v) for v in row] for row in frame.iter_rows()]
    assert repr(read) == repr(wanted)


# other tables


def test_a_description_has_room_or_stands_below_its_row(capsys, monkeypatch):
    rows = [("dask.workers_processes", "One row per worker: its host and process id.", "run, key")]
    monkeypatch.setenv("COLUMNS", "60")
    print_table(("view", "description", "settings"), rows, prose=("description", "settings"))
    assert capsys.readouterr().out.splitlines() == [
        "view",
        "dask.workers_processes",
        "    One row per worker: its host and process id.",
        "    settings: run, key",
    ]
    monkeypatch.setenv("COLUMNS", "100")
    print_table(("view", "description", "settings"), rows, prose=("description", "settings"))
    assert capsys.readouterr().out.splitlines() == [
        "view                    description                                   settings",
        "dask.workers_processes  One row per worker: its host and process id.  run, key",
    ]


# a terminal


def test_notes_of_a_run_are_wrapped_and_indented(tmp_path):
    done = harvest_here(
        "run", "-s", f"mofka-dask:{EXAMPLE}", "-k", f"parquet:{tmp_path / 'out'}", COLUMNS="50"
    )
    assert done.returncode == 0
    notes = done.stdout.split("\nnotes\n")[1].split("\n\n")[0].splitlines()
    assert len(notes) > 1
    assert all(len(line) <= 50 for line in notes)
    assert [line[:4].isspace() for line in notes] == [False, *[True] * (len(notes) - 1)]


def test_texts_that_would_look_alike_are_folded():
    path = Column("path", format="path")
    rows = pl.DataFrame({"path": [f"/gpfs/{n}/" + "x" * 60 for n in range(4)], "n": [10**12] * 4})
    assert [f"/gpfs/{n}/" in printed(rows, path, width=50) for n in range(4)] == [True] * 4
