"""What a dump does not record, and which values are impossible: notes, not empty columns."""

from __future__ import annotations

from collections import Counter
from typing import Final

import attrs
import polars as pl

from harvest.toolkit.amounts import count_in_words
from harvest_report import Table

_WITH_STEPS: Final = "for jobs and steps, so without -X"
_FIELDS: Final = (
    ("state", "final states of jobs", "State"),
    ("cpu_time_s", "CPU hours", "Elapsed,AllocCPUS"),
    ("cpu_s", "CPU time used", f"TotalCPU ({_WITH_STEPS})"),
    ("mem_used_bytes", "memory used", f"TRESUsageInTot,MaxRSS,NTasks ({_WITH_STEPS})"),
    ("alloc_mem_bytes", "memory allocated", "AllocTRES,ReqMem"),
    ("alloc_gpus", "GPUs", "AllocTRES (with gres/gpu in AccountingStorageTRES)"),
    ("timelimit_s", "time limits", "Timelimit"),
    ("submit_time", "submission times", "Submit"),
    ("start_time", "start times", "Start"),
    ("exit_code", "exit codes and signals", "ExitCode"),
    ("node_list", "nodes of jobs", "NodeList"),
    ("user", "users", "User"),
    ("account", "accounts", "Account"),
    ("partition", "partitions", "Partition"),
    ("qos", "quality of service", "QOS"),
)
"""A column of slurm.jobs, what it says, and the fields of sacct that bring it."""


def missing(jobs: pl.LazyFrame, *asked: str) -> list[str]:
    """A sentence on each field that no job has, with the option of sacct that adds it.

    And one on impossible values, which are taken as unknown.
    asked: the columns that a report needs; all except that of QOS unless given.
    """
    fields = [each for each in _FIELDS if (each[0] in asked if asked else each[0] != "qos")]
    without_use = (pl.col("gpu_util_percent").count() == 0) & (pl.col("alloc_gpus") > 0).any()
    counts = jobs.select(
        pl.col([name for name, _, _ in fields]).count(),
        all=pl.len(),
        without_use=pl.lit(value=False) if asked else without_use,
        impossible=pl.col("impossible").drop_nulls().implode(),
    )
    found = counts.collect().row(0, named=True)
    if not found["all"]:
        return []
    said = [
        f"The dump does not record {what}: harvest with sacct --format={options}."
        for name, what, options in fields
        if not found[name]
    ]
    if found["without_use"]:
        said.append(
            "The dump does not record GPU use: harvest with sacct --format=TRESUsageInTot "
            f"({_WITH_STEPS}). The cluster must gather gres/gpuutil (AutoDetect=nvml in gres.conf)."
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
    """The table without empty columns; none where no measure is left.

    keys: how many columns name its rows.  caption: its note where it has hours.
    counts: whether the number of jobs is a measure.
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
