"""A draft of the study's file, against the ranges that the inputs were made of."""

import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reporting import page_of
from typer.testing import CliRunner

import harvest
from harvest import UsageError
from harvest_ncem.commands import app
from harvest_ncem.draft import WINDOW, Scan, changes, draft, sizes_of, stretches
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
def test_the_ranges_of_the_example_are_found(example, tmp_path):
    """Given the example's inputs, whose study names all ranges, then the draft has the same ones.

    No input says a size of a scan: they are guesses by duration, and so comments.
    """
    text = draft(example)
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


def sizes(text: str) -> dict[int, str]:
    """The sizes that a draft writes, by the first scan of the range; not those of comments."""
    return {r["scans"][0]: r["size"] for r in tomllib.loads(text).get("range", [])}


def streamed(*parts: tuple[int, float]) -> dict[int, float]:
    """Scans from 1 on, so many that take about so long each."""
    taken = [seconds + n % 3 for count, seconds in parts for n in range(count)]
    return dict(enumerate(taken, 1))


def test_ranges_of_one_size_that_take_unlike_long_get_none(tmp_path):
    # given 256, 512 and 1024, all of which Distiller calls 256x256, as in the paper's tables
    took = streamed((40, 7.0), (40, 25.0), (20, 96.0))
    data = dataset(tmp_path, took, f"256_256:{','.join(map(str, took))}")
    text = draft(data)
    assert ranges(text) == [
        ("?", "streaming", [1, 40]), ("?", "streaming", [41, 80]), ("?", "streaming", [81, 100]),
    ]  # fmt: skip
    assert sizes(text) == {}
    said = "40 of 40 scans are 256x256 by Distiller, but ranges of that size have medians of"
    assert text.count(f"{said} 8 s, 26 s, 97 s") == 2

    # then the report says why nothing of what was measured counts
    (tmp_path / "study.toml").write_text(text)
    (intro,) = page_of(data, "ncem.comparison", study=str(tmp_path / "study.toml")).intro
    assert "0 of 100 measured durations count" in intro
    assert "the size is unknown" in intro

    # and counts what the user names
    (tmp_path / "study.toml").write_text(
        '[[range]]\nsize = "256x256"\nmethod = "streaming"\nscans = [1, 40]\n'
    )
    report = page_of(data, "ncem.comparison", study=str(tmp_path / "study.toml"))
    assert report.tables[0].data.row(0, named=True)["median_s"] == 8


def test_one_range_of_many_that_takes_unlike_long_is_alone_in_doubt(tmp_path):
    # given four ranges, the last behind a gap; three of them alike hold 100 of 140 scans
    took = streamed((40, 7.0), (40, 60.0), (40, 8.0), (20, 7.0))
    took = {n if n <= 120 else n + 50: seconds for n, seconds in took.items()}
    text = draft(dataset(tmp_path, took, f"256_256:{','.join(map(str, took))}"))
    assert sizes(text) == {1: "256x256", 81: "256x256", 171: "256x256"}
    assert "medians of 8 s, 61 s" in text


def test_a_smaller_size_that_takes_much_longer_than_a_larger_is_in_doubt_as_that_is(tmp_path):
    took = streamed((30, 60.0), (30, 7.0))
    first, second = (",".join(str(n) for n in took if (n > 30) == late) for late in (False, True))
    text = draft(dataset(tmp_path, took, f"128_128:{first} 256_256:{second}"))
    assert sizes(text) == {}
    assert text.count("but 128x128 takes 61 s and 256x256 8 s") == 2


def test_sizes_by_the_bytes_of_files_are_not_in_doubt():
    def stretch(first: int, seconds: float, kind: str) -> list[Scan]:
        evidence = ((kind, "256x256"),)
        return [Scan(first + n, "streaming", 0.0, seconds, evidence) for n in range(10)]

    by_bytes = stretch(1, 60.0, "the bytes of the data files")
    found = sizes_of([by_bytes, stretch(50, 7.0, "Distiller"), stretch(90, 8.0, "Distiller")])
    assert [size for size, _ in found] == ["256x256", None, None]


@given(st.lists(st.floats(10, 19.9), min_size=1, max_size=8))
def test_ranges_that_differ_by_less_than_twice_keep_their_size(medians):
    found = sizes_of([[Scan(1, "streaming", 0.0, took, (("Distiller", "64x64"),))]
                      for took in medians])  # fmt: skip
    assert {size for size, _ in found} == {"64x64"}
