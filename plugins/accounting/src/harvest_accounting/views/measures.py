"""Sums over the jobs of a group: resources allocated and used, and final states.

Allocated hours are the sum of used hours, wasted hours (allocated minus used) and hours with
unknown use. Unknown never counts as 0: a condition may be null for a job, and then a count of 0 is
null.

Rows are parts of runs (``Selection.parts``) with the hours of the part. A run counts in one of its
parts.
"""

from typing import Final

import polars as pl

from harvest_toolkit.frames import fraction, known_sum

from ..job_runs import ENDED, ENDS, FAILED
from ..possible import millionths
from .declared.common import Resource

COUNTS: Final = pl.col("counts")
"""Whether the run counts in this row, one of its parts."""

_RAN_HERE: Final = pl.col("share") > 0

UNKNOWN_CPU_HOURS: Final = (pl.col("cpu_time_s").is_null() & _RAN_HERE).sum().cast(pl.Int64)
"""The number of runs with unknown CPU hours."""


def _amount(column: str) -> pl.Expr:
    return pl.col("elapsed_s") * pl.col(column)


_STARTED: Final = pl.coalesce(
    pl.when(pl.col("start_time").is_not_null()).then(pl.lit(value=True)),
    pl.col("elapsed_s") > 0,
    pl.when(pl.col("state") == "pending").then(pl.lit(value=False)),
)
"""Whether a run started; null if unknown."""

_RAN: Final = pl.coalesce(pl.col("elapsed_s") > 0, pl.col("cpu_time_s") > 0, _STARTED)

_GIVEN_AND_USED: Final = {
    "cpu": (pl.col("cpu_time_s"), pl.col("cpu_s"), _RAN),
    "gpu": (
        _amount("alloc_gpus"),
        _amount("gpu_util_percent") / 100,
        _RAN & (pl.col("alloc_gpus") > 0),
    ),
    # the peak of a step, as if the job had used it all the time
    "mem": (_amount("alloc_mem_bytes"), _amount("mem_used_bytes"), _RAN),
    # a job that failed early does not show that its limit was too high
    "timelimit": (pl.col("timelimit_s"), pl.col("elapsed_s"), pl.col("state") == "completed"),
}
"""By resource, for one job: what is allocated and used, times seconds, and whether the job has the
resource. Either may be null."""


def count_of(which: pl.Expr) -> pl.Expr:
    """Count jobs that are known to meet a condition; 0 only if all are known not to meet it."""
    of_each = which.filter(COUNTS)
    known = of_each.any() | of_each.is_not_null().all()
    return pl.when(known).then(of_each.sum()).cast(pl.Int64)


def hours_of(seconds: pl.Expr, which: pl.Expr) -> pl.Expr:
    """Sum the known hours of runs that meet a condition.

    0 only if all are known not to meet it; null if all hours of those that do are unknown.
    """
    used = which & _RAN_HERE
    return _or_none(_hours(millionths(seconds * pl.col("share")).filter(used)), used)


def _or_none(hours: pl.Expr, these: pl.Expr) -> pl.Expr:
    none = these.is_not_null().all() & ~these.any()
    return pl.coalesce(hours, pl.when(none).then(0.0))


def _hours(amounts: pl.Expr, unit: int = 1) -> pl.Expr:
    """Sum known amounts, in millionths; null when there is none. unit: of the hours."""
    return known_sum(amounts.drop_nulls()) / (3.6e9 * unit)


def counted() -> dict[str, pl.Expr]:
    """Count runs: all, those that ran, and those with undivided hours or impossible values.

    All hours of a run with unknown start or end count where the run counts.
    """
    ran, whole = _RAN.fill_null(value=True), pl.col("ran_until").is_null()
    counts = {
        "jobs": COUNTS,
        "ran_jobs": ran & _RAN_HERE,
        "undivided_jobs": COUNTS & ran & whole,
        "impossible_jobs": COUNTS & pl.col("impossible").is_not_null(),
    }
    summed = {name: which.sum().cast(pl.Int64) for name, which in counts.items()}
    return summed | {"started": count_of(_STARTED)}


