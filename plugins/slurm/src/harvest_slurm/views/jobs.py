"""The view ``slurm.jobs``, the base of all others."""

from __future__ import annotations

from typing import Final

import polars as pl

from .possible import bytes_of, disorder, possible, ran_until, seconds_from
from .steps import OWNER, Rows, amount, ended, owner, steps_of_runs


def _gpus() -> pl.Expr:
    """GPUs allocated: of all kinds, or the sum over the kinds.

    A job without GPUs lists none, and so does every job where the cluster does not account for
    GPUs.  So a job has 0 only if others of its cluster have some.
    """
    key, value = pl.element().struct.field("key"), pl.element().struct.field("value")
    # no sum of integers may pass their range
    one = pl.when(key.str.starts_with("gres/gpu:")).then(value.cast(pl.Float64))
    kinds = pl.col("alloc_tres").list.eval(one).list.drop_nulls()
    listed = pl.coalesce(
        amount("alloc_tres", "gres/gpu"),
        pl.when(kinds.list.len() > 0).then(kinds.list.sum()).cast(pl.Int64, strict=False),
    )
    counted = listed.is_not_null().any().over("cluster")
    return pl.when(pl.col("alloc_tres").is_not_null() & counted).then(listed.fill_null(0))


def _runs(data: Rows) -> pl.LazyFrame:
    """Runs of jobs, each once: the most complete row where several dumps have one run.

    Rows of one run have the same cluster, id and submit time; it may have started between dumps.
    """
    rows = data["slurm.job"].with_row_index("job_row")
    known = pl.col("submit_time").is_not_null()
    same = pl.struct(
        pl.col("cluster"),
        pl.col("job_id"),
        pl.col("submit_time"),
        # without a submission time, only their place distinguishes runs
        pl.when(~known).then(pl.col("origin")),
        pl.when(~known).then(pl.col("position")),
    )
    fullest = pl.col("job_row").sort_by(
        pl.col("end_time").is_not_null(),
        pl.col("start_time").is_not_null(),
        pl.col("elapsed_s").fill_null(-1.0),
        "job_row",
    )
    # chosen by number: grouping would copy every column
    return rows.filter(pl.col("job_row") == fullest.last().over(same))


def _used(steps: str, own: str) -> pl.Expr:
    """CPU time of a run that has ended: that of its steps, else of its own row.

    0 means not gathered (jobacct_gather/none, -X), because every process uses some CPU time.
    """
    of_steps = pl.when(pl.col("steps_cpu_s").ne_missing(0.0)).then(steps)
    return _measured(pl.coalesce(of_steps, pl.when(pl.col(own) > 0).then(own)))


def _measured(used: str | pl.Expr) -> pl.Expr:
    """What a run used: unknown until it and all of its steps have ended."""
    whole = pl.col("ended") & pl.col("steps_ended").fill_null(value=True)
    return pl.when(whole).then(used)


def _numbered_runs(data: Rows) -> pl.LazyFrame:
    """Runs of jobs, numbered from 0 per job, with the key of their steps."""
    job = ("cluster", "job_id")
    number = pl.col("submit_time").rank("ordinal").over(job).cast(pl.Int64) - 1
    # only submission times show the order of several runs
    only = pl.when(pl.len().over(job) == 1).then(pl.lit(0, pl.Int64))
    runs = _runs(data).with_columns(restart=pl.coalesce(number, only), ended=ended())
    return runs.with_columns(owner("submit_time", "position"))


_IN_ORDER: Final = (
    ("submit_time", "start_time"), ("eligible_time", "start_time"), ("start_time", "end_time"),
)  # fmt: skip


