"""Finds a job, an array or a heterogeneous job by its id, with all the resources it used.

The arithmetic is that of Slurm's ``seff`` (contribs/seff, version 2.1): CPU time of all steps over
elapsed time times CPUs, peak memory of a step over the memory allocated. Values that were not
recorded are None here; seff counts them as 0.
"""

import re
from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any, Final

import attrs
import polars as pl

from harvest import DatasetReader, UsageError
from harvest_accounting.frame import OWNER, owner

from ..runs import jobs, steps_once
from ..values.ids import PATTERN

_ID: Final = re.compile(PATTERN)
_SHOWN: Final = 5
_STEP: Final = (
    "step_id", "name", "state", "exit_code", "exit_signal", "ntasks", "elapsed_s", "total_cpu_s",
    "used_mem", "max_rss_bytes", "node_list", "mem_estimated", "ave_rss_bytes",
)  # fmt: skip


@attrs.frozen
class Found:
    """The job or jobs of an id.

    kind: ``job``, ``array`` or ``het``. runs: the chosen run of each job.
    earlier: the other runs of a single job, the first one first.
    """

    wanted: str
    kind: str
    runs: list[dict[str, Any]]
    earlier: list[dict[str, Any]]


def find(
    data: DatasetReader, wanted: str, cluster: str | None = None, restart: int | None = None
) -> Found:
    """Find a job, or the jobs of an array or heterogeneous job, by an id as users write it.

    cluster: needed if several have the id. restart: which run of a requeued job, from 0; the last
        by default. Raises UsageError for an id that is wrong, unknown, or used by several clusters.
    """
    parts = _ID.match(wanted)
    if parts is None or parts[5] is not None:
        raise UsageError(
            f"{wanted!r} is not a job id", remedy="write 123, 123_4 for a task, or 123+1"
        )
    all_jobs = data["slurm.job"]
    if cluster is not None:
        all_jobs = all_jobs.filter(pl.col("cluster") == cluster)
    chosen = _with_id(all_jobs, wanted, whole=parts[0] == parts[1])
    if chosen.is_empty():
        raise UsageError(
            f"the dataset has no job {wanted}" + (f" of cluster {cluster}" if cluster else ""),
            remedy=_nearest(all_jobs, parts),
        )
    clusters = chosen["cluster"].unique().sort().to_list()
    if len(clusters) > 1:
        named = [str(name) for name in clusters if name is not None]
        raise UsageError(
            f"several clusters have a job {wanted}: {', '.join(named)}"
            + ("" if len(named) == len(clusters) else ", and one without a name"),
            remedy=f"write --cluster {named[0]}",
        )
    mine = pl.col("cluster").eq_missing(pl.lit(clusters[0], pl.String))
    mine &= pl.col("job_id").is_in(chosen["job_id"].unique().to_list())
    rows = _with_steps({name: data[name].filter(mine) for name in ("slurm.job", "slurm.step")})
    kind = "job"
    for group, column in (("het", "het_job_id"), ("array", "array_job_id")):
        if parts[0] == parts[1] and all(str(row[column]) == wanted for row in rows):
            kind = group
    return _chosen_runs(rows, wanted, kind, restart)


