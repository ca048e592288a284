"""Views of jobs: lazy polars queries over ``slurm.job`` and ``slurm.step``."""

from __future__ import annotations

import polars as pl

from harvest import DatasetReader

from .ends import ended
from .zone import zone_of

__all__ = ["OWNER", "efficiency", "jobs", "owner", "queue_time", "steps_once", "worst_days"]


def _amount(column: str, key: str) -> pl.Expr:
    """The amount of one resource in a map column."""
    # maps are lists of key-value structs to polars
    entries = pl.col(column)
    mine = entries.list.eval(
        pl.when(pl.element().struct.field("key") == key).then(pl.element().struct.field("value"))
    )
    return mine.list.drop_nulls().list.first()


def _gpus() -> pl.Expr:
    """GPUs allocated: of all kinds, or those of each kind added up.

    None are listed of a job without GPUs, and of any job where the cluster does not account for
    GPUs; so a job has none only if others of its cluster have some.
    """
    key, value = pl.element().struct.field("key"), pl.element().struct.field("value")
    kinds = pl.col("alloc_tres").list.eval(pl.when(key.str.starts_with("gres/gpu:")).then(value))
    kinds = kinds.list.drop_nulls()
    listed = pl.coalesce(
        _amount("alloc_tres", "gres/gpu"), pl.when(kinds.list.len() > 0).then(kinds.list.sum())
    )
    counted = listed.is_not_null().any().over("cluster")
    return pl.when(pl.col("alloc_tres").is_not_null() & counted).then(listed.fill_null(0))


def _runs(data: DatasetReader) -> pl.LazyFrame:
    """Runs of jobs, each once: the fullest row where several dumps hold one run.

    Rows of one run in several origins are recognised by cluster, id, submit and start; a run that
    had not started when one dump was taken counts as the same as the one that has.
    """
    rows = data["slurm.job"].with_row_index("job_row")
    known = pl.col("submit_time").is_not_null()
    same = pl.struct(
        pl.col("cluster"),
        pl.col("job_id"),
        pl.col("submit_time"),
        # without a time of submission nothing distinguishes runs but their place
        pl.when(~known).then(pl.col("origin")),
        pl.when(~known).then(pl.col("position")),
    )
    return (
        rows.sort(
            pl.col("end_time").is_not_null(),
            pl.col("start_time").is_not_null(),
            pl.col("elapsed_s").fill_null(-1.0),
            "job_row",
        )
        .group_by(same.alias("run"), maintain_order=True)
        .last()
        .drop("run")
    )


OWNER = ("cluster", "job_id", "owner_time", "owner_origin", "owner_position")
"""What a run and its steps have in common."""


def owner(time: str, position: str) -> list[pl.Expr]:
    """The last columns of OWNER: the run's submit time or, where that is not known, its row."""
    unknown = pl.col(time).is_null()
    return [
        pl.col(time).alias("owner_time"),
        pl.when(unknown).then("origin").alias("owner_origin"),
        pl.when(unknown).then(position).alias("owner_position"),
    ]


_WHEN_ENDED = (
    "total_cpu_s", "user_cpu_s", "system_cpu_s", "used_mem", "gpu_util", "gpu_mem",
)  # fmt: skip
"""What the accounting holds of a step when it has ended."""


def steps_once(data: DatasetReader) -> pl.LazyFrame:
    """Steps that belong to a run, each once, with the columns of OWNER.

    ``used_mem`` is what all its tasks used; ``estimated`` says that this is the memory of the
    largest task times the number of tasks.  What a step used that has not ended is not known.
    """
    tot = "usage_in_tot"
    single = pl.col("step_id").is_in(["batch", "extern", "interactive"])
    tasks = pl.coalesce("ntasks", pl.when(single).then(1))
    per_task = pl.col("max_rss_bytes") * tasks
    steps = data["slurm.step"].with_columns(
        used_mem=pl.coalesce(_amount(tot, "mem").cast(pl.Int64), per_task),
        estimated=_amount(tot, "mem").is_null() & (tasks > 1),
        gpu_util=_amount(tot, "gres/gpuutil"),
        gpu_mem=_amount(tot, "gres/gpumem").cast(pl.Int64),
        ended=ended(),
    )
    return (
        steps.filter(pl.col("job_position").is_not_null())
        .with_columns(pl.when("ended").then(pl.col(*_WHEN_ENDED)))
        .with_columns(owner("job_submit_time", "job_position"))
        # several dumps may hold one step: the latest state counts
        .sort(pl.col("end_time").is_not_null(), "elapsed_s", nulls_last=False)
        .unique([*OWNER, "step_id"], keep="last", maintain_order=True)
    )


