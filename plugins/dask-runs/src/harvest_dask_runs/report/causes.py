"""Where the time of a run went, along its critical path: parts, over time, by kind of task."""

from typing import Any

import numpy as np
import polars as pl

from harvest.model.frames import seconds
from harvest.toolkit.amounts import count_in_words, seconds_in_words, share_in_words
from harvest_report import Column, Plot, Section, Table, legend, seconds_axis
from harvest_report.over_time import Window
from harvest_toolkit.frames import fraction

from ..critical_path import COLUMN_OF_PART, COMPUTING, PARTS, UNRECORDED
from ..trace.tracks import microseconds_since
from .stream import COLOURS, GREY, OCCUPANCY_COLUMNS, SINCE, mean_at_once

COLOUR = dict(zip(PARTS, (*COLOURS, GREY), strict=True))


def time_sections(path: pl.DataFrame, indicators: dict[str, Any], start: int) -> list[Section]:
    """Build the sections; none if no execution was seen to end.

    path: of one run; indicators: its row of ``dask.indicators``; start: microseconds of the epoch.
    """
    if path.is_empty():  # no execution was seen to end
        return []
    return [_division(indicators), _picture(path, start), _kinds(path, indicators["span_s"])]


def time_sentence(indicators: dict[str, Any]) -> str | None:
    """Name the largest parts of the time along the critical path."""
    span = indicators["span_s"]
    if indicators["path_computing_s"] is None or not span:
        return None
    parts = {part: indicators[name] for part, name in COLUMN_OF_PART.items() if indicators[name]}
    most = sorted(parts, key=lambda part: -parts[part])[:3]
    shares = ", ".join(f"{share_in_words(parts[part] / span)} {part}" for part in most)
    return (
        f"Critical path of {count_in_words(indicators['path_tasks'], 'task')}, "
        f"{seconds_in_words(span)}: {shares}."
    )


def _division(indicators: dict[str, Any]) -> Table:
    span = indicators["span_s"]
    spent = [(part, indicators[COLUMN_OF_PART[part]]) for part in PARTS]
    schema = {"part": pl.String, "seconds": pl.Float64}
    rows = pl.DataFrame([*spent, ("all together", span)], schema=schema, orient="row")
    return Table(
        "time",
        rows.with_columns(share=fraction("seconds", pl.lit(span, pl.Float64))),
        (
            Column("part", "part"),
            Column("seconds", "time", "s", ",.3f"),
            Column("share", "share", None, ".1%", doc="of the whole time"),
        ),
        title="Where the time went",
        note="From the start of the first execution to the end of the last. The critical path "
        "leads from the execution that ended last back to what let it begin, and so on. "
        f"Parts without a value are not recorded; their time is in: {UNRECORDED}.",
    )


def _picture(path: pl.DataFrame, start: int) -> Plot:
    placed = path.with_columns(microseconds_since(start, pl.col("start", "end")))
    first, last = placed["start"][0], max(placed["end"][-1], placed["start"][0] + 1)
    edges = np.linspace(first / 1e6, last / 1e6, OCCUPANCY_COLUMNS + 1)
    present = [part for part in PARTS if part in set(path["part"])]
    grid = mean_at_once(placed, "part", present, Window(first, last - first, OCCUPANCY_COLUMNS))

    def draw(figure: Any) -> None:
        from matplotlib.patches import Patch, StepPatch  # optional: the extra "report"

        axes = figure.subplots()
        below = np.zeros(OCCUPANCY_COLUMNS)
        for part, height in zip(present, grid, strict=True):
            # the limits are known; ``stairs`` would look for them step by step
            colour = {"facecolor": COLOUR[part], "linewidth": 0}
            axes.add_artist(StepPatch(below + height, edges, baseline=below, fill=True, **colour))
            below = below + height
        axes.set_ylim(0, 1)
        axes.set_xlim(edges[0], edges[-1])
        axes.set_yticks([])
        axes.grid(visible=False)
        seconds_axis(axes.xaxis, last / 1e6, SINCE)
        legend(figure, [Patch(color=COLOUR[part], label=part) for part in present])

    return Plot(
        "critical-path-over-time",
        draw,
        "Critical path over time",
        f"Shares of the time along the critical path: {', '.join(present)}.",
        size=(9.4, 1.7),
    )


def _kinds(path: pl.DataFrame, span: float) -> Table:
    micros = (pl.col("end") - pl.col("start")).dt.total_microseconds()
    executed = pl.col("part") == COMPUTING
    rows = (
        path.with_columns(micros=micros)
        .group_by("prefix", "link")
        .agg(
            tasks=executed.sum().cast(pl.Int64),
            micros=pl.col("micros").sum(),
            computing_s=seconds(pl.col("micros").filter(executed).sum()),
            waiting_s=seconds(pl.col("micros").filter(~executed).sum()),
            longest_s=pl.col("seconds").filter(executed).max(),
            longest=pl.col("key")
            .filter(executed)
            .sort_by(pl.col("micros").filter(executed))
            .last(),
        )
        .sort("micros", "prefix", "link", descending=[True, False, False])
        .with_columns(share=fraction(pl.col("micros") / 1e6, pl.lit(span)))
    )
    return Table(
        "critical-path",
        rows,
        (
            "prefix",
            Column("link", "began after", doc="what let them begin: a free thread, a dependency, "
                   "the client, or time alone; empty for the first"),
            Column("tasks", doc="tasks of the critical path"),
            Column("computing_s", "executed", "s", ",.3f"),
            Column("waiting_s", "waited", "s", ",.3f", doc="from the end of the task before"),
            Column("share", "share", None, ".1%", doc="of the whole time"),
            Column("longest_s", "longest", "s", ",.3f", doc="execution of one task"),
            Column("longest", "task", format="id"),
        ),
        title="Kinds of tasks on the critical path",
        note="The view dask.critical_path lists each task, and what it waited for.",
    )  # fmt: skip
