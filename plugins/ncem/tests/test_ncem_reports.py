"""The comparison of file transfer and streaming: every number against an independent one."""

import csv
import math
import statistics
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harvest_ncem.reports import comparison, describe, outliers
from harvest_ncem.sections import MAX_BINS, bin_edges, overview

HEADER = ["size", "method", "outliers", "n", "mean_s", "median_s", "std_s", "data_gb"]
HEADER += ["speed_up", "bytes_per_s"]
T0 = datetime(2023, 10, 13, 16, 0, tzinfo=UTC)


class Dataset:
    """A dataset whose two views are given rows: (size, data_gb, duration_s, excluded).

    No scan of it failed.
    """

    def __init__(self, file_transfer=(), streaming=()):
        self.frames = {"ncem.file_transfer": file_transfer, "ncem.streaming": streaming}
        self.asked = {}

    def __contains__(self, name):
        return True

    def view(self, name, **settings):
        self.asked[name] = settings
        if name == "ncem.failed_scans":
            return pl.LazyFrame(schema={"first_receiver_time": pl.Datetime("us", "UTC")})
        times = {
            "elapsed_s": pl.Float64,
            "first_receiver_time": pl.Datetime("us", "UTC"),
            "write_time": pl.Datetime("us", "UTC"),
        }
        rows = [
            (*row, took, T0, None if took is None else T0 + timedelta(seconds=took))
            for row in self.frames[name]
            for took in [row[2]]
        ]
        names = ("size", "data_gb", "duration_s", "excluded")
        schema = dict.fromkeys(names, pl.String) | {"data_gb": pl.Float64, "duration_s": pl.Float64}
        return pl.LazyFrame(rows, schema=schema | times, orient="row")


def durations(rows):
    """A frame of (size, method, microseconds)."""
    columns = {"size": pl.String, "method": pl.String, "measured_us": pl.Int64}
    return pl.DataFrame(rows, schema=columns, orient="row").with_columns(
        (pl.col("measured_us") / 1e6).alias("duration_s"),
        pl.lit(10.87).alias("data_gb"),
    )


def quartiles(values):
    """First and third, by the definition: linear between the sorted values, in fractions."""
    ordered, found = sorted(values), []
    for share in (Fraction(1, 4), Fraction(3, 4)):
        place = share * (len(ordered) - 1)
        below = math.floor(place)
        above = min(below + 1, len(ordered) - 1)
        found.append(ordered[below] + (place - below) * (ordered[above] - ordered[below]))
    return found


def within_fences(values):
    """The rule once more, on whole numbers and fractions."""
    first, third = quartiles(values)
    reach = Fraction(3, 2) * (third - first)
    return [v for v in values if first - reach <= v <= third + reach]


def close(a, b):
    return a == b or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


# many duplicates, and some values of any size
MICROS = st.integers(0, 12) | st.sampled_from([5_000_000, 6_000_000]) | st.integers(1, 10**11)
SECONDS = st.floats(0.001, 1e5, allow_nan=False)
GROUPS = st.dictionaries(
    st.tuples(st.sampled_from(["64x64", "128x128", "1024x512"]),
              st.sampled_from(["file_transfer", "streaming"])),
    st.lists(MICROS, min_size=1, max_size=40),
    min_size=1,
)  # fmt: skip


@pytest.mark.slow
@given(GROUPS)
def test_statistics_equal_an_independent_computation(groups):
    rows = [(size, method, v) for (size, method), values in groups.items() for v in values]
    found = describe(outliers(durations(rows)))

    assert found.columns == HEADER
    assert found.height == 2 * len(groups)
    for row in found.iter_rows(named=True):

        def values(method, row=row):
            these = groups.get((row["size"], method), [])
            counted = within_fences(these) if row["outliers"] == "removed" and these else these
            return [v / 1e6 for v in counted]

        expected = values(row["method"])
        assert row["n"] == len(expected)
        assert close(row["mean_s"], statistics.fmean(expected))
        if row["mean_s"]:
            assert close(row["bytes_per_s"] * row["mean_s"], row["data_gb"] * 1e9)
        assert close(row["median_s"], statistics.median(expected))
        if len(expected) > 1:
            deviation = statistics.stdev(expected)
            assert math.isclose(row["std_s"], deviation, rel_tol=1e-9, abs_tol=1e-7)
        else:
            assert row["std_s"] is None
        files, streamed = values("file_transfer"), values("streaming")
        if files and streamed and statistics.fmean(streamed):
            assert close(row["speed_up"], statistics.fmean(files) / statistics.fmean(streamed))
        elif not (files and streamed):
            assert row["speed_up"] is None


@given(st.lists(MICROS, min_size=1, max_size=200))
def test_the_outlier_rule_is_tukeys(values):
    marked = outliers(durations([("64x64", "streaming", value) for value in values]))

    kept = marked.filter(~pl.col("outlier"))["measured_us"].to_list()
    assert kept == within_fences(values)
    # the median is never an outlier, so something always remains
    assert min(kept) <= statistics.median(values) <= max(kept)


