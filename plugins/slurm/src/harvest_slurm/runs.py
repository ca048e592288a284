"""Runs of jobs with the resources of their steps, and the step of each run that failed first.

``jobs`` gives the rows of ``slurm.jobs``, the source of all other views.
"""

from collections.abc import Mapping
from typing import TypeAlias

import polars as pl

from harvest import DatasetReader
from harvest.model.frames import seconds
from harvest_accounting.frame import OWNER, amount, complete, ended, gpus, last_of, once, owner
from harvest_accounting.job_runs import ENDS, FAILED, MORE
from harvest_accounting.possible import bytes_of, millionths, possible
from harvest_toolkit.frames import complete_sum

from .accounting import JOB_RUNS

Rows: TypeAlias = "DatasetReader | Mapping[str, pl.LazyFrame]"
"""Rows by record type: a dataset, or some rows of one."""


_WHEN_ENDED = ("total_cpu_s", "user_cpu_s", "system_cpu_s", "used_mem", "gpu_util", "gpu_mem")
"""Values that the accounting records when a step ends."""


def _of_clusters(data: Rows, record_type: str, submitted: str) -> pl.LazyFrame:
    """Return rows, each without a cluster with that which another dump names for its run.

    submitted: the column with the time at which the run was submitted.
    """
    rows, jobs, cluster = data[record_type], data["slurm.job"], pl.col("cluster")
    some_named = cluster.is_null().any() & cluster.is_not_null().any()
    if not jobs.select(some_named).collect().item():
        return rows
    run = ["job_id", submitted]
    named = jobs.select("job_id", "cluster", pl.col("submit_time").alias(submitted)).drop_nulls()
    only = named.unique().filter(pl.len().over(run) == 1).rename({"cluster": "named"})
    found = rows.join(only, on=run, how="left", maintain_order="left")
    return found.with_columns(cluster=pl.coalesce("cluster", "named")).drop("named")


def steps_once(data: Rows) -> pl.LazyFrame:
    """Return the steps that belong to a run, each once, with the columns of OWNER.

    ``used_mem`` is the memory of all tasks; ``estimated``: it is that of the largest task times the
    number of tasks. The use of a step is null until it ends.
    """
    tot = "usage_in_tot"
    single = pl.col("step_id").is_in(["batch", "extern", "interactive"])
    tasks = pl.coalesce("ntasks", pl.when(single).then(1))
    per_task = bytes_of(pl.col("max_rss_bytes"), tasks)
    steps = _of_clusters(data, "slurm.step", "job_submit_time").with_columns(
        used_mem=amount(tot, "mem"),
        gpu_util=amount(tot, "gres/gpuutil"),
        gpu_mem=amount(tot, "gres/gpumem"),
        ended=ended(),
    )
    rows = (
        possible(steps.filter(pl.col("job_position").is_not_null()))
        .with_columns(pl.col("used_mem", "gpu_mem").cast(pl.Int64))
        .with_columns(
            used_mem=pl.coalesce("used_mem", per_task),
            estimated=pl.col("used_mem").is_null() & (tasks > 1),
        )
        .with_columns(pl.when("ended").then(pl.col(*_WHEN_ENDED)))
        .with_columns(owner("job_submit_time", "job_position"))
    )
    # several dumps may hold one step: the latest state counts, with the most exact CPU time
    order = (pl.col("end_time").is_not_null(), "elapsed_s", "total_cpu_s")
    return last_of(rows, (*OWNER, "step_id"), *order)


def steps_of_runs(data: Rows) -> pl.LazyFrame:
    """Sum up what the steps of each run of a job used."""
    # memory is unknown if never sampled; the 0 of an extern step does not measure the job
    return (
        steps_once(data)
        .group_by(OWNER)
        .agg(
            pl.col("ntasks", "max_rss_bytes", "max_disk_read_bytes", "max_disk_write_bytes").max(),
            steps=pl.len(),
            impossible_of_steps=pl.col("impossible").drop_nulls().first(),
            steps_ended=pl.col("ended").fill_null(value=False).all(),
            steps_cpu_s=_exact_sum("total_cpu_s"),
            steps_user_cpu_s=_exact_sum("user_cpu_s"),
            steps_system_cpu_s=_exact_sum("system_cpu_s"),
            # the maximum is unknown if a sampled step has an unknown number of tasks
            mem_used_bytes=pl.when(
                (pl.col("used_mem").is_not_null() | pl.col("max_rss_bytes").is_null()).all()
                & (pl.col("used_mem").max() > 0)
            ).then(pl.col("used_mem").max()),
            gpu_util_percent=pl.col("gpu_util").max(),
            gpu_mem_used_bytes=pl.col("gpu_mem").max(),
        )
    )


def _exact_sum(column: str) -> pl.Expr:
    """Sum the seconds of all steps, to the microsecond; null if those of one are unknown."""
    return seconds(complete_sum(millionths(pl.col(column))))


def failed_first(data: Rows) -> pl.LazyFrame:
    """Return the first failed step of each run, with its code, signal and nodes.

    The batch script repeats the failure of a step within it, so it comes last. The external step,
    Slurm's own, repeats the state of the run.
    """
    steps = steps_once(data).filter(pl.col("step_id") != "extern")
    own = ~pl.col("step_id").is_in(["batch", "interactive"])
    bad = (
        (pl.col("exit_code") > 0) | (pl.col("exit_signal") > 0) | pl.col("state").is_in(FAILED)
    ).fill_null(value=False)
    # without an srun, the script itself is the first step
    first = pl.col("start_time").filter(own).min().over(OWNER)
    began_first = pl.when(own).then(pl.col("start_time") <= first).otherwise(first.is_null())
    return (
        steps.with_columns(in_first=began_first)
        .filter(bad)
        .sort(~own, "start_time", "step_id", nulls_last=True)
        .group_by(OWNER, maintain_order=True)
        .agg(
            failed_step=pl.col("step_id").first(),
            in_first=pl.col("in_first").first(),
            step_code=pl.col("exit_code").first(),
            step_signal=pl.col("exit_signal").first(),
            step_nodes=pl.col("node_list").first(),
            step_memory=pl.col("state").is_in(ENDS["out_of_memory"]).any(),
        )
    )


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
    # 7_[2-4] stands for its first task until a later dump has a row for that task
    first_task = pl.col("job_id").str.replace(r"\[(\d+).*", "${1}")
    rows = _of_clusters(data, "slurm.job", "submit_time")
    rows = rows.with_columns(job_id=first_task, listed_as="job_id")
    runs = once(rows).with_columns(owner("submit_time", "position"), job_id="listed_as")
    rolled = runs.join(steps_of_runs(data), on=OWNER, how="left", nulls_equal=True)
    # older versions of sacct print the End of a job that was cancelled while it waited as its Start
    idle = (pl.col("node_list") == JOB_RUNS.without_nodes) | (pl.col("alloc_cpus") == 0)
    began = pl.when((idle & ~(pl.col("elapsed_s") > 0)).ne_missing(True)).then("start_time")
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
        rolled.with_columns(**tres, start_time=began),
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
        .then(bytes_of(each, pl.col(cpus)))
        .when(per == "node")
        .then(bytes_of(each, nodes))
        .otherwise(each)
    )
