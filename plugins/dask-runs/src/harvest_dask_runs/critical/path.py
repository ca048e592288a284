"""The critical path: from the execution that ended last back to what each followed.

It covers the time from the start of the first execution to the end of the last without gap or
overlap: each moment is one of its tasks being executed, or what the next one waited for.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from harvest import DatasetReader
from harvest.model.frames import seconds, types_of

from ..executions.executions import executions
from ..frames import Frames, load
from ..record_names import WAITED
from ..views.declared.tasks import PATH_COLUMNS
from .links import dependencies, linked
from .waits import COMPUTING, PARTS, UNRECORDED, known_parts, with_waits

_TYPES: Final = types_of(PATH_COLUMNS)
STEPS: Final = {
    name: _TYPES[name]
    for name in (
        *("run", "step", "part", "start", "end", "seconds"),
        *("key", "prefix", "worker", "thread", "link", "after"),
    )
}
"""Columns of the path; ``step`` numbers its tasks, whose waiting is in rows before their own."""

COLUMN_OF_PART: Final = dict(
    zip(
        PARTS,
        (f"path_{name}_s" for name in (
            *("computing", "moving", "spilling", "worker", "dependencies", "unrecorded"),
        )),
        strict=True,
    )
)  # fmt: skip


def critical_path_view(dataset: DatasetReader, *, run: str | None = None) -> pl.LazyFrame:
    """The view ``dask.critical_path``: the path of each run, in order of time."""
    frames = load(dataset, WAITED, run=run)
    return critical_path(executions(frames).collect(), frames).lazy()


def critical_path(found: pl.DataFrame, frames: Frames) -> pl.DataFrame:
    """The critical path of each run, in order, from its executions.

    frames: those that executions are made from, and graphs, transfers and samples.
    """
    needs = dependencies(frames)
    ended = linked(found, frames, needs)
    steps = _walked(ended)
    if steps.is_empty():
        return pl.DataFrame(schema=STEPS)
    first = pl.col("start").min().over("run")
    begins = ended.select("run", first=first).unique()
    # a task that ended after the next had begun, by the clocks, held that until then
    until = pl.min_horizontal("end", pl.col("start").shift(-1).over("run"))
    held = (
        steps.join(begins, on="run")
        .with_columns(end=pl.coalesce(until, "end"), after=pl.col("key").shift(1).over("run"))
        .with_columns(since=pl.coalesce(pl.col("end").shift(1).over("run"), "first"))
    )
    gaps = held.select(
        "row", "run", "key", "worker", start="since", end="start"
    ).filter(pl.col("start") < pl.col("end"))  # fmt: skip
    waits = with_waits(gaps, frames, needs)
    rows = pl.concat(
        [waits, held.select("row", "start", "end", part=pl.lit(COMPUTING))], how="diagonal"
    )
    about = held.drop("start", "end")
    spent = (pl.col("end") - pl.col("start")).dt.total_microseconds()
    return (
        rows.join(about, on="row")
        .sort("run", "step", "start", "end")
        .with_columns(seconds=seconds(spent))
        .select(pl.col(name).cast(kind) for name, kind in STEPS.items())
    )


def _walked(ended: pl.DataFrame) -> pl.DataFrame:
    """The executions on the paths of all runs, with ``step``, from 1."""
    before = ended["before"].to_list()
    last = ended.group_by("run").agg(pl.col("row").sort_by("end", "row").last())["row"]
    rows: list[int] = []
    for row in last.to_list():
        place: int | None = row
        while place is not None:
            rows.append(place)
            place = before[place]
    one = pl.DataFrame({"row": rows}, schema={"row": pl.Int64}).sort("row")
    return (
        ended.join(one, on="row", how="semi")
        .sort("row")
        .with_columns(step=pl.int_range(1, pl.len() + 1).over("run"))
    )


def division(path: pl.DataFrame, frames: Frames) -> pl.DataFrame:
    """What the time of each run went to: run and COLUMN_OF_PART, which add up to the whole.

    A part of which the run has no record is null, and its time with UNRECORDED.
    """
    micros = (pl.col("end") - pl.col("start")).dt.total_microseconds()
    sums = path.group_by("run").agg(
        seconds(micros.filter(pl.col("part") == part).sum()).alias(part) for part in PARTS
    )
    known = known_parts(frames).select("run", pl.exclude("run").name.prefix("knows "))
    return sums.join(known, on="run", how="left").select(
        "run",
        *(
            (pl.col(part) if part == UNRECORDED else pl.when(f"knows {part}").then(part)).alias(
                name
            )
            for part, name in COLUMN_OF_PART.items()
        ),
    )