@given(st.integers(2, 30), st.integers(1, 10**6), st.sampled_from([-1, 0, 1]))
def test_a_value_on_a_fence_stays_and_one_a_microsecond_beyond_goes(count, width, beyond):
    # given values at both quartiles, and one on each fence or a microsecond off it
    first, third = 10**10, 10**10 + 2 * width
    reach = 3 * width
    ends = [first - reach - beyond, third + reach + beyond]
    values = [*ends, *[first] * count, *[third] * count]
    assert quartiles(values) == [first, third]

    marked = outliers(durations([("64x64", "streaming", v) for v in values]))

    assert marked["outlier"].to_list()[:2] == [beyond > 0] * 2
    assert not marked["outlier"][2:].any()


# ---- warnings -----------------------------------------------------------------------------------


def test_quartiles_that_coincide_are_reported_loudly():
    # given 100 scans to the second, of which 76 took 6 s
    seconds = [6.0] * 76 + [5.0] * 12 + [7.0] * 12
    data = Dataset(streaming=[("128x128", 10.9, s, None) for s in seconds])

    report = comparison(data)

    # the published rule holds: what differs is removed
    kept, removed = report.tables[0].data.to_dicts()
    assert (kept["n"], removed["n"], removed["std_s"]) == (100, 76, 0.0)
    (limits,) = (t for t in report.tables if t.name == "outliers")
    assert limits.data.row(0)[:4] == ("128x128", "streaming", 100, 24)
    assert limits.data["clock_step_s"].to_list() == [1.0]
    for shown in (" ".join(report.text().split()), " ".join(report.intro)):
        assert "Warning: streaming at 128x128: both quartiles are 6.0 s" in shown
        assert "24 of 100 values (24.0 %) are left out" in shown
        assert "counts in steps of 1.0 s" in shown


def test_a_speed_up_stands_above_the_bar_of_streaming():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    rows = [("128x128", "file_transfer", 60_000_000), ("128x128", "streaming", 6_000_000)]
    overview(describe(outliers(durations(rows)))).draw(figure)
    (axes,) = figure.axes
    (told,), (_, bar) = axes.texts, axes.patches
    assert (told.get_text(), told.xy[1]) == ("10.00×", 6)
    assert bar.get_x() <= told.xy[0] <= bar.get_x() + bar.get_width()


def test_a_clock_coarser_than_the_spread_is_reported():
    # given quartiles 6.0 and 6.25, by interpolation between whole seconds
    data = Dataset([("128x128", 10.9, s, None) for s in (6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 7.0, 7.0)])

    report = comparison(data)

    assert "file transfer at 128x128: the quartiles lie 0.25 s apart" in report.intro[-1]


@pytest.mark.parametrize(
    "seconds",
    [[6.0], [5.0, 6.0, 7.0, 8.0, 9.0], [6.001, 6.002, 6.003, 6.004, 6.01]],
)
def test_clocks_that_are_fine_enough_give_no_warning(seconds):
    report = comparison(Dataset([("128x128", 10.9, s, None) for s in seconds]))
    assert "Warning" not in report.text()


def test_of_two_clocks_the_coarser_counts():
    # given receivers that record microseconds, and files whose times are whole seconds
    class Coarse(Dataset):
        def view(self, name, **settings):
            early = pl.col("first_receiver_time") - pl.duration(microseconds=pl.col("micros"))
            found = super().view(name, **settings).with_row_index("micros")
            return found.with_columns(early.alias("first_receiver_time"))

    report = comparison(Coarse(streaming=[("128x128", 10.9, 6.0, None)] * 8))

    (limits,) = (t for t in report.tables if t.name == "outliers")
    assert limits.data["clock_step_s"].to_list() == [1.0]
    assert "which is less than a step of the clock (1.0 s)" in report.intro[-1]


# ---- the report ---------------------------------------------------------------------------------


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
    assert [float(x) for x in rows[0][4:]] == [61.0, 61.0, math.sqrt(2), 10.9, 61 / 6, 10.9e9 / 61]
    assert rows[4][6] == rows[4][8] == ""  # no deviation of one value, nothing to compare with


def test_what_does_not_count_is_listed_with_its_reason():
    data = Dataset(
        [("128x128", 10.9, 60.0, None), ("128x128", 10.9, 1816.0, "elapsed longer than 29.0 min"),
         ("128x128", 10.9, 1816.0, "elapsed longer than 29.0 min")],
        [(None, None, 6.0, None), ("128x128", 10.9, None, None)],
    )  # fmt: skip

    report = comparison(data)

    (left_out,) = (t for t in report.tables if t.name == "left-out")
    assert left_out.data.rows() == [
        ("file_transfer", "128x128", "elapsed longer than 29.0 min", 2),
        ("streaming", "128x128", "no duration", 1),
        ("streaming", None, "in no scan range: the size is unknown", 1),
    ]
    assert "No size has both methods" in report.intro[0]


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
    assert max(values) <= edges[-1]
    assert len(edges) <= MAX_BINS + 1


@pytest.mark.slow
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
