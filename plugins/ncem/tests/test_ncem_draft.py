"""A draft of the study's file, against the ranges that the inputs were made of."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripts import run_script
from typer.testing import CliRunner

import harvest
from harvest import UsageError
from harvest.plugins.registry import manager
from harvest_ncem.commands import app
from harvest_ncem.draft import WINDOW, Scan, changes, draft, stretches
from harvest_ncem.study import load_study

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "ncem-study"
T0 = datetime(2023, 10, 13, 16, 0, tzinfo=UTC)


def ranges(text: str) -> list[tuple[str, str, list[int]]]:
    """The ranges of a draft; those of an unknown size, which are comments, too."""
    keys = ("[[range]]", "size =", "method =", "scans =")
    lines = [line.removeprefix("# ") for line in text.splitlines()]
    found = tomllib.loads("\n".join(line for line in lines if line.startswith(keys)))
    return [(r["size"], r["method"], r["scans"]) for r in found["range"]]


@pytest.mark.slow
def test_the_ranges_of_the_example_are_found(tmp_path):
    """Given the example's inputs, whose study names all ranges, then the draft has the same ones.

    No input says a size of a scan: they are guesses by duration, and so comments.
    """
    if "parquet" not in manager().sinks or "distiller" not in manager().sources:
        pytest.skip("needs the plugins distiller and parquet")
    run_script(EXAMPLE / "make_study.py", tmp_path / "inputs")
    sources = [f"{name}:{tmp_path / 'inputs' / name}" for name in ("ncem", "distiller")]
    harvest.run(sources, f"parquet:{tmp_path / 'out'}", workers=1)
    text = draft(harvest.open(tmp_path / "out"))
    true = load_study(EXAMPLE / "study.toml")
    assert sorted(ranges(text)) == sorted(
        (r.size, r.method, [r.first, r.last]) for r in true.ranges
    )
    (tmp_path / "draft.toml").write_text(text)
    assert load_study(tmp_path / "draft.toml").ranges == ()
    assert text.count("a guess is") == len(true.ranges)


def dataset(tmp_path: Path, streamed: dict[int, float], ids: str = "") -> Any:
    """HDF5 files of streamed scans, each some seconds after its receivers' times."""
    place = tmp_path / "in"
    place.mkdir()
    begins = {scan: T0 + timedelta(seconds=60 * n) for n, scan in enumerate(streamed)}
    zone = timedelta(hours=7)  # of the file times, which are local
    (place / "created.csv").write_text(
        "scan_number,time0,time1\n"
        + "".join(f"{scan},{t.isoformat()},{t.isoformat()}\n" for scan, t in begins.items())
    )
    (place / "written.csv").write_text(
        "distiller_id,scan_number,datetime\n"
        + "".join(
            f"{scan:05d},{scan},{(begins[scan] + timedelta(seconds=s) - zone):%Y-%m-%d %H:%M:%S}\n"
            for scan, s in streamed.items()
        )
    )
    sources = [f"ncem:{place}"]
    for name, numbers in (part.split(":") for part in ids.split()):
        (tmp_path / f"{name}.csv").write_text(
            "id,slurm_id,elapsed\n" + "".join(f"{n},1,00:00:01\n" for n in numbers.split(","))
        )
        sources.append(f"distiller:{tmp_path / f'{name}.csv'}")
    harvest.run(sources, f"parquet:{tmp_path / 'out'}", workers=1)
    return harvest.open(tmp_path / "out")


def test_a_size_that_distiller_knows_of_most_scans_is_that_of_the_range(tmp_path):
    # given scans of which Distiller knows most to be 64x64, and a later one of another size
    known = ",".join(str(n) for n in range(1, 9))
    text = draft(dataset(tmp_path, dict.fromkeys(range(1, 13), 5.0), f"64_64:{known} 128_128:12"))
    study = tmp_path / "study.toml"
    study.write_text(text)
    (found,) = load_study(study).ranges[:1]
    assert (found.size, found.method, found.first) == ("64x64", "streaming", 1)
    assert "8 of 11 scans are 64x64 by Distiller" in text


def test_ranges_end_where_numbers_are_missing(tmp_path):
    text = draft(dataset(tmp_path, dict.fromkeys([1, 2, 3, 5, 6, 50, 51], 5.0)))
    assert ranges(text) == [("?", "streaming", [1, 6]), ("?", "streaming", [50, 51])]
    assert 'size = "?"' in text
    assert "[[range]]" not in text.replace("# [[range]]", "")


def test_without_files_there_is_nothing_to_draft(tmp_path):
    with pytest.raises(UsageError, match="no scan of the dataset has an HDF5 file"):
        draft(dataset(tmp_path, {}))


def test_the_command_writes_no_file_twice(tmp_path):
    dataset(tmp_path, dict.fromkeys(range(1, 5), 5.0))
    out = str(tmp_path / "out")
    target = tmp_path / "study.toml"
    asked = CliRunner().invoke
    assert "# [[range]]" in asked(app, ["study", out]).output
    said = asked(app, ["study", out, "-o", str(target)]).output
    assert said == f"1 range written to {target}, 1 of them without a size: see its comments\n"
    text = target.read_text()
    again = asked(app, ["study", out, "-o", str(target)])
    assert isinstance(again.exception, UsageError)
    assert "there is such a file already" in str(again.exception)
    assert target.read_text() == text


@given(st.lists(st.floats(4, 6), min_size=WINDOW, max_size=30), st.integers(WINDOW, 30))
def test_a_change_is_found_at_its_place(before, more):
    """Given values of about 5, and then of about 15, then there is one change, and it is there."""
    assert changes([*before, *(3 * value for value in before[:more])]) == [len(before)]


@given(st.lists(st.floats(4, 6), max_size=60))
def test_what_stays_alike_has_no_change(values):
    assert changes(values) == []


def test_one_scan_that_takes_long_ends_no_range():
    scans = [Scan(n, "streaming", n * 10.0, 50.0 if n == 20 else 5.0, ()) for n in range(40)]
    assert [len(part) for part in stretches(scans)] == [40]
