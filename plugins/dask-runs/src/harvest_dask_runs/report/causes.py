"""What the time of a run went to, along its critical path: parts, over time, by kind of task."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from harvest.model.frames import seconds
from harvest.toolkit.amounts import seconds_in_words, share_in_words
from harvest_report import Column, Plot, Section, Table, legend, seconds_axis

from ..critical.path import COLUMN_OF_PART, COMPUTING, PARTS, UNRECORDED
from ..trace.tracks import microseconds_since
from .figures import COLOURS, time_per_cell
from .stream import GREY, OCCUPANCY_COLUMNS, SINCE

COLOUR = dict(zip(PARTS, (*COLOURS, GREY), strict=True))


def time_sections(path: pl.DataFrame, judged: dict[str, Any], start: int) -> list[Section]:
    """The sections; none where no execution was seen to end.

    path: of one run; judged: its row of ``dask.indicators``; start: in microseconds of the epoch.
    """
    if path.is_empty():
        return []
    return [_division(judged), _picture(path, start), _kinds(path, judged["span_s"])]


def time_sentence(judged: dict[str, Any]) -> str | None:
    """What the most of the time went to, along the critical path."""
    span = judged["span_s"]
    if judged["path_computing_s"] is None or not span:
        return None
    parts = {part: judged[name] for part, name in COLUMN_OF_PART.items() if judged[name]}
    most = sorted(parts, key=lambda part: -parts[part])[:3]
    shares = ", ".join(f"{share_in_words(parts[part] / span)} {part}" for part in most)
    return (
        f"Along its critical path of {judged['path_tasks']:,} tasks, the {seconds_in_words(span)} "
        f"between the first task and the end of the last went to: {shares}."
    )


def _division(judged: dict[str, Any]) -> Table:
    span = judged["span_s"]
    spent = [(part, judged[COLUMN_OF_PART[part]]) for part in PARTS]
    schema = {"part": pl.String, "seconds": pl.Float64}
    rows = pl.DataFrame([*spent, ("all together", span)], schema=schema, orient="row")
    return Table(
        "time",
        rows.with_columns(share=pl.col("seconds") / span if span else pl.lit(None, pl.Float64)),
        (
            Column("part", "time went to"),
            Column("seconds", "time", "s", ",.3f"),
            Column("share", "share", None, ".1%", doc="of all of this time"),
        ),
        title="Where the time went",
        note="From the start of the first execution to the end of the last, each moment once: the "
        "critical path goes back from the execution that ended last to what let it begin, and so "
        f"on. What has no value is not recorded, and is a part of: {UNRECORDED}.",
    )


def _picture(path: pl.DataFrame, start: int) -> Plot:
    placed = path.with_columns(microseconds_since(start, pl.col("start", "end")))
    first, last = placed["start"][0], max(placed["end"][-1], placed["start"][0] + 1)
    shifted = placed.with_columns(pl.col("start", "end") - first)
    cells = time_per_cell(shifted, ["part"], OCCUPANCY_COLUMNS, last - first)
    width = (last - first) / OCCUPANCY_COLUMNS
    edges = np.linspace(first / 1e6, last / 1e6, OCCUPANCY_COLUMNS + 1)
    present = [part for part in PARTS if part in set(path["part"])]
    grid = {part: np.zeros(OCCUPANCY_COLUMNS) for part in present}
    for part, column, micros in cells.select("part", "column", "covered").iter_rows():
        grid[part][column] = micros / width

    def draw(figure: Any) -> None:
        from matplotlib.patches import Patch  # optional: the extra "report"

        axes = figure.subplots()
        below = np.zeros(OCCUPANCY_COLUMNS)
        for part, height in grid.items():
            axes.stairs(below + height, edges, baseline=below, fill=True, color=COLOUR[part])
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
        "What each part of the time went to, along the critical path: the share of "
        f"{', '.join(present)}.",
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
        .with_columns(share=pl.col("micros") / 1e6 / span if span else pl.lit(None, pl.Float64))
    )
    return Table(
        "critical-path",
        rows,
        (
            "prefix",
            Column("link", "began after", doc="what let them begin: a thread that was left, a "
                   "dependency, their client, or by time alone; none for the first of the path"),
            Column("tasks", doc="tasks of the critical path"),
            Column("computing_s", "executed", "s", ",.3f"),
            Column("waiting_s", "waited", "s", ",.3f", doc="from the end of what they followed"),
            Column("share", "share", None, ".1%", doc="of the whole time"),
            Column("longest_s", "longest", "s", ",.3f", doc="execution of one task"),
            Column("longest", "task", format="id"),
        ),
        title="Kinds of tasks on the critical path",
        note="The view dask.critical_path has each task, what it followed, and what it waited for.",
    )  # fmt: skip
