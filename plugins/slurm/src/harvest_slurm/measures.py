"""What groups of jobs were given, what they used of it, and how they ended: sums over jobs.

What was allocated is divided in three that add up to it: used, wasted (allocated minus used), and
that of jobs whose use is not known.  Nothing that is not known counts as 0: a condition may be
null, of a job of which it is not known, and then a count of none is null.
"""

from __future__ import annotations

from typing import Final

import attrs
import polars as pl

from .ends import ENDED, ENDS, FAILED

__all__ = [
    "RESOURCES",
    "Resource",
    "amount_of",
    "count_of",
    "how_they_ended",
    "shares",
    "started",
    "use",
    "waits",
]

_GIB: Final = 2**30


def _amount(column: str) -> pl.Expr:
    return pl.col("elapsed_s") * pl.col(column)


def started() -> pl.Expr:
    """Whether a run started; null where that is not known."""
    return pl.coalesce(
        pl.when(pl.col("start_time").is_not_null()).then(pl.lit(value=True)),
        pl.col("elapsed_s") > 0,
        pl.when(pl.col("state") == "pending").then(pl.lit(value=False)),
    )


_RAN: Final = pl.coalesce(pl.col("elapsed_s") > 0, pl.col("cpu_time_s") > 0, started())
_DONE: Final = pl.col("state") == "completed"


@attrs.frozen
class Resource:
    """Something that is allocated for a time.

    name: begins the names of its columns; unit: ends them.
    allocated, used: of one job, in the unit times 3600.
    by: which jobs have it; of these it is not known where either is empty, as it is of those of
        which that is not known.
    """

    name: str
    unit: str
    allocated: pl.Expr
    used: pl.Expr
    by: pl.Expr

    def column(self, what: str = "") -> str:
        """``cpu_wasted_hours`` for ``wasted``; ``cpu_hours`` for nothing."""
        return "_".join(filter(None, (self.name, what, self.unit)))


RESOURCES: Final = (
    Resource("cpu", "hours", pl.col("cpu_time_s"), pl.col("cpu_s"), _RAN),
    Resource(
        "gpu",
        "hours",
        _amount("alloc_gpus"),
        _amount("gpu_util_percent") / 100,
        _RAN & (pl.col("alloc_gpus") > 0),
    ),
    # the most that a step used, as if the job had used so much all the time
    Resource(
        "mem",
        "gib_hours",
        _amount("alloc_mem_bytes") / _GIB,
        _amount("mem_used_bytes") / _GIB,
        _RAN,
    ),
    # a job that failed early does not show that its limit was too high
    Resource("timelimit", "hours", pl.col("timelimit_s"), pl.col("elapsed_s"), _DONE),
)


def count_of(which: pl.Expr) -> pl.Expr:
    """How many jobs are known to fulfil a condition; 0 only where all are known not to."""
    known = which.any() | which.is_not_null().all()
    return pl.when(known).then(which.sum()).cast(pl.Int64)


def amount_of(values: pl.Expr, which: pl.Expr) -> pl.Expr:
    """The sum over the jobs that fulfil a condition, as far as known.

    0 only where all are known not to fulfil it; null where nothing is known of those that do.
    """
    known = which.fill_null(value=False) & values.is_not_null()
    none = which.is_not_null().all() & ~which.any()
    return pl.when(known.any()).then(values.filter(known).sum()).when(none).then(pl.lit(0.0))


def use(resource: Resource) -> dict[str, pl.Expr]:
    """Sums of one resource over the jobs of a group, and the share of it that was used."""
    allocated = pl.when(resource.by).then(resource.allocated) / 3600
    used = pl.when(resource.by).then(resource.used) / 3600
    known = allocated.is_not_null() & used.is_not_null()
    unknown = resource.by.fill_null(value=True) & ~known
    used_sum = _sum_where(used, known)
    return {
        resource.column(): amount_of(allocated, resource.by),
        resource.column("used"): used_sum,
        resource.column("wasted"): _sum_where(allocated - used, known),
        resource.column("unknown"): amount_of(allocated, unknown),
        f"{resource.name}_unknown_jobs": unknown.sum().cast(pl.Int64),
        f"{resource.name}_eff": used_sum / _sum_where(allocated, known & (allocated > 0)),
    }


def shares(resource: Resource) -> dict[str, pl.Expr]:
    """What each group wasted, as a share of what was allocated to all whose use is known."""
    wasted, used = pl.col(resource.column("wasted")), pl.col(resource.column("used"))
    whole = (wasted + used).sum()
    return {f"{resource.name}_wasted_share": pl.when(whole > 0).then(wasted / whole)}


def how_they_ended() -> dict[str, pl.Expr]:
    """Counts of runs by how they ended, which add up to all; and what failures took."""
    state, hours = pl.col("state"), pl.col("cpu_time_s") / 3600
    counts = {name: count_of(state.is_in(states)) for name, states in ENDS.items()}
    return counts | {
        "not_ended": count_of(~state.is_in(ENDED)),
        "state_unknown": state.is_null().sum().cast(pl.Int64),
        "failed_cpu_hours": amount_of(hours, state.is_in(FAILED)),
        "not_ended_cpu_hours": amount_of(hours, ~state.is_in(ENDED)),
    }


def waits() -> dict[str, pl.Expr]:
    """How long the runs of a group waited that started, and how long those ran that ended.

    The ``compared`` ones are those of which both is known.
    """
    wait = pl.when(pl.col("start_time").is_not_null()).then(pl.coalesce("wait_s", "planned_s"))
    ran = pl.when(pl.col("ended") & (pl.col("elapsed_s") > 0)).then("elapsed_s")
    known = pl.coalesce(
        pl.when(wait.is_not_null()).then(pl.lit(value=True)),
        pl.when(~started()).then(pl.lit(value=False)),
    )
    both = wait.is_not_null() & ran.is_not_null()
    return {
        "waited_jobs": count_of(known),
        "total_wait_s": _sum_where(wait, wait.is_not_null()),
        "mean_wait_s": wait.mean(),
        "median_wait_s": wait.median(),
        "max_wait_s": wait.max(),
        "median_run_s": ran.median(),
        "compared_jobs": pl.when(both.any()).then(both.sum()).cast(pl.Int64),
        "median_compared_wait_s": wait.filter(both).median(),
        "median_compared_run_s": ran.filter(both).median(),
    }


def _sum_where(values: pl.Expr, known: pl.Expr) -> pl.Expr:
    """A sum that is null where nothing is known."""
    return pl.when(known.any()).then(values.filter(known).sum())
