"""The plots of the reports on jobs."""

import math
from typing import Any

import polars as pl

from harvest.toolkit.amounts import seconds_in_words
from harvest.toolkit.layout import shorten
from harvest_report import INK, Plot, legend, name_bars

from ..calendar import Zone
from .words import hours_in_words, known_sum

TICKS = (
    (1, "1 s"), (10, "10 s"), (60, "1 min"), (600, "10 min"), (3600, "1 h"), (6 * 3600, "6 h"),
    (86400, "1 d"), (7 * 86400, "1 week"), (30 * 86400, "30 d"), (365 * 86400, "1 year"),
)  # fmt: skip
POINTS_AS_SHAPES = 2000
PIECES = 20
MARKERS = "os^Dvp"
"""Markers of partitions, for readers who cannot distinguish all colours."""
SHOWN_PARTITIONS = 5
SHOWN_BARS = 15


def histogram(waits: pl.DataFrame) -> Plot:
    """Plot how many jobs waited how long, on a logarithmic scale of time."""
    values = waits["wait_s"]
    median, p90 = (values.quantile(q, interpolation="linear") or 0.0 for q in (0.5, 0.9))

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        last = max(math.ceil(math.log10(max(_longest(values), 10.0)) * 4), 4)
        edges = [10 ** (k / 4) for k in range(-1, last + 1)]
        # waits below a second are in the first bin
        shown = values.clip(0.75, edges[-1]).to_list()
        axes.hist(shown, bins=edges, color="C0", histtype="stepfilled")
        for name, place, style in (("median", median, "--"), ("90 %", p90, ":")):
            label = f"{name}: {seconds_in_words(place)}"
            axes.axvline(max(place, 0.75), color=INK, linewidth=1.2, linestyle=style, label=label)
        _time_axis(axes.xaxis, edges[-1])
        axes.set_xlim(edges[0], edges[-1])
        axes.set_xlabel("wait from submission to start (first bar: up to 1 s)")
        axes.set_ylabel("jobs")
        axes.yaxis.get_major_locator().set_params(integer=True)
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.grid(visible=False, axis="x")
        legend(figure)

    return Plot(
        "histogram",
        draw,
        "How long jobs waited",
        f"Histogram of the waits of {values.len():,} jobs, logarithmic. Half of them waited at "
        f"most {seconds_in_words(median)}, 9 of 10 at most {seconds_in_words(p90)}.",
        size=(7.5, 3.2),
    )


def scatter(waits: pl.DataFrame, zone: Zone) -> Plot:
    """Plot each job's wait by its submission time, coloured by partition."""
    points, labels = _by_partition(waits, zone)

    def draw(figure: Any) -> None:
        from matplotlib.colors import to_rgba_array  # optional: only plots need it

        axes = figure.subplots()
        many = points.height > POINTS_AS_SHAPES
        palette = to_rgba_array([f"C{number}" for number in range(len(labels))])
        # by time, in pieces: else the last partition would hide the others
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

    shown = f", coloured by {len(labels)} partitions" if len(labels) > 1 else ""
    return Plot(
        "by-date",
        draw,
        "Waits by submission date",
        f"{points.height:,} jobs by submission date and wait{shown}. The scale of waits is "
        "logarithmic, from 1 s.",
        size=(6.0, 3.6),
    )


def _by_partition(waits: pl.DataFrame, zone: Zone) -> tuple[pl.DataFrame, list[str]]:
    """Return submission times and waits with the number of each job's group, and the labels."""
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


def cpu_hours(keys: list[str], groups: pl.DataFrame) -> Plot:
    """Plot the CPU hours of the largest groups; their jobs if no CPU hours are known."""
    measure = "cpu_hours" if groups["cpu_hours"].count() else "jobs"
    label = "CPU hours" if measure == "cpu_hours" else "jobs"
    head = groups.drop_nulls(measure).head(SHOWN_BARS)
    rows = pl.DataFrame({"name": _names(head, keys), measure: head[measure]})
    title = f"{label} by {', '.join(keys)}"
    alt = f"{title}: {rows.height} of {groups.height} rows of the table."
    alt += f" The first is {rows['name'][0]} with {rows[measure][0]:,.0f}."
    return _counts("users" if keys == ["user"] else "groups", title, rows, label, alt)


