"""The plots of the reports of jobs."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from harvest.toolkit.amounts import count_in_words, seconds_in_words
from harvest_report import Plot, legend, name_bars

from ..views.calendar import Zone
from .words import hours_in_words, known_sum

TICKS = (
    (1, "1 s"), (10, "10 s"), (60, "1 min"), (600, "10 min"), (3600, "1 h"), (6 * 3600, "6 h"),
    (86400, "1 d"), (7 * 86400, "1 week"), (30 * 86400, "30 d"), (365 * 86400, "1 year"),
)  # fmt: skip
INK = "#1f2430"
POINTS_AS_SHAPES = 2000
PIECES = 20
MARKERS = "os^Dvp"
"""Marks of partitions, for those who see few colours."""
SHOWN_PARTITIONS = 5
SHOWN_BARS = 15


def histogram(waits: pl.DataFrame) -> Plot:
    """How many jobs waited how long, on a logarithmic scale of time."""
    values = waits["wait_s"]
    median, p90 = (values.quantile(q, interpolation="linear") or 0.0 for q in (0.5, 0.9))

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        last = max(math.ceil(math.log10(max(_longest(values), 10.0)) * 4), 4)
        edges = [10 ** (k / 4) for k in range(-1, last + 1)]
        # what waited less than a second is in the first bin
        shown = values.clip(0.75, edges[-1]).to_list()
        axes.hist(shown, bins=edges, color="C0", histtype="stepfilled")
        for name, place, style in (("median", median, "--"), ("90 %", p90, ":")):
            label = f"{name}: {seconds_in_words(place)}"
            axes.axvline(max(place, 0.75), color=INK, linewidth=1.2, linestyle=style, label=label)
        _time_axis(axes.xaxis, edges[-1])
        axes.set_xlim(edges[0], edges[-1])
        axes.set_xlabel("wait from submit to start; the first bar is up to 1 s")
        axes.set_ylabel("jobs")
        axes.yaxis.get_major_locator().set_params(integer=True)
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.grid(visible=False, axis="x")
        legend(figure)

    return Plot(
        "histogram",
        draw,
        "How long jobs waited",
        f"Histogram of the waits of {values.len():,} jobs on a logarithmic scale of time: half of "
        f"them waited no longer than {seconds_in_words(median)}, nine of ten no longer than "
        f"{seconds_in_words(p90)}.",
        size=(7.5, 3.2),
    )


def scatter(waits: pl.DataFrame, zone: Zone) -> Plot:
    """Each job's wait by the time of its submission, coloured by partition."""
    points, labels = _by_partition(waits, zone)

    def draw(figure: Any) -> None:
        from matplotlib.colors import to_rgba_array  # optional: only plots need it

        axes = figure.subplots()
        many = points.height > POINTS_AS_SHAPES
        palette = to_rgba_array([f"C{number}" for number in range(len(labels))])
        # by time, in pieces: else the last partition would lie on top of the others
        for piece in points.iter_slices(-(-points.height // PIECES) or 1):
            for (group,), some in piece.group_by("group", maintain_order=True):
                axes.scatter(
                    some["when"].to_numpy(),
                    some["wait_s"].to_numpy(),
                    color=palette[int(str(group))],
                    marker=MARKERS[int(str(group))],
                    s=7 if many else 13,
                    alpha=0.5 if many else 0.75,
                    linewidths=0,
                    # a page with a shape per point would be too heavy to open
                    rasterized=many,
                )
        _time_axis(axes.yaxis, max(_longest(points["wait_s"]), 10.0))
        axes.set_ylim(bottom=0.8)
        axes.set_xlabel(f"submitted ({zone.name})")
        axes.set_ylabel("wait")
        if len(labels) > 1:
            for number, label in enumerate(labels):
                look = {"marker": MARKERS[number], "color": f"C{number}"}
                axes.plot([], [], linestyle="none", label=label, **look)
            legend(figure)

    shown = f"; colours and shapes distinguish {len(labels)} partitions" if len(labels) > 1 else ""
    return Plot(
        "by-date",
        draw,
        "Waits by date of submission",
        f"Scatter plot of {points.height:,} jobs: date of submission against wait on a logarithmic "
        f"scale{shown}. Waits below one second are drawn at one second.",
        size=(7.5, 3.8),
    )


def _by_partition(waits: pl.DataFrame, zone: Zone) -> tuple[pl.DataFrame, list[str]]:
    """When and how long each job waited, with the number of its group; and the groups' labels."""
    when = zone.local(pl.coalesce("submit_time", "start_time"))
    points = waits.select(
        when.dt.replace_time_zone(None).alias("when"),
        pl.col("wait_s").clip(lower_bound=1.0),
        "partition",
    )
    counts = points["partition"].drop_nulls().value_counts()
    names = counts.sort("count", "partition", descending=[True, False])["partition"].to_list()
    own = names[:SHOWN_PARTITIONS] if len(names) > SHOWN_PARTITIONS + 1 else names
    rest = "other partitions" if own else "jobs"
    numbers = {name: number for number, name in enumerate(own)}
    group = pl.col("partition").replace_strict(numbers, default=len(own), return_dtype=pl.Int64)
    points = points.with_columns(group=group).sort("when", maintain_order=True)
    labels = [*own, rest] if points["group"].max() == len(own) else own
    return points, labels


def cpu_hours(people: pl.DataFrame) -> Plot:
    """CPU hours of the users who used most; jobs where no CPU hours are known."""
    measure = "cpu_hours" if people["cpu_hours"].count() else "jobs"
    label = "CPU hours" if measure == "cpu_hours" else "jobs"
    known = people.drop_nulls(measure)
    rows = known.head(SHOWN_BARS).select("user", measure)
    user, most = rows.row(0)
    alt = (
        f"Bars: {label} by user, {rows.height} of {people.height} rows of the table; the first is "
        f"{user or 'a user not known'} with {most:,.0f}."
    )
    if without := people.height - known.height:
        alt += f" Of {without:,} rows the {label} are not known."
    return _counts("users", f"{label} by user", rows, label, alt)


def states(by_state: pl.DataFrame) -> Plot:
    """Jobs by state."""
    counts = by_state.select("state", "jobs")
    rows = counts.sort("jobs", "state", descending=[True, False], nulls_last=True)
    listed = ", ".join(f"{state or 'unknown'} {jobs:,}" for state, jobs in rows.iter_rows())
    return _counts("states", "Jobs by state", rows, "jobs", f"Bars: {listed}.")


def by_month(months: pl.DataFrame) -> Plot:
    """CPU hours by month as bars, those of the year before as marks above them."""
    names = months["month"].to_list()
    hours = {name: months[f"{name}cpu_hours"] for name in ("", "year_before_")}
    known = [value for value in hours["year_before_"].to_list() if value is not None]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        places = list(range(len(names)))
        heights = hours[""].fill_null(0.0).to_list()
        axes.bar(places, heights, width=0.7, color="C0", label="CPU hours")
        if known:
            before = hours["year_before_"].cast(float).fill_null(math.nan).to_list()
            axes.plot(places, before, "D", color="C1", markersize=5, label="a year before")
            legend(figure)
        # as many names as have room
        step = -(-len(names) // 12)
        axes.set_xticks(places[::step], names[::step])
        axes.set_ylim(bottom=0)
        axes.set_ylabel("CPU hours")
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.grid(visible=False, axis="x")

    most = max(range(len(names)), key=lambda place: hours[""][place] or 0.0)
    return Plot(
        "by-month",
        draw,
        "CPU hours by month",
        f"Bars, {len(names)} months from {names[0]} to {names[-1]}: most in {names[most]}, "
        f"{hours_in_words(hours[''][most] or 0.0)}"
        + (f"; marks: {len(known)} of these months a year before." if known else "."),
        size=(7.5, 3.0),
    )


def reasons(by_reason: pl.DataFrame) -> Plot:
    """Runs that failed, by reason."""
    rows = by_reason.select("reason", "jobs")
    listed = ", ".join(f"{jobs:,} {reason}" for reason, jobs in rows.iter_rows())
    shown = rows.head(SHOWN_BARS)
    return _counts("by-reason", "Failed jobs by reason", shown, "jobs", f"Bars: {listed}.")


def used_and_wasted(groups: pl.DataFrame, keys: list[str]) -> Plot:
    """CPU hours that groups used, wasted, and whose use is not known, as bars of one length."""
    parts = {"used": "C0", "wasted": "C1", "unknown": "C3"}
    head = of_most_hours(groups, SHOWN_BARS)
    names = [
        _shortened(" ".join(text for text in row if text is not None) or None)
        for row in head.select(keys).iter_rows()
    ]
    hours = {part: head[f"cpu_{part}_hours"] for part in parts}
    # a group may have used more than it was given; what is not known has no bar
    values = {part: column.fill_null(0.0).clip(lower_bound=0.0).to_list()
              for part, column in hours.items()}  # fmt: skip

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        ends = [0.0] * len(names)
        for part, colour in parts.items():
            if not any(values[part]):
                continue
            label = "use not known" if part == "unknown" else part
            axes.barh(range(len(names)), values[part], left=ends, height=0.7, color=colour,
                      label=label)  # fmt: skip
            ends = [end + value for end, value in zip(ends, values[part], strict=True)]
        _name_axes(axes, names, "CPU hours")
        legend(figure)

    listed = "; ".join(
        f"{name} {_parts_in_words(*amounts)}"
        for name, *amounts in zip(names[:5], *hours.values(), strict=False)
    )
    more = "; and others" if len(names) > 5 else ""
    whole = [known_sum(groups[f"cpu_{part}_hours"]) for part in parts]
    shown = count_in_words(len(names), "group")
    if len(names) < groups.height:
        shown = f"the {len(names)} of {groups.height:,} groups that were given most"
    return Plot(
        "cpu-hours",
        draw,
        "CPU hours used and wasted",
        f"Bars in parts, {shown}: {listed}{more}. All groups together: {_parts_in_words(*whole)}.",
        size=(7.5, 1.3 + 0.26 * max(len(names), 2)),
    )


def of_most_hours(groups: pl.DataFrame, shown: int) -> pl.DataFrame:
    """The groups that were given the most CPU hours, whatever they used, in the order they had."""
    place = pl.int_range(pl.len()).alias("#")
    most = groups.with_columns(place).sort(
        "cpu_hours", "jobs", "#", descending=[True, True, False], nulls_last=True
    )
    return most.head(shown).sort("#").drop("#")


def _parts_in_words(used: float | None, wasted: float | None, unknown: float | None) -> str:
    """``3 used and 1 wasted, use of 2 not known``: the parts that are known."""
    known = ""
    if used is not None and wasted is not None:
        known = f"{hours_in_words(used)} used and {hours_in_words(wasted)} wasted"
    rest = f"use of {hours_in_words(unknown)} not known" if unknown else ""
    return ", ".join(filter(None, (known, rest))) or "CPU hours not known"


def _counts(name: str, title: str, rows: pl.DataFrame, label: str, alt: str) -> Plot:
    """Horizontal bars: a name and a number per row, the first on top."""
    names = [_shortened(text) for text, _ in rows.iter_rows()]
    values = [float(value) for _, value in rows.iter_rows()]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        bars = axes.barh(range(len(values)), values, height=0.7, color="C0")
        axes.bar_label(bars, [f"{value:,.0f}" for value in values], padding=4)
        axes.margins(x=0.12, y=0.02)
        _name_axes(axes, names, label)
        if label == "jobs":
            axes.xaxis.get_major_locator().set_params(integer=True)

    return Plot(name, draw, title, alt, size=(7.5, 1.0 + 0.26 * max(len(values), 2)))


def _name_axes(axes: Any, names: list[str], label: str) -> None:
    """What the bars are of; label: of their lengths, which begin with 0."""
    name_bars(axes, names)
    axes.set_xlim(left=0)
    axes.set_xlabel(label)
    axes.xaxis.set_major_formatter("{x:,.0f}")


def _time_axis(axis: Any, longest: float) -> None:
    # optional: only plots need it
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    shown = [(seconds, text) for seconds, text in TICKS if seconds <= longest * 1.05]
    axis.set_major_locator(FixedLocator([seconds for seconds, _ in shown]))
    axis.set_major_formatter(FixedFormatter([text for _, text in shown]))
    axis.set_minor_locator(NullLocator())


def _longest(values: pl.Series) -> float:
    return float(values.max())  # type: ignore[arg-type]


def _shortened(text: str | None) -> str:
    if text is None:
        return "not known"
    return text if len(text) <= 24 else f"{text[:23]}…"
