"""The execution that each execution followed: the one whose end let it begin.

Of all reasons that delayed an execution, the one that ended last counts:

- ``thread``: another execution left the thread while the task was ready for one (``due``: since it
  was queued by the scheduler, or ready on its worker; if neither is recorded, since its
  dependencies had ended).  If the thread is unknown, the one that ended last on the worker.
- ``dependency``: the dependency that ended last, by the graph, or by the scheduler's record of the
  task whose end released it.
- ``client``: it was sent to the scheduler after its dependencies had ended: the execution that
  ended last before it was sent.
- ``time``: none of these is recorded: the execution that ended last before it was due.

Times are those of executions, and the scheduler's for its own records; its clock may differ.
"""

from typing import Final

import polars as pl

from harvest_toolkit.frames import first_text

from .frames import Frames
from .windows import completions

QUEUED: Final = ("queued", "no-worker")
"""States of the scheduler in which a task waits for any worker."""
READY: Final = ("ready", "constrained")
"""States of a worker in which a task waits for a thread, or for another resource."""


def dependencies(frames: Frames) -> pl.LazyFrame:
    """List the recorded dependencies of each task: run, key, dependency."""
    moves, into = frames["dask.task_transition"], pl.col("finish_state")
    released = moves.filter(
        pl.col("start_state") == "waiting", into.is_in(["processing", "no-worker"])
    ).select("run", "stimulus_id", "key")
    ended = completions(moves).select("run", "stimulus_id", dependency="key")
    needed = frames["dask.graph_task"].select("run", "key", dependency="dependencies")
    return pl.concat(
        [
            needed.explode("dependency").drop_nulls("dependency"),
            released.join(ended, on=["run", "stimulus_id"]).select("run", "key", "dependency"),
        ]
    ).unique()


def linked(found: pl.DataFrame, frames: Frames, needs: pl.LazyFrame) -> pl.DataFrame:
    """Link executions that were seen to end: by run and start, with ``row``, ``link``, ``before``.

    before: the row of the execution that it followed, always a smaller number; null for none.
    """
    ended = (
        found.drop_nulls(["start", "end"])
        .sort("run", "start", "end", "key", "worker", nulls_last=True)
        .with_columns(row=pl.int_range(pl.len()))
    )
    recorded = (frames[name] for name in ("dask.graph_task", "dask.task_transition"))
    times = pl.concat(frame.select("run", "key", "time") for frame in recorded)
    first_times = times.group_by("run", "key").agg(sent=pl.col("time").min()).collect()
    known = (
        ended.select("row", "run", "worker", "key", "thread", "start")
        .join(_needed(ended, needs), on="row", how="left")
        .join(first_times, on=["run", "key"], how="left")
        .pipe(_with_due, ended, frames)
        .with_columns(ready=pl.coalesce("due", "start"))
    )
    due = pl.coalesce("due", pl.max_horizontal("needed_end", "sent"))
    free = _last_ended(known, ended, "start", ["run", "worker", "thread"])
    unthreaded = known.filter(pl.col("thread").is_null(), pl.col("due").is_not_null())
    beside = _last_ended(unthreaded, ended, "start", ["run", "worker"])
    sent = _last_ended(known, ended, "sent", ["run"])
    before = _last_ended(known, ended, "ready", ["run"])
    held = pl.concat([free, beside]).rename({"before": "freed", "at": "freed_at"})
    sources = (
        known.join(held, on="row", how="left")
        .join(sent.select("row", client="before"), on="row", how="left")
        .join(before.select("row", time="before"), on="row", how="left")
    )
    needed = (pl.col("needed_end") >= pl.col("sent")) | pl.col("sent").is_null()
    cases = {
        "thread": pl.when(pl.col("freed_at") > due).then("freed"),
        "dependency": pl.when(needed).then("needed"),
        "client": pl.when(pl.col("sent") > pl.col("start").min().over("run")).then("client"),
        "time": pl.col("time"),
    }
    tied = sources.select(
        "row",
        before=pl.coalesce(*cases.values()),
        link=first_text(*((row.is_not_null(), name) for name, row in cases.items())),
    )
    return ended.join(tied, on="row", how="left", maintain_order="left")


def _needed(ended: pl.DataFrame, needs: pl.LazyFrame) -> pl.DataFrame:
    """Find the dependency of each execution that ended last: row, needed, needed_end.

    A dependency that was executed several times was available after its first execution.  An end
    that is after the start, by other clocks, counts as the start.
    """
    late = pl.col("needed_end") > pl.col("start")
    others = ended.lazy().select("run", dependency="key", needed="row", needed_end="end")
    return (
        ended.lazy()
        .select("run", "key", "row", "start")
        .join(needs, on=["run", "key"])
        .join(others, on=["run", "dependency"])
        .filter(pl.col("needed") < pl.col("row"))
        .with_columns(late=late, far=(pl.col("needed_end") - pl.col("start")).abs())
        .sort("late", "far", "needed")
        .unique(["row", "dependency"], keep="first", maintain_order=True)
        .sort("needed_end", "needed")
        .unique("row", keep="last", maintain_order=True)
        .select("row", "needed", needed_end=pl.min_horizontal("needed_end", "start"))
        .collect()
    )


def _with_due(known: pl.DataFrame, ended: pl.DataFrame, frames: Frames) -> pl.DataFrame:
    """Add ``due``: since when a task waited for a thread; null if that is not recorded."""
    into = pl.col("finish_state")
    queued = frames["dask.task_transition"].filter(into.is_in(QUEUED))
    ready = frames["dask.worker_transition"].filter(into.is_in(READY))
    again = ended.select("row", earlier=pl.col("end").shift(1).over("run", "key"))
    asof = known.sort("start")
    for name, by, frame in (
        ("queued", ["run", "key"], queued),
        ("ready", ["run", "worker", "key"], ready),
    ):
        times = frame.drop_nulls(by).select(*by, start="time", **{name: "time"}).collect()
        asof = asof.join_asof(
            times.sort("start"), on="start", by=by, strategy="backward", check_sortedness=False
        )
    # a task that ran before was queued for that execution
    since = pl.when((pl.col("queued") > pl.col("earlier")) | pl.col("earlier").is_null())
    return asof.join(again, on="row").with_columns(
        due=pl.min_horizontal("ready", since.then("queued"))
    )


def _last_ended(known: pl.DataFrame, ended: pl.DataFrame, at: str, by: list[str]) -> pl.DataFrame:
    """Find the execution that ended last before a time, and when: row, before, at.

    by: columns in which both have the same value.  Executions without duration are left out, since
    they occupy nothing.
    """
    others = ended.filter(pl.col("start") < pl.col("end")).drop_nulls(by)
    return (
        known.drop_nulls([at, *by])
        .select("row", *by, moment=pl.min_horizontal(at, "start"))
        .sort("moment")
        .join_asof(
            others.select(*by, at="end", before="row").sort("at", "before"),
            left_on="moment", right_on="at", by=by, strategy="backward",
            check_sortedness=False, coalesce=False,
        )
        .select("row", "before", "at")
        .drop_nulls("before")
    )  # fmt: skip
