"""What groups of jobs were given, what they used of it, and how they ended: sums over jobs.

What was allocated is divided in three that add up to it: used, wasted (allocated minus used), and
that of jobs whose use is not known.  Nothing that is not known counts as 0.
"""

from __future__ import annotations

from typing import Final

import attrs
import polars as pl

__all__ = ["ENDS", "FAILURES", "RESOURCES", "Resource", "how_they_ended", "shares", "use", "waits"]

_GIB: Final = 2**30


def _amount(column: str) -> pl.Expr:
    return pl.col("elapsed_s") * pl.col(column)


_RAN: Final = (pl.col("elapsed_s") > 0).fill_null(pl.col("start_time").is_not_null())
_DONE: Final = (pl.col("state") == "completed").fill_null(value=False)


@attrs.frozen
class Resource:
    """Something that is allocated for a time.

    name: begins the names of its columns; unit: ends them.
    allocated, used: of one job, in the unit times 3600.
    by: which jobs have it; for these it is not known where either is empty.
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
        pl.when(pl.col("alloc_gpus") == 0)
        .then(pl.lit(0.0))
        .otherwise(_amount("gpu_util_percent") / 100),
        _RAN,
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

ENDS: Final[dict[str, tuple[str, ...]]] = {
    "completed": ("completed",),
    "failed": ("failed",),
    "out_of_memory": ("out_of_memory",),
    "timeout": ("timeout", "deadline"),
    "node_fail": ("node_fail", "boot_fail", "launch_failed", "reconfig_fail"),
    "cancelled": ("cancelled", "revoked"),
    "preempted": ("preempted",),
    "requeued": ("requeued", "requeue_fed"),
}
"""How runs end: column -> states of sacct."""

FAILURES: Final = ("failed", "out_of_memory", "timeout", "node_fail")
"""Ends that nobody wished."""


def use(resource: Resource) -> dict[str, pl.Expr]:
    """Sums of one resource over the jobs of a group, and the share of it that was used."""
    allocated = pl.when(resource.by).then(resource.allocated) / 3600
    used = pl.when(resource.by).then(resource.used) / 3600
    known = allocated.is_not_null() & used.is_not_null()
    used_sum = _sum_where(used, known)
    return {
        resource.column(): _sum_where(allocated, allocated.is_not_null()),
        resource.column("used"): used_sum,
        resource.column("wasted"): _sum_where(allocated - used, known),
        resource.column("unknown"): allocated.filter(~known).sum(),
        f"{resource.name}_unknown_jobs": (resource.by & ~known).sum().cast(pl.Int64),
        f"{resource.name}_eff": used_sum / _sum_where(allocated, known & (allocated > 0)),
    }


def shares(resource: Resource) -> dict[str, pl.Expr]:
    """What each group wasted, as a share of what was allocated to all whose use is known."""
    wasted, used = pl.col(resource.column("wasted")), pl.col(resource.column("used"))
    whole = (wasted + used).sum()
    return {f"{resource.name}_wasted_share": pl.when(whole > 0).then(wasted / whole)}


def how_they_ended() -> dict[str, pl.Expr]:
    """Counts of runs by how they ended, which add up to all; and what failures took."""
    state = pl.col("state")
    known = [state for states in ENDS.values() for state in states]
    failures = [state for name in FAILURES for state in ENDS[name]]
    counts = {name: state.is_in(states).sum().cast(pl.Int64) for name, states in ENDS.items()}
    lost = (pl.col("cpu_time_s") / 3600).filter(state.is_in(failures))
    return counts | {
        "not_ended": (~state.is_in(known)).sum().cast(pl.Int64),
        "state_unknown": state.is_null().sum().cast(pl.Int64),
        "failed_cpu_hours": lost.sum(),
    }


def waits() -> dict[str, pl.Expr]:
    """How long the runs of a group waited that started, and how long they ran."""
    wait = pl.coalesce("wait_s", "planned_s").filter(pl.col("start_time").is_not_null())
    return {
        "waited_jobs": wait.count().cast(pl.Int64),
        "total_wait_s": _sum_where(wait, wait.is_not_null()),
        "mean_wait_s": wait.mean(),
        "median_wait_s": wait.median(),
        "max_wait_s": wait.max(),
        "median_run_s": pl.col("elapsed_s").filter(_RAN).median(),
    }


def _sum_where(values: pl.Expr, known: pl.Expr) -> pl.Expr:
    """A sum that is null where nothing is known."""
    return pl.when(known.any()).then(values.filter(known).sum())
