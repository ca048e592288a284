"""Pictures that can be read: legends beside the data, dates with years, units that fit."""

import itertools
import math
import re
from datetime import datetime, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from night import one_of_each

import harvest
from harvest_report import COLOURS, Plot, bytes_axis, legend, name_bars, seconds_axis
from harvest_report.axes import dates_in_words
from harvest_report.draw import drawn
from harvest_report.over_time import Window

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
from pictures import SPANS, flaws, laid_out  # noqa: E402 - it draws


def ticks(figure, axis: str = "xaxis") -> list[str]:
    """The labels of an axis that lie within it."""
    shown = getattr(figure.axes[0], axis)
    low, high = sorted(shown.get_view_interval())
    return [
        tick.label1.get_text() for tick in shown.get_major_ticks() if low <= tick.get_loc() <= high
    ]


def lines_over(start: str, span: timedelta) -> Plot:
    """A line over a span of time."""
    first = datetime.fromisoformat(start)

    def draw(figure):
        figure.subplots().plot([first, first + span], [0, 1])

    return Plot("dates", draw, "Dates", "A line.", size=(7.5, 3.0))


@pytest.mark.parametrize("span", SPANS.values(), ids=SPANS)
def test_dates_around_the_end_of_a_year_say_both_years(span):
    """Given a span that begins in 2025 and ends in 2026, or later."""
    start = datetime(2026, 1, 1) - span / 2
    plot = lines_over(start.isoformat(), span)

    with laid_out(plot) as (figure, found):
        labels = ticks(figure)

    years = [re.findall(r"\b20\d\d\b", label) for label in labels]
    assert years[0], labels
    assert ["2026"] in years, labels
    assert found == []


def test_a_label_carries_the_day_where_one_begins_and_the_year_where_one_begins():
    hours = [datetime(2025, 12, 31, 18) + timedelta(hours=3 * n) for n in range(4)]
    assert dates_in_words(hours) == ["18:00\n31 Dec\n2025", "21:00", "00:00\n1 Jan\n2026", "03:00"]


@given(
    st.datetimes(datetime(1990, 1, 1), datetime(2060, 1, 1)),
    st.sampled_from([1, 30, 3600, 21600, 86400, 7 * 86400, 86400 * 31, 86400 * 366]),
    st.integers(1, 9),
)
def test_from_the_labels_alone_each_year_is_known(start, gap, count):
    moments = [start + timedelta(seconds=gap * n) for n in range(count)]
    year = None
    for moment, label in zip(moments, dates_in_words(moments), strict=True):
        year = int(found[-1]) if (found := re.findall(r"\d{4}", label)) else year
        assert year == moment.year


def amounts(name: str, most: float) -> Plot:
    """A line from nothing to so many seconds, or bytes, on the vertical axis."""

    def draw(figure):
        axes = figure.subplots()
        axes.plot([0, 1], [0, most])
        if name == "seconds":
            seconds_axis(axes.yaxis, most, "since the start")
        else:
            bytes_axis(axes.yaxis, most, "read", "/s")

    return Plot("amounts", draw, "Amounts", "A line.")


@pytest.mark.parametrize(
    ("name", "most", "label", "last"),
    [
        ("seconds", 0.004, "milliseconds since the start", 4),
        ("seconds", 90.0, "seconds since the start", 90),
        ("seconds", 600.0, "minutes since the start", 10),
        ("seconds", 36_000.0, "hours since the start", 10),
        ("seconds", 10 * 86400.0, "days since the start", 10),
        ("seconds", 0.0, "seconds since the start", 0),
        ("bytes", 800.0, "read (bytes/s)", 800),
        ("bytes", 8 * 2**20, "read (MiB/s)", 8),
        ("bytes", 8 * 2**50, "read (PiB/s)", 8),
        ("bytes", 0.0, "read (bytes/s)", 0),
    ],
)
def test_the_unit_of_an_axis_fits_the_data_and_its_ticks_are_round(name, most, label, last):
    with laid_out(amounts(name, most)) as (figure, found):
        assert figure.axes[0].get_ylabel() == label
        numbers = [float(text.replace(",", "")) for text in ticks(figure, "yaxis")]
    assert max(numbers) <= last * 1.06 + 0.06
    assert max(numbers) >= last * 0.7
    assert all(len(f"{number:g}") <= 5 for number in numbers)
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize("length", [3, 24, 40])
@pytest.mark.parametrize("series", [1, 12, 60])
def test_a_legend_lies_beside_the_data_and_within_the_picture(series, length):
    def draw(figure):
        axes = figure.subplots()
        for number in range(series):
            axes.plot([0, 1], [number, 1], label=f"{number}".ljust(length, "m"))
        legend(figure)

    height = 3.0 + 0.2 * series
    assert flaws(Plot("many", draw, "Many", "Lines.", size=(7.5, height))) == []


