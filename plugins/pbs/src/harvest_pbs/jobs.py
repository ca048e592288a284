"""Rows of ``pbs.job``: ids, resources and states, computed from the values of records."""

import re
from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa

from harvest_toolkit.frames import each_once, first_text
from harvest_toolkit.values import SIZE_UNITS

from .states import ENDERS, SERVER_STATES, SIGNAL_BASE, TORQUE_STATES

_TIMES: Final = ("submit_time", "queue_time", "eligible_time", "start_time", "end_time")
_AS_THEY_ARE: Final = (
    *("name", "user", "group", "owner", "account", "project", "partition", "array_tasks"),
    *("timelimit_s", "eligible_s", "total_cpu_s", "mem_used_bytes", "vmem_used_bytes"),
    *("exec_host", "exec_vnode", "select", "place", "node_spec", "exit_status"),
)
_LONGEST_SIGNAL: Final = 127
_ID: Final = r"^(\d{1,18})(?:\[(\d{0,18})\]|-(\d{1,18}))?(?:\.(.+))?$"
_UNITS: Final = {name: 1 << bits for name, bits in SIZE_UNITS.items()}
_COUNT: Final = re.compile(r"(\d{1,9})(?=:|$)", re.ASCII)
_AMOUNT: Final = re.compile(r"(\d{1,12})([a-z]{0,2})", re.ASCII | re.IGNORECASE)
_WANTED: Final = {"ncpus": "cpus", "ppn": "cpus", "ngpus": "gpus", "gpus": "gpus", "mem": "mem",
                  "mpiprocs": "procs"}  # fmt: skip
_MOST: Final = 2**63 - 1
REQUEST: Final = ("nodes", "cpus", "gpus", "mem", "procs")
"""The amounts of a resource request."""


def job_table(raw: pa.Table) -> pa.Table:
    """Return rows of jobs.

    raw: a table with the columns of ``SCHEMA``, ``job_id``, ``position`` and ``code``, the
        letter of the record. A row without a letter has its state in the column ``state``, if there
        is one.
    """
    extra = raw["extra"]
    frame: pl.DataFrame = pl.from_arrow(raw.drop_columns(["extra"]))  # type: ignore[assignment]
    # PBS writes 0 before it knows a time
    frame = frame.with_columns(
        pl.when(pl.col(name).dt.epoch("us") > 0).then(pl.col(name)).alias(name) for name in _TIMES
    )
    passed = (pl.col("end_time") - pl.col("start_time")).dt.total_microseconds() / 1e6
    frame = _resources(frame).with_columns(
        *id_parts(pl.col("job_id")),
        reservation=pl.coalesce("resvname", "resvID", "resvjobID"),
        restarts=(pl.coalesce("run_count", "start_count") - 1).clip(lower_bound=0),
        elapsed_s=pl.coalesce("elapsed_s", pl.when(passed >= 0).then(passed)),
    )
    frame = _states(frame).with_columns(cpu_time_s=pl.col("elapsed_s") * pl.col("alloc_cpus"))
    table: pa.Table = frame.select(
        "job_id", "job_id_raw", "array_job_id", "array_task_id", "cluster", *_AS_THEY_ARE,
        *("reservation", "state", "exit_code", "exit_signal", *_TIMES, "elapsed_s"),
        *("req_nodes", "alloc_nodes", "req_cpus", "alloc_cpus", "req_procs", "req_mem_bytes"),
        *("node_list", "restarts", "cpu_time_s", "position"),
    ).to_arrow()  # fmt: skip
    for name in ("req", "alloc"):
        table = table.append_column(f"{name}_tres", _tres(frame, name))
    return table.append_column("extra", extra)


