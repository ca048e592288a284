"""The frame of job runs: one row per run of a job, in the same columns for every scheduler.

A scheduler whose record type has all values in columns needs nothing of this module. One that
computes values calls ``once`` and ``complete`` in the function named by its ``JobRuns``.
"""

from collections.abc import Collection, Iterable
from pkgutil import resolve_name
from typing import Final

import polars as pl

from harvest import DatasetReader

from .job_runs import ENDED, MORE, JobRuns
from .possible import disorder, possible, ran_until, seconds_from

FRAME: Final = (
    "job_id", "submit_time", "restart", "job_id_raw", "array_job_id", "array_task_id",
    "het_job_id", "het_offset", "cluster", "name", "user", "group", "account", "partition", "qos",
    "state", "state_by", "exit_code", "exit_signal", "eligible_time", "start_time", "end_time",
    "undecided_times", "wait_s", "planned_s", "elapsed_s", "timelimit_s", "req_nodes",
    "alloc_nodes", "req_cpus", "alloc_cpus", "alloc_gpus", "req_mem_bytes", "req_mem_per",
    "alloc_mem_bytes", "steps", "ntasks", "cpu_time_s", "cpu_s", "user_cpu_s", "system_cpu_s",
    "max_rss_bytes", "mem_used_bytes", "max_disk_read_bytes", "max_disk_write_bytes",
    "gpu_util_percent", "gpu_mem_used_bytes", "node_list", "ended", "restarts", "impossible",
    "ran_until", "origin", "position",
)  # fmt: skip
"""The columns of the frame, in order. Those of ``MORE`` exist only if the scheduler fills them."""

_TEXTS: Final = ("job_id", "cluster", "name", "user", "group", "account", "partition", "qos",
                 "state", "undecided_times", "node_list")  # fmt: skip

_USE: Final = ("cpu_s", "mem_used_bytes", "gpu_util_percent")

_JOB: Final = ("cluster", "job_id")

_IN_ORDER: Final = (
    ("submit_time", "start_time"), ("eligible_time", "start_time"), ("start_time", "end_time"),
)  # fmt: skip

OWNER: Final = (*_JOB, "owner_time", "owner_origin", "owner_position")
"""The columns that identify a run in the frame of failed steps; see ``owner``."""

OF_STEP: Final = {
    "failed_step": pl.String,
    "in_first": pl.Boolean,
    "step_code": pl.Int64,
    "step_signal": pl.Int64,
    "step_nodes": pl.String,
    "step_memory": pl.Boolean,
}
"""Further columns of the frame of failed steps: the step that failed first, whether no step began
before it, its exit code, signal and nodes, and whether a step ran out of memory."""


def owner(time: str, position: str) -> list[pl.Expr]:
    """Return the last columns of OWNER: the submit time of a run, else the place of its row."""
    unknown = pl.col(time).is_null()
    return [
        pl.col(time).alias("owner_time"),
        pl.when(unknown).then("origin").alias("owner_origin"),
        pl.when(unknown).then(position).alias("owner_position"),
    ]


def ended() -> pl.Expr:
    """Return whether a run or step ended, by its state, else by its end; null where unknown."""
    by_time = pl.when(pl.col("end_time").is_not_null()).then(pl.lit(value=True))
    return pl.coalesce(pl.col("state").is_in(ENDED), by_time)


def amount(column: str, key: str) -> pl.Expr:
    """Return the amount of one resource in a map column."""
    # polars reads maps as lists of key-value structs
    name, value = (pl.element().struct.field(part) for part in ("key", "value"))
    mine = pl.col(column).list.filter((name == key) & value.is_not_null())
    return mine.list.first().struct.field("value")


def gpus() -> pl.Expr:
    """Return the GPUs in ``alloc_tres``: the total, else the sum over the kinds of GPUs.

    A job without GPUs lists none. Jobs of a cluster that does not account for GPUs list none, too.
    So a job has 0 GPUs only if another job of its cluster has some, else null.
    """
    key, value = pl.element().struct.field("key"), pl.element().struct.field("value")
    of_a_kind = key.str.starts_with("gres/gpu:") & value.is_not_null()
    kinds = pl.col("alloc_tres").list.filter(of_a_kind)
    # a sum of integers could overflow
    total = kinds.list.eval(value.cast(pl.Float64)).list.sum()
    listed = pl.coalesce(
        amount("alloc_tres", "gres/gpu"),
        pl.when(kinds.list.len() > 0).then(total).cast(pl.Int64, strict=False),
    )
    counted = listed.is_not_null().any().over("cluster")
    return pl.when(pl.col("alloc_tres").is_not_null() & counted).then(listed.fill_null(0))


