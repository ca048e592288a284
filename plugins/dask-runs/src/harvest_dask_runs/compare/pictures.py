"""Plots of a comparison: both sides on one scale."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from harvest.toolkit.layout import shorten
from harvest_report import Plot, legend, name_bars, seconds_axis
from harvest_report.over_time import Window

from ..report.stream import mean_at_once
from ..trace.tracks import micros_of
from .compare import Comparison
from .numbers import Numbers
from .verdict import name_of_side

CELLS: Final = 300
"""Number of time spans in a plot, each with its mean."""
NAMED: Final = 5
"""Number of kinds of tasks with their own colour: as many as readers can distinguish."""
BARS: Final = 12


def kinds_plot(found: Comparison) -> Plot | None:
    """Draw the time of each kind of tasks, before and after; None if none is known of both."""
    rows = found.rows.filter(pl.col("difference") != 0, part="prefix", measure="total_s")
    shown = rows.head(BARS)
    if shown.is_empty():
        return None
    most = max(shown["before_high"].max(), shown["after_high"].max())  # type: ignore[type-var]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        places = np.arange(shown.height)
        for side, colour, shift in (("before", "C5", -0.2), ("after", "C0", 0.2)):
            mean, low, high = (
                shown[name].to_numpy() for name in (side, f"{side}_low", f"{side}_high")
            )
            axes.barh(places + shift, mean, 0.36, color=colour, label=side)
            if (high > low).any():
                axes.errorbar(mean, places + shift, xerr=[mean - low, high - mean], fmt="none",
                              ecolor="C4", elinewidth=1.2, capsize=2)  # fmt: skip
        name_bars(axes, [shorten(name, 32, "id") for name in shown["name"]])
        seconds_axis(axes.xaxis, most, "of executions, of all threads")
        legend(figure)

    left_out = f" The {rows.height - BARS} others differ less." if rows.height > BARS else ""
    return Plot(
        "time",
        draw,
        "Time of kinds, before and after",
        f"Time of all executions by kind, the largest difference first; lines span several runs."
        f"{left_out}",
        size=(7.5, 1.4 + 0.42 * shown.height),
    )


def occupancy_plot(found: Comparison) -> Plot | None:
    """Draw how many tasks ran at the same time, by kind, in the median run of each side."""
    sides = [_middle(side) for side in (found.before, found.after)]
    spans = [side.known["span_s"] for side in sides]
    if None in spans:
        return None
    longest = max(spans)
    weights = (
        pl.concat(side.tasks for side in sides).group_by("prefix").agg(pl.col("seconds").sum())
    )
    prefixes = weights.sort("seconds", "prefix", descending=[True, False])["prefix"].to_list()
    named, others = prefixes[:NAMED], len(prefixes) > NAMED
    labels = [*named, *(["others"] if others else [])]
    layers = [_layers(side, named, others, longest) for side in sides]
    most = max(float(each.sum(axis=0).max()) for each in layers)
    titles = [
        name_of_side(which, [side], [other])
        for which, side, other in (("before", *sides), ("after", *reversed(sides)))
    ]

    def draw(figure: Any) -> None:
        edges = np.linspace(0, longest, CELLS + 1)
        panels = figure.subplots(2, 1, sharex=True, sharey=True)
        for axes, heights, title, span in zip(panels, layers, titles, spans, strict=True):
            below = np.zeros(CELLS)
            for number, (label, height) in enumerate(zip(labels, heights, strict=True)):
                axes.stairs(below + height, edges, baseline=below, fill=True, color=f"C{number}",
                            label=label if axes is panels[0] else None)  # fmt: skip
                below = below + height
            axes.axvline(span, color="C5", linewidth=1.0, linestyle="--")
            axes.set_title(title, fontsize=9, loc="left")
            axes.set_ylabel("tasks running")
        panels[0].set_ylim(0, most * 1.05)
        panels[0].set_xlim(0, longest * 1.02)
        seconds_axis(panels[1].xaxis, longest, "since the first execution")
        legend(figure)

    several = len(found.before) > 1 or len(found.after) > 1
    middle = " Of several runs, the median one is shown." if several else ""
    return Plot(
        "occupancy",
        draw,
        "Tasks that ran at the same time",
        f"Running tasks by kind, before above, after below. Dashed: end of the last execution."
        f"{middle}",
        size=(7.5, 4.6),
    )


def _middle(side: Sequence[Numbers]) -> Numbers:
    """Return the run with the median span of a side; the lower of two."""
    known = [run for run in side if run.known["span_s"] is not None]
    ordered = sorted(known, key=lambda run: run.known["span_s"]) or list(side)
    return ordered[(len(ordered) - 1) // 2]


def _layers(
    side: Numbers, named: Sequence[str], others: bool, longest: float
) -> npt.NDArray[np.float64]:
    """Count the tasks of each kind that ran at the same time in each cell of time, on average."""
    placed = side.tasks.drop_nulls(["began", "ended"]).select(
        prefix=pl.when(pl.col("prefix").is_in(named)).then("prefix"),
        start=pl.col("began").dt.epoch("us"),
        end=pl.col("ended").dt.epoch("us"),
    )
    first = micros_of(side.known["first_start"])
    groups = [*named, *([None] if others else [])]
    window = Window(first, max(round(longest * 1e6), 1), CELLS)
    return mean_at_once(placed, "prefix", groups, window)


def workers_plot(found: Comparison) -> Plot | None:
    """Draw the busy time of each side's workers, the busiest first; None if none is known."""
    times = {
        side: [run.workers["busy_s"].drop_nulls().to_numpy() for run in runs]
        for side, runs in (("before", found.before), ("after", found.after))
    }
    every = [each for runs in times.values() for each in runs if len(each)]
    if len(every) < 2:
        return None

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for side, colour in (("before", "C5"), ("after", "C0")):
            for number, each in enumerate(times[side]):
                axes.plot(np.arange(1, len(each) + 1), each, color=colour, marker=".",
                          drawstyle="steps-mid", label=None if number else side)  # fmt: skip
        axes.set_ylim(0, None)
        axes.set_xlabel("workers, the busiest first")
        axes.xaxis.get_major_locator().set_params(integer=True)
        seconds_axis(axes.yaxis, max(float(each.max()) for each in every), "of executions")
        legend(figure)

    return Plot(
        "balance",
        draw,
        "Busy time of workers",
        "Time of executions by worker, the busiest first, with a line for each run. A level line "
        "means balanced work; workers that were not observed are left out.",
        size=(7.5, 3.0),
    )