def of_group(runs: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Sum up the tasks of an array, or the components of a heterogeneous job.

    Sums are over the jobs with known values; ``*_unknown`` counts the other jobs that ran or may
    have run. Elapsed times are those of ended jobs.
    """
    ran = [run for run in runs if run["elapsed_s"] != 0 and run["state"] != "pending"]
    known = [r for r in ran if r["cpu_s"] is not None and r["cpu_time_s"]]
    memory = [r for r in ran if r["mem_used_bytes"] is not None]
    used, given = sum(r["cpu_s"] for r in known), sum(r["cpu_time_s"] for r in known)
    whole = [r for r in ran if r["ended"] and r["elapsed_s"] is not None]
    return {
        "ran": len(ran),
        "cpu_s": used if known else None,
        "cpu_time_s": given if known else None,
        "cpu_eff": used / given if known else None,
        "cpu_unknown": len(ran) - len(known),
        "median_elapsed_s": median(r["elapsed_s"] for r in whole) if whole else None,
        "longest": max(whole, key=lambda r: r["elapsed_s"], default=None),
        "largest": max(memory, key=lambda r: r["mem_used_bytes"], default=None),
        "mem_unknown": len(ran) - len(memory),
    }


def _with_id(rows: pl.LazyFrame, wanted: str, *, whole: bool) -> pl.DataFrame:
    """Return the rows of jobs with an id; whole: perhaps that of an array or heterogeneous job."""
    of_job = pl.col("job_id") == wanted
    columns = ("job_id", "cluster")
    if not whole:
        return rows.filter(of_job).select(columns).collect()
    number = int(wanted)
    groups = (pl.col("array_job_id") == number) | (pl.col("het_job_id") == number)
    found = rows.filter(of_job | groups).select(columns).collect()
    if found.is_empty():  # the scheduler's own number of a task or component
        found = rows.filter(pl.col("job_id_raw") == number).select(columns).collect()
    return found


def _nearest(rows: pl.LazyFrame, parts: re.Match[str]) -> str:
    number = pl.col("job_id").str.extract(r"^(\d+)").cast(pl.Int64, strict=False)
    task = pl.coalesce("array_task_id", "het_offset").fill_null(0)
    there = int(parts[2] or parts[4] or 0)
    near = (
        rows.select("job_id", away=(number - int(parts[1])).abs(), further=(task - there).abs())
        .unique("job_id")
        .sort("away", "further", "job_id")
        .head(_SHOWN)
        .collect()
    )
    if near.is_empty():
        return "harvest the dump that has it"
    return f"the nearest {'is' if len(near) == 1 else 'are'} {', '.join(near['job_id'])}"


def _with_steps(data: Mapping[str, pl.LazyFrame]) -> list[dict[str, Any]]:
    """Return the runs of jobs as dictionaries, each with its steps in the order of their start.

    data: the rows of these jobs, by record type.
    """
    runs = jobs(data).with_columns(owner("submit_time", "position")).drop("ran_until").collect()
    steps: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    found = steps_once(data).sort("start_time", "step_id", nulls_last=True).collect()
    for step in found.rename({"estimated": "mem_estimated"}).iter_rows(named=True):
        shown = {name: step[name] for name in _STEP}
        steps.setdefault(tuple(step[name] for name in OWNER), []).append(shown)
    rows = []
    for run in runs.iter_rows(named=True):
        mine = steps.get(tuple(run[name] for name in OWNER), [])
        rows.append({k: v for k, v in run.items() if k not in OWNER[2:]} | {"steps": mine})
    return rows


def _chosen_runs(rows: list[dict[str, Any]], wanted: str, kind: str, restart: int | None) -> Found:
    if kind != "job":
        if restart is not None:
            raise UsageError(
                f"{wanted} is several jobs: --restart needs one",
                remedy=f"write the id of one of them, for example {rows[0]['job_id']}",
            )
        last = {row["job_id"]: row for row in rows}  # sorted by submission
        return Found(wanted, kind, sorted(last.values(), key=_place), [])
    shown = (
        rows[-1] if restart is None else next((r for r in rows if r["restart"] == restart), None)
    )
    if shown is None:
        raise UsageError(
            f"job {wanted} has no run {restart}", remedy=f"write --restart 0 to {len(rows) - 1}"
        )
    return Found(wanted, kind, [shown], [row for row in rows if row is not shown])


def _place(run: dict[str, Any]) -> tuple[int, str]:
    place = run["array_task_id"] if run["array_task_id"] is not None else run["het_offset"]
    return (2**62 if place is None else place), run["job_id"]