def rows_of(data: DatasetReader, runs: JobRuns) -> pl.LazyFrame:
    """Return the rows of a scheduler's record type, with every column of the frame.

    Columns that the record type lacks are null. A map ``alloc_tres`` that names resources as Slurm
    does fills ``alloc_mem_bytes`` and ``alloc_gpus``.
    """
    rows = data[runs.record_type]
    names = rows.collect_schema().names()
    found = {name: pl.col(own) for name, own in runs.columns.items()}
    if "alloc_tres" in names:
        from_tres = {"alloc_mem_bytes": amount("alloc_tres", "mem"), "alloc_gpus": gpus()}
        found = {name: e for name, e in from_tres.items() if name not in names} | found
    for name in (*FRAME, "suspended_s"):
        if name not in names:
            found.setdefault(name, pl.lit(None, _kind(name)))
    return rows.with_columns(**found)


def _kind(name: str) -> pl.DataType | type[pl.DataType]:
    if name.endswith("_time"):
        return pl.Datetime("us", "UTC")
    if name.endswith(("_s", "_percent")):
        return pl.Float64
    return pl.String if name in _TEXTS else pl.Int64


def once(rows: pl.LazyFrame, order: str = "submit_time") -> pl.LazyFrame:
    """Keep one row per run, and add its number within the job from 0 (``restart``) and ``ended``.

    Of several rows of one run, the most complete one stays: the run may have started between dumps.
    order: the time that distinguishes runs of the same cluster and job id.
    """
    known = pl.col(order).is_not_null()
    same: list[str | pl.Expr] = [*_JOB, order]
    if order == "start_time":  # a job's row without it counts only while no other row has it
        rows = rows.filter(known | ~known.any().over(_JOB))
    else:  # runs without it are distinguished by their place
        same += [pl.when(~known).then(pl.col(name)) for name in ("origin", "position")]
    runs = last_of(
        rows,
        same,
        pl.col("end_time").is_not_null(),
        pl.col("start_time").is_not_null(),
        pl.col("elapsed_s").fill_null(-1.0),
    )
    number = pl.col(order).rank("ordinal").over(_JOB).cast(pl.Int64) - 1
    # only these times show the order of several runs
    only = pl.when(pl.len().over(_JOB) == 1).then(pl.lit(0, pl.Int64))
    return runs.with_columns(restart=pl.coalesce(number, only), ended=ended())


def last_of(
    rows: pl.LazyFrame, names: Iterable[str | pl.Expr], *order: str | pl.Expr
) -> pl.LazyFrame:
    """Keep one row per key: the last in an order in which nulls are first.

    names: the columns of the key. Only keys with several rows are sorted, since most have one.
    """
    columns = (pl.col(name) if isinstance(name, str) else name for name in names)
    key = pl.struct(n.alias(f"key {i}") for i, n in enumerate(columns))
    marked = rows.with_columns(key=key).with_columns(several=pl.col("key").is_duplicated())
    single, several = marked.filter(~pl.col("several")), marked.filter("several")
    ordered = several.sort(*order, nulls_last=False, maintain_order=True)
    last = ordered.unique("key", keep="last", maintain_order=True)
    return pl.concat([single, last]).drop("key", "several")


def complete(
    rows: pl.LazyFrame, also: Iterable[pl.Expr] = (), fills: Collection[str] = (), **more: pl.Expr
) -> pl.LazyFrame:
    """Build the frame of runs from rows of ``once``; impossible values are null (see ``possible``).

    The use of a run is null until it ends. ``ran_until`` is when a run ended or was last seen; null
    if its start or end is unknown.
    also: texts that name further impossible values. fills: the columns of ``MORE`` that the rows
        have. more: columns to compute from possible values.
    """
    runs = possible(rows, also=(*(disorder(*pair) for pair in _IN_ORDER), *also))
    columns = {
        "wait_s": seconds_from("submit_time", "start_time"),
        "planned_s": pl.coalesce("planned_s", seconds_from("eligible_time", "start_time")),
        "ran_until": ran_until(pl.col("ended")),
        "cpu_time_s": pl.coalesce(pl.col("elapsed_s") * pl.col("alloc_cpus"), "cpu_time_s"),
        **{name: pl.when("ended").then(name) for name in _USE if name not in more},
    }
    names = [name for name in FRAME if name not in MORE or name in fills]
    filled = runs.with_columns(**columns, **more).select(names)
    # the last three order runs of several clusters or dumps
    order = ("submit_time", "job_id", "restart", "cluster", "origin", "position")
    return filled.sort(order, nulls_last=True)


def runs_of(data: DatasetReader, runs: JobRuns) -> pl.LazyFrame:
    """Build the frame of a scheduler's runs."""
    if runs.runs is not None:
        return resolve_name(runs.runs)(data)  # type: ignore[no-any-return]
    return complete(once(rows_of(data, runs), runs.order), fills=runs.fills)