def _resources(frame: pl.DataFrame) -> pl.DataFrame:
    asked = {
        name: requested(frame[name]).select(pl.all().name.prefix(f"{name}_"))
        for name in ("select", "node_spec")
    }
    frame = pl.concat([frame, *asked.values()], how="horizontal")
    names = hosts(pl.coalesce("exec_host", pl.col("exec_vnode").str.replace_all(r"[()]", "")))
    frame = frame.with_columns(
        # if nodes have ppn, Torque's ncpus is only a default
        req_cpus=pl.coalesce("node_spec_cpus", "ncpus", "select_cpus"),
        req_gpus=pl.coalesce("ngpus", "select_gpus", "node_spec_gpus"),
        req_mem_bytes=pl.coalesce("mem", "select_mem"),
        req_procs=pl.coalesce("mpiprocs", "select_procs"),
        req_nodes=pl.coalesce("nodect", "select_nodes", "node_spec_nodes"),
        node_list=names.list.join(","),
        alloc_nodes=names.list.len().cast(pl.Int64),
        alloc_cpus=pl.coalesce(allotted(pl.col("exec_vnode"), "ncpus"), "slots"),
        alloc_mem_bytes=allotted(pl.col("exec_vnode"), "mem"),
        alloc_gpus=allotted(pl.col("exec_vnode"), "ngpus"),
    )
    unknown = frame["alloc_cpus"].is_null() & frame["exec_host"].is_not_null()
    if not unknown.any():
        return frame
    counted = slots(frame["exec_host"].set(~unknown, None))
    return frame.with_columns(alloc_cpus=pl.coalesce("alloc_cpus", counted))


