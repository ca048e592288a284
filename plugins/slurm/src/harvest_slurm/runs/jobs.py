"""The frame of Slurm's job runs: the rows of ``slurm.jobs``, and the source of all other views."""

from __future__ import annotations

import polars as pl

from harvest_accounting.frame import OWNER, amount, complete, gpus, once, owner
from harvest_accounting.job_runs import MORE
from harvest_accounting.possible import bytes_of

from .steps import Rows, steps_of_runs


def _used(steps: str, own: str) -> pl.Expr:
    """Return the CPU time of an ended run: that of its steps, else of its own row.

    0 means not gathered (jobacct_gather/none, -X), because every process uses some CPU time.
    """
    of_steps = pl.when(pl.col("steps_cpu_s").ne_missing(0.0)).then(steps)
    return _measured(pl.coalesce(of_steps, pl.when(pl.col(own) > 0).then(own)))


def _measured(used: str | pl.Expr) -> pl.Expr:
    """Return what a run used: unknown until it and all of its steps have ended."""
    whole = pl.col("ended") & pl.col("steps_ended").fill_null(value=True)
    return pl.when(whole).then(used)


def jobs(data: Rows) -> pl.LazyFrame:
    """Return one row per job and run: ``restart`` numbers the runs of a requeued job from 0.

    ``cpu_s`` is the sum over steps, else that of the job's own row.
    ``cpu_time_s`` is allocated: elapsed time × CPUs, or sacct's CPUTime.
    ``mem_used_bytes`` is the most that one step used on all its tasks.
    The use of a run is null until it ends, and impossible values are null (``possible``).
    """
    runs = once(data["slurm.job"]).with_columns(owner("submit_time", "position"))
    rolled = runs.join(steps_of_runs(data), on=OWNER, how="left", nulls_equal=True)
    tres = {"alloc_mem_bytes": amount("alloc_tres", "mem"), "alloc_gpus": gpus()}
    # before a job starts, NNodes is the request
    started = pl.col("start_time").is_not_null() | (pl.col("elapsed_s") > 0)
    alloc_nodes = pl.coalesce(
        "alloc_nodes", amount("alloc_tres", "node"), pl.when(started).then("nodes")
    )
    given = _memory("alloc_cpus", alloc_nodes)
    requested = pl.coalesce(
        given, _memory("req_cpus", pl.coalesce("nodes", "req_nodes", amount("req_tres", "node")))
    )
    listed = pl.col("steps").is_not_null().any().over("cluster")
    return complete(
        rolled.with_columns(**tres),
        also=[pl.format("{} of a step", "impossible_of_steps")],
        fills=MORE,
        alloc_nodes=alloc_nodes,
        req_mem_bytes=requested,
        # a request of 0 means all memory of the nodes
        alloc_mem_bytes=pl.coalesce("alloc_mem_bytes", pl.when(started & (given > 0)).then(given)),
        # a dump without any steps (-X) does not show how many there were
        steps=pl.col("steps").fill_null(pl.when(listed).then(0)).cast(pl.Int64),
        cpu_s=_used("steps_cpu_s", "total_cpu_s"),
        user_cpu_s=_used("steps_user_cpu_s", "user_cpu_s"),
        system_cpu_s=_used("steps_system_cpu_s", "system_cpu_s"),
        mem_used_bytes=_measured("mem_used_bytes"),
        gpu_util_percent=_measured("gpu_util_percent"),
        gpu_mem_used_bytes=_measured("gpu_mem_used_bytes"),
    )


def _memory(cpus: str, nodes: pl.Expr) -> pl.Expr:
    per, each = pl.col("req_mem_per"), pl.col("req_mem_bytes")
    return (
        pl.when(per == "cpu")
        .then(bytes_of(each, cpus))
        .when(per == "node")
        .then(bytes_of(each, nodes))
        .otherwise(each)
    )
