"""What groups of jobs were given, what they used of it, and how they ended: sums over jobs.

What was allocated is divided in three that add up to it: used, wasted (allocated minus used), and
that of jobs whose use is not known.  Nothing that is not known counts as 0: a condition may be
null, of a job of which it is not known, and then a count of none is null.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from harvest_toolkit.frames import fraction, known_sum

from ..states import ENDED, ENDS, FAILED
from .declared.resources import Resource

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

_GIVEN_AND_USED: Final = {
    "cpu": (pl.col("cpu_time_s"), pl.col("cpu_s"), _RAN),
    "gpu": (
        _amount("alloc_gpus"),
        _amount("gpu_util_percent") / 100,
        _RAN & (pl.col("alloc_gpus") > 0),
    ),
    # the most that a step used, as if the job had used so much all the time
    "mem": (_amount("alloc_mem_bytes") / _GIB, _amount("mem_used_bytes") / _GIB, _RAN),
    # a job that failed early does not show that its limit was too high
    "timelimit": (pl.col("timelimit_s"), pl.col("elapsed_s"), pl.col("state") == "completed"),
}
"""Of one job, by the name of a resource: what was allocated and what it used, in the resource's
unit times 3600; and which jobs have it, of which it is not known where either is empty.
"""


def count_of(which: pl.Expr) -> pl.Expr:
    """How many jobs are known to fulfil a condition; 0 only where all are known not to."""
    known = which.any() | which.is_not_null().all()
    return pl.when(known).then(which.sum()).cast(pl.Int64)


def amount_of(values: pl.Expr, which: pl.Expr) -> pl.Expr:
    """The sum over the jobs that fulfil a condition, as far as known.

    0 only where all are known not to fulfil it; null where nothing is known of those that do.
    """
    none = which.is_not_null().all() & ~which.any()
    return pl.coalesce(
        known_sum(values.filter(which).drop_nulls()), pl.when(none).then(pl.lit(0.0))
    )


def use(resource: Resource) -> dict[str, pl.Expr]:
    """Sums of one resource over the jobs of a group, and the share of it that was used."""
    given, spent, has = _GIVEN_AND_USED[resource.name]
    allocated = pl.when(has).then(given) / 3600
    used = pl.when(has).then(spent) / 3600
    known = allocated.is_not_null() & used.is_not_null()
    unknown = has.fill_null(value=True) & ~known
    used_sum = known_sum(used.filter(known))
    return {
        resource.column(): amount_of(allocated, has),
        resource.column("used"): used_sum,
        resource.column("wasted"): known_sum((allocated - used).filter(known)),
        resource.column("unknown"): amount_of(allocated, unknown),
        f"{resource.name}_unknown_jobs": unknown.sum().cast(pl.Int64),
        f"{resource.name}_eff": used_sum / known_sum(allocated.filter(known & (allocated > 0))),
    }


def shares(resource: Resource) -> dict[str, pl.Expr]:
    """What each group wasted, as a share of what was allocated to all whose use is known."""
    wasted, used = pl.col(resource.column("wasted")), pl.col(resource.column("used"))
    return {f"{resource.name}_wasted_share": fraction(wasted, (wasted + used).sum())}


def how_they_ended() -> dict[str, pl.Expr]:
    """Counts of runs by how they ended, which add up to all; and what failures took."""
    state, hours = pl.col("state"), pl.col("cpu_time_s") / 3600
    counts = {name: count_of(state.is_in(states)) for name, states in ENDS.items()}
    failed, in_the_end = state.is_in(FAILED), state.is_in(ENDED)
    return counts | {
        "failed_jobs": count_of(failed),
        "failed_share": pl.when(in_the_end.any()).then(failed.sum() / in_the_end.sum()),
        "failed_gpu_hours": amount_of(_amount("alloc_gpus") / 3600, failed),
        "not_ended": count_of(~state.is_in(ENDED)),
        "state_unknown": state.is_null().sum().cast(pl.Int64),
        "failed_cpu_hours": amount_of(hours, failed),
        "not_ended_cpu_hours": amount_of(hours, ~state.is_in(ENDED)),
    }


def why_they_failed() -> dict[str, pl.Expr]:
    """The reason that most runs of a group failed for, and how many of them did."""
    reason = pl.col("reason")
    main = reason.drop_nulls().mode().min()
    times = pl.when(reason.count() > 0).then((reason == main).sum())
    return {"main_reason": main, "main_reason_jobs": times.cast(pl.Int64)}


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
        "total_wait_s": known_sum(wait),
        "mean_wait_s": wait.mean(),
        "median_wait_s": wait.median(),
        "max_wait_s": wait.max(),
        "median_run_s": ran.median(),
        "compared_jobs": pl.when(both.any()).then(both.sum()).cast(pl.Int64),
        "median_compared_wait_s": wait.filter(both).median(),
        "median_compared_run_s": ran.filter(both).median(),
    }


def costs(cpu_hour: float | None, gpu_hour: float | None) -> dict[str, pl.Expr]:
    """What a group's hours cost: parts that add up to ``cost``, and what failures did.

    cpu_hour, gpu_hour: prices; all is null without any, and where no hours with a price are known.
    """
    prices = {"cpu": cpu_hour, "gpu": gpu_hour}
    columns = {
        "cost": "{}_hours",
        "used_cost": "{}_used_hours",
        "wasted_cost": "{}_wasted_hours",
        "unknown_cost": "{}_unknown_hours",
        "failed_cost": "failed_{}_hours",
    }
    parts = {
        cost: [
            pl.col(column.format(name)) * price
            for name, price in prices.items()
            if price is not None
        ]
        for cost, column in columns.items()
    }
    nothing = pl.lit(None, pl.Float64)
    return {
        cost: pl.when(pl.any_horizontal(part.is_not_null() for part in found))
        .then(pl.sum_horizontal(found))
        .cast(pl.Float64)
        if found
        else nothing
        for cost, found in parts.items()
    }