def _states(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the columns ``state``, ``exit_code`` and ``exit_signal``.

    A job that SIGTERM or SIGKILL ended after its time limit timed out: PBS Professional has its own
    code for this, Torque and older versions have none.
    """
    status, signal = pl.col("exit_status"), pl.col("exit_status") - SIGNAL_BASE
    by_signal = signal.is_between(1, _LONGEST_SIGNAL)
    overdue = signal.is_in(ENDERS) & (pl.col("elapsed_s") >= pl.col("timelimit_s"))
    # only Torque writes the owner into a log
    torque = pl.col("owner").is_not_null() & pl.col("code").is_not_null()
    of_torque, of_server = (
        status.replace_strict(states, default=None, return_dtype=pl.String)
        for states in (TORQUE_STATES, SERVER_STATES)
    )
    code = pl.col("code")
    state = pl.coalesce(
        first_text((code == "Q", "pending"), (code == "S", "running"), (code == "R", "requeued")),
        pl.col("state") if "state" in frame.columns else None,
        first_text((status == 0, "completed"), (overdue, "timeout")),
        pl.when(torque).then(of_torque).otherwise(of_server),
        first_text((status.is_not_null(), "failed")),
    )
    return frame.with_columns(
        state=state,
        exit_code=pl.when(by_signal).then(pl.lit(0, pl.Int64)).otherwise(status),
        exit_signal=pl.when(by_signal).then(signal).when(status.is_not_null()).then(0),
    )


def _tres(frame: pl.DataFrame, prefix: str) -> pa.Array:
    """Return maps of the known amounts, by Slurm's names; null if none is known."""
    values = [frame[f"{prefix}_{name}"] for name in ("cpus", "mem_bytes", "nodes", "gpus")]
    known = np.stack([series.is_not_null().to_numpy() for series in values], axis=1)
    all_values = np.stack([series.fill_null(0).to_numpy() for series in values], axis=1)
    count = known.sum(axis=1)
    offsets = np.append(0, np.cumsum(count)).astype(np.int32)
    names = np.tile(np.arange(4, dtype=np.int32), len(known))[known.ravel()]
    keys = pa.array(["cpu", "mem", "node", "gres/gpu"]).take(pa.array(names))
    return pa.MapArray.from_arrays(
        pa.array(offsets), keys, pa.array(all_values[known]), mask=pa.array(count == 0)
    )


def id_parts(job_id: pl.Expr) -> list[pl.Expr]:
    """Parse number, array, index and server: ``123.server``, ``123[4].server``, ``123[].server``.

    Torque before version 3 wrote tasks as ``123-4.server``.
    """
    parts = job_id.str.extract_groups(_ID).struct
    number = parts.field("1").cast(pl.Int64)
    index = pl.coalesce(parts.field("2"), parts.field("3"))
    task = pl.when(index != "").then(index).cast(pl.Int64)
    return [
        number.alias("job_id_raw"),
        pl.when(task.is_not_null()).then(number).alias("array_job_id"),
        task.alias("array_task_id"),
        parts.field("4").alias("cluster"),
    ]


def hosts(exec_host: pl.Expr) -> pl.Expr:
    """Return the hosts of ``n1/0*4+n1/1+n2/0``, each once."""
    names = exec_host.str.replace_all(r"[:/][^+]*", "").str.split("+")
    return names.list.unique(maintain_order=True)


def slots(exec_host: pl.Series) -> pl.Series:
    """Count the slots of hosts: 4 in ``n1/0*4``, 5 in ``n1/0-3,5``, 1 in ``n1/7`` and ``n1``."""
    row = pl.int_range(len(exec_host), dtype=pl.UInt32, eager=True)
    lists = pl.DataFrame({"row": row, "chunk": exec_host.str.split("+")})
    chunks = lists.explode("chunk").drop_nulls()
    items = chunks.select(
        "row",
        times=pl.col("chunk").str.extract(r"\*(\d{1,9})$").cast(pl.Int64).fill_null(1),
        item=pl.col("chunk").str.extract(r"/([\d,-]*)").fill_null("0").str.split(","),
    ).explode("item")
    ends = pl.col("item").str.extract_groups(r"^(\d{1,9})(?:-(\d{1,9}))?$").struct
    first, last = (ends.field(n).cast(pl.Int64) for n in ("1", "2"))
    count = pl.when(first.is_not_null()).then(last.fill_null(first) - first + 1)
    # the slots of a list are unknown if one item has another form
    known = pl.when((count > 0).fill_null(False).all()).then((count * pl.col("times")).sum())
    summed = items.group_by("row").agg(slots=known)
    return lists.join(summed, on="row", how="left", maintain_order="left")["slots"]


def allotted(exec_vnode: pl.Expr, name: str) -> pl.Expr:
    """Sum a resource over ``(n1:ncpus=4:mem=8gb)+(n2:ncpus=4)``; null if no part has it."""
    amounts = exec_vnode.str.extract_all(rf":{name}=\w*").list.eval(_bytes(pl.element()))
    whole = (amounts.list.len() > 0) & (amounts.list.drop_nulls().list.len() == amounts.list.len())
    return pl.when(whole).then(amounts.list.sum()).cast(pl.Int64, strict=False)


def _bytes(text: pl.Expr) -> pl.Expr:
    parts = text.str.extract_groups(r"=(\d{1,12})(\w*)$").struct
    unit = parts.field("2").str.to_lowercase()
    return parts.field("1").cast(pl.Int128) * unit.replace_strict(
        _UNITS, default=None, return_dtype=pl.Int64
    )


def requested(statements: pl.Series) -> pl.DataFrame:
    """Sum the resources of ``2:ncpus=64:ngpus=4+1:ncpus=8``, or Torque's ``2:ppn=8:gpus=2``.

    Few texts differ, so each distinct one is read once.
    """
    amounts = pl.Struct(dict.fromkeys(REQUEST, pl.Int64))
    return each_once(statements, _request, amounts).struct.unnest()


def _request(statement: str) -> dict[str, int | None]:
    total: dict[str, int | None] = dict.fromkeys(REQUEST)
    unread: set[str] = set()
    for chunk in statement.split("+"):
        count, *settings = chunk.split(":")
        times = int(count) if _COUNT.fullmatch(count) else 1
        total["nodes"] = (total["nodes"] or 0) + times
        for setting in [*settings, count]:
            name, _, text = setting.partition("=")
            wanted = _WANTED.get(name)
            amount = _AMOUNT.fullmatch(text)
            if wanted and amount and amount[2].lower() in _UNITS:
                size = int(amount[1]) * _UNITS[amount[2].lower()]
                total[wanted] = (total[wanted] or 0) + times * size
            elif wanted:  # a sum without this amount would be too small
                unread.add(wanted)
    return {
        name: None if name in unread or value is None or value > _MOST else value
        for name, value in total.items()
    }
