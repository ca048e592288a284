"""The comparison of file transfer and streaming: every number against an independent one."""

from __future__ import annotations

import csv
import math
import statistics
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harvest_ncem.reports import MAX_BINS, bin_edges, comparison, describe, outliers

HEADER = ["size", "method", "outliers", "n", "mean_s", "median_s", "std_s", "data_gb", "speed_up"]
VIEWS = {"slurm.job", "distiller.job", "ncem.receiver_status", "ncem.data_file"}
SCHEMA = {
    "size": pl.String,
    "data_gb": pl.Float64,
    "duration_s": pl.Float64,
    "excluded": pl.String,
}


class Dataset:
    """A dataset whose two views are given rows: (size, data_gb, duration_s, excluded)."""

    def __init__(self, file_transfer=(), streaming=(), holds=VIEWS):
        self.frames = {"ncem.file_transfer": file_transfer, "ncem.streaming": streaming}
        self.holds = holds
        self.asked = {}

    def __contains__(self, name):
        return name in self.holds

    def view(self, name, **settings):
        self.asked[name] = settings
        return pl.LazyFrame(list(self.frames[name]), schema=SCHEMA, orient="row")


def durations(rows):
    """A frame of (size, method, duration_s)."""
    columns = {"size": pl.String, "method": pl.String, "duration_s": pl.Float64}
    return pl.DataFrame(rows, schema=columns, orient="row").with_columns(
        pl.lit(10.87).alias("data_gb")
    )


def within_fences(values):
    """The rule once more, in plain Python and numpy."""
    first, third = np.quantile(values, [0.25, 0.75])
    reach = 1.5 * (third - first)
    return [v for v in values if first - reach <= v <= third + reach]


def close(a, b):
    return a == b or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


SECONDS = st.floats(0.001, 1e5, allow_nan=False)
GROUPS = st.dictionaries(
    st.tuples(st.sampled_from(["64x64", "128x128", "1024x512"]),
              st.sampled_from(["file_transfer", "streaming"])),
    st.lists(st.one_of(SECONDS, st.sampled_from([5.0, 6.0, 7.0])), min_size=1, max_size=40),
    min_size=1,
)  # fmt: skip


@given(GROUPS)
def test_statistics_equal_an_independent_computation(groups):
    rows = [(size, method, v) for (size, method), values in groups.items() for v in values]
    found = describe(outliers(durations(rows)))

    assert found.columns == HEADER
    assert found.height == 2 * len(groups)
    for row in found.iter_rows(named=True):

        def values(method, row=row):
            these = groups.get((row["size"], method), [])
            return within_fences(these) if row["outliers"] == "removed" and these else these

        expected = values(row["method"])
        assert row["n"] == len(expected)
        assert close(row["mean_s"], statistics.fmean(expected))
        assert close(row["median_s"], statistics.median(expected))
        if len(expected) > 1:
            deviation = statistics.stdev(expected)
            assert math.isclose(row["std_s"], deviation, rel_tol=1e-9, abs_tol=1e-7)
        else:
            assert row["std_s"] is None
        files, streamed = values("file_transfer"), values("streaming")
        if files and streamed:
            assert close(row["speed_up"], statistics.fmean(files) / statistics.fmean(streamed))
        else:
            assert row["speed_up"] is None


@given(st.lists(SECONDS, min_size=1, max_size=200))
def test_the_outlier_rule_is_tukeys(values):
    rows = [("64x64", "streaming", value) for value in values]
    marked = outliers(durations(rows))

    kept = marked.filter(~pl.col("outlier"))["duration_s"].to_list()
    assert kept == within_fences(values)
    # the median is never an outlier, so something always remains
    assert min(kept) <= statistics.median(values) <= max(kept)


def test_a_value_on_the_fence_is_no_outlier():
    # given quartiles 1 and 3 (numpy's linear ones), so that the upper fence is at 6
    values = [0.0, 1.0, 2.0, 3.0, 6.0]
    assert list(np.quantile(values, [0.25, 0.75])) == [1.0, 3.0]

    marked = outliers(durations([("64x64", "streaming", v) for v in values]))

    assert not marked["outlier"].any()