def _steps(data: DatasetReader) -> pl.LazyFrame:
    """What the steps of each run of a job used."""
    # memory that was never sampled is not known; a zero of an extern step does not measure
    # the job either
    return (
        steps_once(data)
        .group_by(OWNER)
        .agg(
            steps=pl.len(),
            steps_ended=pl.col("ended").fill_null(value=False).all(),
            ntasks=pl.col("ntasks").max(),
            steps_cpu_s=_sum("total_cpu_s"),
            steps_user_cpu_s=_sum("user_cpu_s"),
            steps_system_cpu_s=_sum("system_cpu_s"),
            max_rss_bytes=pl.col("max_rss_bytes").max(),
            # the most is not known where a step was sampled whose number of tasks is not known
            mem_used_bytes=pl.when(
                (pl.col("used_mem").is_not_null() | pl.col("max_rss_bytes").is_null()).all()
                & (pl.col("used_mem").max() > 0)
            ).then(pl.col("used_mem").max()),
            max_disk_read_bytes=pl.col("max_disk_read_bytes").max(),
            max_disk_write_bytes=pl.col("max_disk_write_bytes").max(),
            gpu_util_percent=pl.col("gpu_util").max(),
            gpu_mem_used_bytes=pl.col("gpu_mem").max(),
        )
    )


def _sum(column: str) -> pl.Expr:
    """A sum that is null where a part of it is not known."""
    values = pl.col(column)
    return pl.when(values.is_not_null().all()).then(values.sum())


def _used(steps: str, own: str) -> pl.Expr:
    """CPU time of a run that has ended: that of its steps, else what its own row says.

    sacct prints 0 for what was not gathered (jobacct_gather/none, -X), as no process uses none.
    """
    of_steps = pl.when(pl.col("steps_cpu_s").ne_missing(0.0)).then(steps)
    return _measured(pl.coalesce(of_steps, pl.when(pl.col(own) > 0).then(own)))


def _measured(used: str | pl.Expr) -> pl.Expr:
    """What a run used: not known before it and all of its steps have ended."""
    whole = pl.col("ended") & pl.col("steps_ended").fill_null(value=True)
    return pl.when(whole).then(used)


def _numbered_runs(data: DatasetReader) -> pl.LazyFrame:
    """Runs of jobs, numbered from 0 per job, with the key of their steps."""
    job = ("cluster", "job_id")
    number = pl.col("submit_time").rank("ordinal").over(job).cast(pl.Int64) - 1
    # which of several runs one is, only their times of submission show
    only = pl.when(pl.len().over(job) == 1).then(pl.lit(0, pl.Int64))
    runs = _runs(data).with_columns(restart=pl.coalesce(number, only), ended=ended())
    return runs.with_columns(owner("submit_time", "position"))


_AS_ACCOUNTED = (
    "job_id",
    "submit_time",
    "restart",
    "job_id_raw",
    "array_job_id",
    "array_task_id",
    "het_job_id",
    "het_offset",
    "cluster",
    "name",
    "user",
    "group",
    "account",
    "partition",
    "qos",
    "state",
    "state_by",
    "exit_code",
    "exit_signal",
    "eligible_time",
    "start_time",
    "end_time",
)
"""The first columns of ``jobs``."""


def jobs(data: DatasetReader) -> pl.LazyFrame:
    """One row per job and run: ``restart`` numbers the runs of a requeued job from 0.

    ``cpu_s`` is the sum over steps, or what the job's own row says where that is not known.
    ``cpu_time_s`` is what was allocated: elapsed x CPUs, or sacct's CPUTime.
    ``mem_used_bytes`` is the most that one step used on all its tasks.
    What a run used that has not ended is not known.
    """
    rolled = _numbered_runs(data).join(_steps(data), on=OWNER, how="left", nulls_equal=True)
    # of a job that has not started, NNodes is what it asked for
    started = pl.col("start_time").is_not_null() | (pl.col("elapsed_s") > 0)
    alloc_nodes = pl.coalesce(
        "alloc_nodes", _amount("alloc_tres", "node"), pl.when(started).then("nodes")
    )
    given = _memory("alloc_cpus", alloc_nodes)
    requested = pl.coalesce(
        given, _memory("req_cpus", pl.coalesce("nodes", "req_nodes", _amount("req_tres", "node")))
    )
    listed = pl.col("steps").is_not_null().any().over("cluster")
    return rolled.select(
        *_AS_ACCOUNTED,
        wait_s=_start_after("submit_time"),
        planned_s=pl.coalesce("planned_s", _start_after("eligible_time")),
        elapsed_s="elapsed_s",
        timelimit_s="timelimit_s",
        req_nodes="req_nodes",
        alloc_nodes=alloc_nodes,
        req_cpus="req_cpus",
        alloc_cpus="alloc_cpus",
        alloc_gpus=_gpus(),
        req_mem_bytes=requested,
        req_mem_per="req_mem_per",
        # to ask for 0 is to ask for all that the nodes have
        alloc_mem_bytes=pl.coalesce(
            _amount("alloc_tres", "mem"), pl.when(started & (given > 0)).then(given)
        ),
        # a dump may be without any steps (-X): then there being none says nothing
        steps=pl.col("steps").fill_null(pl.when(listed).then(0)).cast(pl.Int64),
        ntasks="ntasks",
        cpu_time_s=pl.coalesce(pl.col("elapsed_s") * pl.col("alloc_cpus"), "cpu_time_s"),
        cpu_s=_used("steps_cpu_s", "total_cpu_s"),
        user_cpu_s=_used("steps_user_cpu_s", "user_cpu_s"),
        system_cpu_s=_used("steps_system_cpu_s", "system_cpu_s"),
        max_rss_bytes="max_rss_bytes",
        mem_used_bytes=_measured("mem_used_bytes"),
        max_disk_read_bytes="max_disk_read_bytes",
        max_disk_write_bytes="max_disk_write_bytes",
        gpu_util_percent=_measured("gpu_util_percent"),
        gpu_mem_used_bytes=_measured("gpu_mem_used_bytes"),
        node_list="node_list",
        ended="ended",
        restarts="restarts",
        origin="origin",
        position="position",
    ).sort("submit_time", "job_id", "restart", nulls_last=True)


