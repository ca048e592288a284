"""Notes on values that are not recorded or impossible; reports leave out their columns."""

from collections import Counter
from typing import Final

import attrs
import polars as pl

from harvest.toolkit.amounts import count_in_words
from harvest_report import Table

from ..job_runs import Words

_FIELDS: Final = {
    "state": "final states of jobs",
    "cpu_time_s": "CPU hours",
    "cpu_s": "CPU time used",
    "mem_used_bytes": "memory used",
    "alloc_mem_bytes": "memory allocated",
    "alloc_gpus": "GPUs",
    "timelimit_s": "time limits",
    "submit_time": "submission times",
    "start_time": "start times",
    "exit_code": "exit codes and signals",
    "node_list": "nodes of jobs",
    "user": "users",
    "account": "accounts",
    "partition": "partitions",
    "qos": "quality of service",
}
"""Column of the frame of runs -> its meaning."""


def missing(words: Words, jobs: pl.LazyFrame, *asked: str) -> list[str]:
    """Say which fields no job has, with the remedy, and which values are impossible.

    asked: the columns that a report needs; all except ``qos`` by default.
    """
    fields = [name for name in _FIELDS if (name in asked if asked else name != "qos")]
    without_use = (pl.col("gpu_util_percent").count() == 0) & (pl.col("alloc_gpus") > 0).any()
    counts = jobs.select(
        pl.col(fields).count(),
        all=pl.len(),
        without_use=pl.lit(value=False) if asked else without_use,
        impossible=pl.col("impossible").drop_nulls().implode(),
        unordered=pl.col("restart").null_count(),
    )
    found = counts.collect().row(0, named=True)
    if not found["all"]:
        return []
    said = [words.lacks(_FIELDS[name], name) for name in fields if not found[name]]
    if found["without_use"]:
        said.append(words.lacks("GPU use", "gpu_util_percent"))
    if found["unordered"]:
        said.append(
            f"{found['unordered']:,} of {found['all']:,} jobs have the job id of another, and no "
            "time that distinguishes them. A job in several inputs may count several times."
        )
    jobs_with = found["impossible"]
    if jobs_with:
        counted = Counter(text for each in jobs_with for text in each.split(", "))
        listed = ", ".join(f"{what} ({count:,})" for what, count in sorted(counted.items()))
        said.append(
            f"Impossible times or amounts of {count_in_words(len(jobs_with), 'job')}: {listed}. "
            "They are left out, so sums are lower bounds."
        )
    return said


def filled(table: Table, keys: int, caption: str = "", *, counts: bool = False) -> list[Table]:
    """Return the table without its empty columns; nothing if no measure is left.

    keys: the number of columns that name a row. caption: the note of a table with hours. counts:
        whether the number of jobs is a measure.
    """
    if not table.rows.height:
        return [table]
    named, rest = table.columns[:keys], table.columns[keys:]
    known = [column for column in rest if table.rows[column.name].count()]
    names = {c.name for c in known if not c.name.endswith("_unknown_jobs")}
    if not (names if counts else names - {"jobs"}):
        return []
    has_hours = any(name.endswith(("hours", "cost")) for name in names)
    note = " ".join(filter(None, (caption if has_hours else "", table.note))) or None
    return [attrs.evolve(table, columns=(*named, *known), note=note)]