def test_the_csv_file_has_exactly_the_agreed_columns_and_rows(tmp_path):
    # given two sizes, one of them with both methods
    data = Dataset(
        [("1024x1024", 695.8, 400.0, None), ("128x128", 10.9, 60.0, None),
         ("128x128", 10.9, 62.0, None)],
        [("128x128", 10.9, 6.0, None)],
    )  # fmt: skip

    comparison(data).write(tmp_path / "c.csv")

    with (tmp_path / "c.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == HEADER
    assert [row[:4] for row in rows] == [
        ["128x128", "file_transfer", "kept", "2"],
        ["128x128", "streaming", "kept", "1"],
        ["128x128", "file_transfer", "removed", "2"],
        ["128x128", "streaming", "removed", "1"],
        ["1024x1024", "file_transfer", "kept", "1"],
        ["1024x1024", "file_transfer", "removed", "1"],
    ]
    assert [float(x) for x in rows[0][4:]] == [61.0, 61.0, math.sqrt(2), 10.9, 61 / 6]
    assert rows[4][6] == rows[4][8] == ""  # no deviation of one value, nothing to compare with


def test_what_does_not_count_is_listed_with_its_reason():
    data = Dataset(
        [("128x128", 10.9, 60.0, None), ("128x128", 10.9, 1816.0, "elapsed longer than 1740 s"),
         ("128x128", 10.9, 1816.0, "elapsed longer than 1740 s")],
        [(None, None, 6.0, None), ("128x128", 10.9, None, None)],
    )  # fmt: skip

    report = comparison(data)

    (left_out,) = (t for t in report.tables if t.name == "left-out")
    assert left_out.data.rows() == [
        ("file_transfer", "128x128", "elapsed longer than 1740 s", 2),
        ("streaming", "128x128", "no duration", 1),
        ("streaming", None, "in no scan range: the size is not known", 1),
    ]
    assert "No size has both methods" in report.intro[0]


def test_only_one_method_harvested_is_reported_without_the_other():
    data = Dataset(
        streaming=[("128x128", 10.9, 6.0, None)],
        holds={"ncem.receiver_status", "ncem.data_file"},
    )

    report = comparison(data)

    assert report.tables[0].data["method"].to_list() == ["streaming", "streaming"]
    assert "ncem.file_transfer" not in data.asked


def test_settings_reach_the_view_of_file_transfer():
    data = Dataset()
    comparison(data, max_elapsed="10m", save_correction="off")
    settings = data.asked["ncem.file_transfer"]
    assert (settings["max_elapsed"], settings["save_correction"]) == ("10m", "off")


def test_an_empty_study_is_a_report_without_plots():
    report = comparison(Dataset())
    assert report.plots == []
    assert "no rows" in report.text()


@given(st.lists(SECONDS | st.integers(0, 500).map(float), min_size=1, max_size=100))
def test_bins_hold_every_value_and_are_few(values):
    edges = bin_edges(pl.Series(values))
    assert edges[0] <= min(values)
    assert max(values) <= edges[-1] + 1e-6
    assert len(edges) <= MAX_BINS + 1


@pytest.mark.parametrize("values", [[5.0], [5.0, 5.0, 5.0], [1.25, 1.25, 900.5, *[1.25] * 8]])
def test_every_plot_can_be_drawn(values, tmp_path):
    pytest.importorskip("matplotlib")
    data = Dataset(
        [("128x128", 10.9, v, None) for v in values], [("128x128", 10.9, v, None) for v in values]
    )
    report = comparison(data)

    for plot in report.plots:
        (path,) = report.only(plot.name).write(tmp_path / f"{plot.name}.png")
        assert path.read_bytes().startswith(b"\x89PNG")


def test_from_files_to_numbers(tmp_path):
    """The whole path on a small study whose truth is known: no view stands between."""
    harvest = pytest.importorskip("harvest")
    pytest.importorskip("harvest_slurm.source")
    pytest.importorskip("harvest_distiller.source")
    inputs = tmp_path / "in"
    (inputs / "ncem").mkdir(parents=True)
    begin = datetime(2023, 10, 13, 16, 0, tzinfo=UTC)
    streamed, elapsed = [6, 7, 8, 30], [60, 61, 65]
    with (inputs / "ncem" / "created_times.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["scan_number", "time0", "time1", "time2", "time3"])
        for scan in range(len(streamed)):
            # the last of the four receivers is the earliest
            times = [begin + timedelta(minutes=scan, seconds=s) for s in (2, 1, 1, 0)]
            table.writerow([scan + 1, *(t.isoformat() for t in times)])
    with (inputs / "ncem" / "scan_times.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["distiller_id", "scan_number", "datetime"])
        for scan, took in enumerate(streamed):
            written = begin + timedelta(minutes=scan, seconds=took, hours=-7)  # Pacific in summer
            table.writerow([f"{scan + 1:05d}", scan + 1, f"{written:%Y-%m-%d %H:%M:%S}"])
    (inputs / "128_128.csv").write_text(
        "id,slurm_id,elapsed\n"
        + "".join(f"{i},{100 + i},00:01:{s - 60:02d}\n" for i, s in enumerate(elapsed))
    )
    columns = "Job Name,Job ID,Timelimit,Elapsed,Submit,Start,End,ReqNodes,QOS,User,ExitCode"
    (inputs / "sacct.csv").write_text(
        columns
        + "\n"
        + "".join(
            f"distiller,{100 + i},00:30:00,00:01:{s - 60:02d},2023-10-01T00:00:00,"
            f"2023-10-01T00:00:01,2023-10-01T00:01:{s - 59:02d},4,realtime,me,0:0\n"
            for i, s in enumerate(elapsed)
        )
    )
    study = inputs / "study.toml"
    study.write_text('[[range]]\nsize = "128x128"\nmethod = "streaming"\nscans = [1, 4]\n')

    harvest.run(
        [f"slurm:{inputs / 'sacct.csv'}", f"distiller:{inputs / '128_128.csv'}",
         f"ncem:{inputs / 'ncem'}"],
        f"parquet:{tmp_path / 'out'}",
        settings={"slurm": {"timezone": "US/Pacific"}, "ncem": {"timezone": "US/Pacific"}},
    )  # fmt: skip
    report = harvest.open(tmp_path / "out").report("ncem.comparison", study=str(study))

    rows = {(r["method"], r["outliers"]): r for r in report.tables[0].data.to_dicts()}
    assert rows["streaming", "kept"]["mean_s"] == statistics.fmean(streamed)
    assert rows["streaming", "removed"]["n"] == 3
    assert rows["file_transfer", "kept"]["median_s"] == 61.0
    assert close(rows["streaming", "removed"]["speed_up"], 62.0 / 7.0)
    assert close(rows["streaming", "kept"]["data_gb"], 128 * 128 * 576 * 576 * 2 / 1e9)