def states(by_state: pl.DataFrame) -> Plot:
    """Plot the number of jobs by state."""
    counts = by_state.select("state", "jobs")
    rows = counts.sort("jobs", "state", descending=[True, False], nulls_last=True)
    listed = ", ".join(f"{state or 'unknown'} {jobs:,}" for state, jobs in rows.iter_rows())
    return _counts("states", "Jobs by state", rows, "jobs", f"Jobs by state: {listed}.")


def by_month(months: pl.DataFrame) -> Plot:
    """Plot CPU hours by month as bars, and those of the year before as markers."""
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
        # as many names as fit
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
        f"CPU hours of {len(names)} months from {names[0]} to {names[-1]}: most in {names[most]}, "
        f"{hours_in_words(hours[''][most] or 0.0)}."
        + (f" Markers show {len(known)} of these months a year before." if known else ""),
        size=(7.5, 3.0),
    )


def reasons(by_reason: pl.DataFrame) -> Plot:
    """Plot the number of failed runs by reason."""
    rows = by_reason.select("reason", "jobs")
    listed = ", ".join(f"{jobs:,} {reason}" for reason, jobs in rows.iter_rows())
    shown = rows.head(SHOWN_BARS)
    return _counts("by-reason", "Failed runs by reason", shown, "runs", f"Failed runs: {listed}.")


def used_and_wasted(groups: pl.DataFrame, keys: list[str]) -> Plot:
    """Plot the CPU hours of groups as stacked bars: used, wasted, and with unknown use."""
    parts = {"used": "C0", "wasted": "C1", "unknown": "C3"}
    head = of_most_hours(groups, SHOWN_BARS)
    names = _names(head, keys)
    hours = {part: head[f"cpu_{part}_hours"] for part in parts}
    # a group may have used more than it was allocated; unknown hours have no bar
    values = {part: column.fill_null(0.0).clip(lower_bound=0.0).to_list()
              for part, column in hours.items()}  # fmt: skip

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        ends = [0.0] * len(names)
        for part, colour in parts.items():
            if not any(values[part]):
                continue
            label = "use unknown" if part == "unknown" else part
            axes.barh(range(len(names)), values[part], left=ends, height=0.7, color=colour,
                      label=label)  # fmt: skip
            ends = [end + value for end, value in zip(ends, values[part], strict=True)]
        _name_axes(axes, names, "CPU hours")
        legend(figure)

    sums = {part: known_sum(groups[f"cpu_{part}_hours"]) for part in parts}
    listed = ", ".join(f"{hours_in_words(s)} {part}" for part, s in sums.items() if s is not None)
    return Plot(
        "cpu-hours",
        draw,
        "CPU hours used and wasted",
        f"CPU hours of the {len(names)} of {groups.height:,} groups with most of them, the first "
        f"is {names[0]}. All groups together: {listed}.",
        size=(6.0, 1.3 + 0.26 * max(len(names), 2)),
    )


def of_most_hours(groups: pl.DataFrame, shown: int) -> pl.DataFrame:
    """Keep the groups with the most allocated CPU hours, in their order."""
    most = groups.with_columns(pl.int_range(pl.len()).alias("#")).sort(
        "cpu_hours", "jobs", "#", descending=[True, True, False], nulls_last=True
    )
    return most.head(shown).sort("#").drop("#")


def _counts(name: str, title: str, rows: pl.DataFrame, label: str, alt: str) -> Plot:
    """Plot one horizontal bar per row of a name and a number, the first on top."""
    names = _names(rows, rows.columns[:1])
    values = [float(value) for _, value in rows.iter_rows()]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        bars = axes.barh(range(len(values)), values, height=0.7, color="C0")
        axes.bar_label(bars, [f"{value:,.0f}" for value in values], padding=4)
        axes.margins(x=0.12, y=0.02)
        _name_axes(axes, names, label)
        if label != "CPU hours":
            axes.xaxis.get_major_locator().set_params(integer=True)

    return Plot(name, draw, title, alt, size=(6.0, 1.0 + 0.26 * max(len(values), 2)))


def _name_axes(axes: Any, names: list[str], label: str) -> None:
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


def _names(rows: pl.DataFrame, keys: list[str]) -> list[str]:
    known = (filter(None, row) for row in rows.select(keys).iter_rows())
    return [shorten(" ".join(names) or "unknown", 24, "id") for names in known]