def amounts(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Add the columns for ``use``: for each resource, whether a run has it, and its amounts.

    Amounts are whole numbers, so that sums do not depend on the order of jobs. Each is computed
    only once here; the sums of a group would compute it each time they name it.
    """
    share, columns = pl.col("share"), {}
    for name, (given, spent, held) in _GIVEN_AND_USED.items():
        has = held & _RAN_HERE
        for what, amount in (("given", given), ("spent", spent)):
            columns[f"{name} {what}"] = millionths(pl.when(has).then(amount * share))
        columns[f"{name} has"] = has
    return rows.with_columns(**columns)


def use(resource: Resource) -> dict[str, pl.Expr]:
    """Sum one resource over the jobs of a group, with the used share; rows: of ``amounts``."""
    given, spent, has = (pl.col(f"{resource.name} {what}") for what in ("given", "spent", "has"))
    known = given.is_not_null() & spent.is_not_null()
    unknown = has.fill_null(value=True) & ~known
    # memory is summed in bytes, so that the amounts of small jobs are not rounded to 0
    unit = 2**30 if resource.name == "mem" else 1
    used = _hours(spent.filter(known), unit)
    return {
        resource.column(): _or_none(_hours(given.filter(has), unit), has),
        resource.column("used"): used,
        resource.column("wasted"): _hours((given - spent).filter(known), unit),
        resource.column("unknown"): _or_none(_hours(given.filter(unknown), unit), unknown),
        f"{resource.name}_unknown_jobs": unknown.sum().cast(pl.Int64),
        f"{resource.name}_eff": used / _hours(given.filter(known & (given > 0)), unit),
    }


def shares(resource: Resource) -> dict[str, pl.Expr]:
    """Return the wasted hours of a group as a share of the hours with known use of all groups."""
    wasted, used = pl.col(resource.column("wasted")), pl.col(resource.column("used"))
    return {f"{resource.name}_wasted_share": fraction(wasted, (wasted + used).sum())}


def how_they_ended() -> dict[str, pl.Expr]:
    """Count runs by final state, which add up to all runs, and sum the hours of failures."""
    state, given = pl.col("state"), pl.col("cpu_time_s")
    counts = {name: count_of(state.is_in(states)) for name, states in ENDS.items()}
    failed, in_the_end = state.is_in(FAILED), state.is_in(ENDED)
    return counts | {
        "failed_jobs": count_of(failed),
        "failed_share": fraction((failed & COUNTS).sum(), (in_the_end & COUNTS).sum()),
        "failed_gpu_hours": hours_of(_amount("alloc_gpus"), failed),
        "not_ended": count_of(~in_the_end),
        "state_unknown": (state.is_null() & COUNTS).sum().cast(pl.Int64),
        "failed_cpu_hours": hours_of(given, failed),
        "not_ended_cpu_hours": hours_of(given, ~in_the_end),
    }


def why_they_failed() -> dict[str, pl.Expr]:
    """Return the main reason of the failures in a group, and its number of runs."""
    reason = pl.col("reason").filter(COUNTS)
    main = reason.drop_nulls().mode().min()
    times = pl.when(reason.count() > 0).then((reason == main).sum())
    return {"main_reason": main, "main_reason_jobs": times.cast(pl.Int64)}


def waits() -> dict[str, pl.Expr]:
    """Summarise how long started runs waited, and how long ended runs ran.

    ``compared`` counts the runs with both known.
    """
    has_waited = COUNTS & pl.col("start_time").is_not_null()
    wait = pl.when(has_waited).then(pl.coalesce("wait_s", "planned_s"))
    ran = pl.when(COUNTS & pl.col("ended") & (pl.col("elapsed_s") > 0)).then("elapsed_s")
    known = pl.coalesce(
        pl.when(wait.is_not_null()).then(pl.lit(value=True)),
        pl.when(~_STARTED).then(pl.lit(value=False)),
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
    """Return the cost of a group's hours: the parts of ``cost``, and the cost of failures.

    cpu_hour, gpu_hour: prices. A cost is null without prices or known hours.
    """
    prices = {"cpu": cpu_hour, "gpu": gpu_hour}
    columns = {
        "cost": "{}_hours",
        "used_cost": "{}_used_hours",
        "wasted_cost": "{}_wasted_hours",
        "unknown_cost": "{}_unknown_hours",
        "failed_cost": "failed_{}_hours",
    }
    found = {}
    for cost, column in columns.items():
        parts = [pl.col(column.format(name)) * p for name, p in prices.items() if p is not None]
        parts.append(pl.lit(None, pl.Float64))
        known = pl.any_horizontal(part.is_not_null() for part in parts)
        found[cost] = pl.when(known).then(pl.sum_horizontal(parts)).cast(pl.Float64)
    return found