def _start_after(time: str) -> pl.Expr:
    """Seconds from a time to the start."""
    return (pl.col("start_time") - pl.col(time)).dt.total_microseconds() / 1e6


def _memory(cpus: str, nodes: pl.Expr) -> pl.Expr:
    """Memory asked for, for so many CPUs or nodes."""
    per, each = pl.col("req_mem_per"), pl.col("req_mem_bytes")
    return (
        pl.when(per == "cpu")
        .then(each * pl.col(cpus))
        .when(per == "node")
        .then(each * nodes)
        .otherwise(each)
    )


def _share(part: str | pl.Expr, whole: pl.Expr) -> pl.Expr:
    """A share between 0 and about 1; null where the whole is 0 or unknown."""
    above = pl.col(part) if isinstance(part, str) else part
    return pl.when(whole > 0).then(above / whole)


def efficiency(data: DatasetReader) -> pl.LazyFrame:
    """How much of what a job was given it used; null where a part was not measured.

    ``cpu_eff`` = CPU seconds of all steps / those allocated (elapsed x CPUs); ``mem_eff`` = most
    memory of a step / memory allocated; ``gpu_eff`` = utilisation of GPUs / (100 % x GPUs);
    ``timelimit_eff`` = elapsed / time limit.
    """
    ran = pl.col("elapsed_s")
    return jobs(data).select(
        "job_id",
        "submit_time",
        "restart",
        "cluster",
        "name",
        "user",
        "account",
        "partition",
        "qos",
        "state",
        "elapsed_s",
        "alloc_cpus",
        "cpu_s",
        cpu_eff=_share("cpu_s", pl.col("cpu_time_s")),
        alloc_mem_bytes="alloc_mem_bytes",
        mem_used_bytes="mem_used_bytes",
        mem_eff=_share("mem_used_bytes", pl.col("alloc_mem_bytes")),
        alloc_gpus="alloc_gpus",
        gpu_eff=_share("gpu_util_percent", pl.col("alloc_gpus") * 100),
        timelimit_s="timelimit_s",
        timelimit_eff=_share("elapsed_s", pl.col("timelimit_s")),
        cpu_hours=pl.col("cpu_time_s") / 3600,
        gpu_hours=ran * pl.col("alloc_gpus") / 3600,
        start_time="start_time",
        end_time="end_time",
    )


def queue_time(data: DatasetReader, timezone: str | None = None) -> pl.LazyFrame:
    """One row per started run: how long it waited, with the day of its submission."""
    zone = zone_of(data, timezone)
    waited = pl.coalesce("wait_s", "planned_s")
    return (
        jobs(data)
        .filter(pl.col("start_time").is_not_null() & waited.is_not_null())
        .select(
            "job_id",
            "restart",
            "cluster",
            "name",
            "user",
            "account",
            "partition",
            "qos",
            "req_nodes",
            "state",
            "submit_time",
            "eligible_time",
            "start_time",
            date=zone.local(pl.coalesce("submit_time", "start_time")).dt.date(),
            wait_s=waited,
            planned_s="planned_s",
            elapsed_s="elapsed_s",
            timelimit_s="timelimit_s",
        )
    )


def worst_days(
    data: DatasetReader,
    timezone: str | None = None,
    top: int = 10,
    partition: str | None = None,
    qos: str | None = None,
) -> pl.LazyFrame:
    """Waits per day of submission, the day with the longest mean first."""
    waits = queue_time(data, timezone)
    for column, wanted in (("partition", partition), ("qos", qos)):
        if wanted is not None:
            waits = waits.filter(pl.col(column) == wanted)
    by_day = (
        waits.group_by("date")
        .agg(
            jobs=pl.len().cast(pl.Int64),
            mean_wait_s=pl.col("wait_s").mean(),
            median_wait_s=pl.col("wait_s").median(),
            max_wait_s=pl.col("wait_s").max(),
            total_wait_s=pl.col("wait_s").sum(),
        )
        .sort("mean_wait_s", "date", descending=[True, False])
    )
    return by_day.head(top) if top > 0 else by_day