def jobs(data: Rows) -> pl.LazyFrame:
    """One row per job and run: ``restart`` numbers the runs of a requeued job from 0.

    ``cpu_s`` is the sum over steps, else that of the job's own row.
    ``cpu_time_s`` is allocated: elapsed time × CPUs, or sacct's CPUTime.
    ``mem_used_bytes`` is the most that one step used on all its tasks.
    The use of a run is null until it ends, and impossible values are null (``possible``).
    ``ran_until`` is when it ended or was last seen, if its start and end are known.
    """
    rolled = _numbered_runs(data).join(steps_of_runs(data), on=OWNER, how="left", nulls_equal=True)
    tres = {"alloc_mem_bytes": amount("alloc_tres", "mem"), "alloc_gpus": _gpus()}
    of_steps = pl.format("{} of a step", "impossible_of_steps")
    runs = possible(
        rolled.with_columns(**tres), also=(*(disorder(*pair) for pair in _IN_ORDER), of_steps)
    )
    # before a job starts, NNodes is its request
    started = pl.col("start_time").is_not_null() | (pl.col("elapsed_s") > 0)
    alloc_nodes = pl.coalesce(
        "alloc_nodes", amount("alloc_tres", "node"), pl.when(started).then("nodes")
    )
    given = _memory("alloc_cpus", alloc_nodes)
    requested = pl.coalesce(
        given, _memory("req_cpus", pl.coalesce("nodes", "req_nodes", amount("req_tres", "node")))
    )
    listed = pl.col("steps").is_not_null().any().over("cluster")
    complete = runs.with_columns(
        wait_s=seconds_from("submit_time", "start_time"),
        planned_s=pl.coalesce("planned_s", seconds_from("eligible_time", "start_time")),
        ran_until=ran_until(pl.col("ended")),
        alloc_nodes=alloc_nodes,
        req_mem_bytes=requested,
        # a request of 0 means all memory of the nodes
        alloc_mem_bytes=pl.coalesce("alloc_mem_bytes", pl.when(started & (given > 0)).then(given)),
        # a dump without any steps (-X) does not show how many there were
        steps=pl.col("steps").fill_null(pl.when(listed).then(0)).cast(pl.Int64),
        cpu_time_s=pl.coalesce(pl.col("elapsed_s") * pl.col("alloc_cpus"), "cpu_time_s"),
        cpu_s=_used("steps_cpu_s", "total_cpu_s"),
        user_cpu_s=_used("steps_user_cpu_s", "user_cpu_s"),
        system_cpu_s=_used("steps_system_cpu_s", "system_cpu_s"),
        mem_used_bytes=_measured("mem_used_bytes"),
        gpu_util_percent=_measured("gpu_util_percent"),
        gpu_mem_used_bytes=_measured("gpu_mem_used_bytes"),
    )
    return complete.select(
        pl.col("job_id", "submit_time", "restart", "job_id_raw", "array_job_id", "array_task_id"),
        pl.col("het_job_id", "het_offset", "cluster"),
        pl.col("name", "user", "group", "account", "partition", "qos"),
        pl.col("state", "state_by", "exit_code", "exit_signal"),
        pl.col("eligible_time", "start_time", "end_time", "undecided_times"),
        pl.col("wait_s", "planned_s", "elapsed_s", "timelimit_s"),
        pl.col("req_nodes", "alloc_nodes", "req_cpus", "alloc_cpus", "alloc_gpus"),
        pl.col("req_mem_bytes", "req_mem_per", "alloc_mem_bytes", "steps", "ntasks"),
        pl.col("cpu_time_s", "cpu_s", "user_cpu_s", "system_cpu_s"),
        pl.col("max_rss_bytes", "mem_used_bytes", "max_disk_read_bytes", "max_disk_write_bytes"),
        pl.col("gpu_util_percent", "gpu_mem_used_bytes"),
        pl.col("node_list", "ended", "restarts", "impossible", "ran_until", "origin", "position"),
    ).sort("submit_time", "job_id", "restart", nulls_last=True)


def _memory(cpus: str, nodes: pl.Expr) -> pl.Expr:
    """Memory requested, for a number of CPUs or nodes."""
    per, each = pl.col("req_mem_per"), pl.col("req_mem_bytes")
    return (
        pl.when(per == "cpu")
        .then(bytes_of(each, cpus))
        .when(per == "node")
        .then(bytes_of(each, nodes))
        .otherwise(each)
    )