@pytest.mark.slow
@pytest.mark.parametrize("count", [3, 12, 30])
def test_labels_of_an_axis_never_lie_over_each_other(count):
    """Given more names, numbers or dates than have room."""
    first = datetime(2025, 12, 20, 6)

    def draw(figure):
        names, numbers, dates = figure.subplots(3, 1)
        names.bar([f"partition number {n}" for n in range(count)], range(count))
        numbers.plot([0, 1], [0, 1])
        numbers.set_xticks([1e6 * n + 0.123456 for n in range(count)])
        numbers.xaxis.set_major_formatter("{x:,.6f}")
        dates.plot([first, first + timedelta(hours=9 * count)], [0, 1])
        dates.set_xticks([first + timedelta(hours=9 * n) for n in range(count)])

    assert flaws(Plot("full", draw, "Full", "Bars and lines.", size=(5.0, 6.0))) == []


def test_numbers_of_a_logarithmic_axis_have_all_their_digits():
    def draw(figure):
        figure.subplots().loglog([0.001, 1, 1e6], [1, 2, 3])

    with laid_out(Plot("log", draw, "Log", "A line.")) as (figure, _):
        assert {"0.01", "1", "1,000,000"} <= {*ticks(figure)}


# ---- colours -------------------------------------------------------------------------------------

SEEN_BY = {
    "all": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "without red cones": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "without green cones": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "without blue cones": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
"""What becomes of linear RGB: Machado, Oliveira and Fernandes (2009), severity 1."""

GROUNDS = ("#ffffff", "#15181e")
"""A light page and a dark one."""


def linear(colour: str) -> list[float]:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]


def lab(rgb: list[float]) -> list[float]:
    """CIELAB, in which a distance of about 2 is just noticed."""
    x = (0.4124 * rgb[0] + 0.3576 * rgb[1] + 0.1805 * rgb[2]) / 0.95047
    y = 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]
    z = (0.0193 * rgb[0] + 0.1192 * rgb[1] + 0.9505 * rgb[2]) / 1.08883
    fx, fy, fz = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return [116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)]


def series(page: int) -> list[str]:
    return [pair[page] for name, pair in COLOURS.items() if name.startswith("series-")]


@pytest.mark.parametrize("page", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("eyes", SEEN_BY)
def test_any_two_colours_of_a_page_can_be_distinguished(page, eyes):
    def seen(colour: str) -> list[float]:
        rows = SEEN_BY[eyes]
        rgb = linear(colour)
        mixed = [sum(m * c for m, c in zip(row, rgb, strict=True)) for row in rows]
        return lab([min(1.0, max(0.0, c)) for c in mixed])

    for one, other in itertools.combinations(series(page), 2):
        assert math.dist(seen(one), seen(other)) >= 10, (one, other)


@pytest.mark.parametrize("page", [0, 1], ids=["light", "dark"])
def test_a_colour_stands_out_from_its_page(page):
    def luminance(colour: str) -> float:
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear(colour), strict=True))

    for colour in series(page):
        darker, lighter = sorted([luminance(colour), luminance(GROUNDS[page])])
        # WCAG 2.2, 1.4.11: at least 3:1 for graphics
        assert (lighter + 0.05) / (darker + 0.05) >= 3, colour


def test_the_first_of_horizontal_bars_is_on_top_and_named():
    plot = Plot("waits", _waits, "Waits", "Bars: ada 3 s, bob 1 s.")

    with drawn(plot) as figure:
        (axes,) = figure.axes
        names = {label.get_text(): place for label, place in zip(
            axes.get_yticklabels(), axes.get_yticks(), strict=True)}  # fmt: skip
        heights = {name: axes.transData.transform((0, place))[1] for name, place in names.items()}

    assert names == {"ada": 0, "bob": 1}
    assert heights["ada"] > heights["bob"]


def _waits(figure):
    axes = figure.subplots()
    axes.barh([0, 1], [3.0, 1.0])
    name_bars(axes, ["ada", "bob"])


@pytest.mark.parametrize("span_us", [1000, 250 * 365 * 86400 * 10**6])
def test_a_piece_of_time_is_divided_among_the_columns_that_it_touches(span_us):
    window, step = Window(7, span_us, 1500), span_us / 1500
    pieces = pl.LazyFrame({"start": [7, 7 + span_us // 2], "end": [7 + span_us] * 2})
    found = window.in_columns(pieces).sort("start", "column").collect()
    assert found["column"].to_list() == [*range(1500), *range(750, 1500)]
    assert found["inside"].to_list() == pytest.approx([step] * 2250)


CHOSEN = {"dask.run": {"run": "mofka-dask"}, "gpfs.summary": {"scan": "all"}}
"""Settings of reports that want them where a dataset holds several runs or scans."""


@pytest.mark.slow
def test_every_plot_of_every_report_can_be_read(everything):
    dataset = harvest.open(everything)
    names = [
        name
        for name, spec in dataset.plugins.reports.items()
        # a change is between two scans, of which these lists do not say the times
        if name != "gpfs.change" and any(kind in dataset for kind in spec.requires or dataset)
    ]

    found = {
        f"{name}: {plot.name}": flaws(plot)
        for name in one_of_each(names)
        for plot in dataset.report(name, **CHOSEN.get(name, {})).plots
    }

    assert len(found) >= 8, "few reports have a plot"
    assert {name: flaw for name, flaw in found.items() if flaw} == {}
