"""What a dump does not hold: tables without columns of dashes, and each missing field said once."""

from __future__ import annotations

from typing import Final

import attrs
import polars as pl

from harvest_report import Table

_WITH_STEPS: Final = "of jobs and steps, so without -X"
_FIELDS: Final = (
    ("state", "how jobs ended", "State"),
    ("cpu_time_s", "CPU hours", "Elapsed,AllocCPUS"),
    ("cpu_s", "the CPU time used", f"TotalCPU ({_WITH_STEPS})"),
    ("mem_used_bytes", "the memory used", f"TRESUsageInTot,MaxRSS,NTasks ({_WITH_STEPS})"),
    ("alloc_mem_bytes", "the memory allocated", "AllocTRES,ReqMem"),
    ("alloc_gpus", "GPUs", "AllocTRES (with gres/gpu in AccountingStorageTRES)"),
    ("timelimit_s", "time limits", "Timelimit"),
    ("submit_time", "when jobs were submitted", "Submit"),
    ("start_time", "when jobs started", "Start"),
    ("exit_code", "exit codes and signals", "ExitCode"),
    ("node_list", "the nodes of jobs", "NodeList"),
    ("user", "users", "User"),
    ("account", "accounts", "Account"),
    ("partition", "partitions", "Partition"),
    ("qos", "the quality of service", "QOS"),
)
"""A column of slurm.jobs, what it says, and the fields of sacct that bring it."""


def missing(jobs: pl.LazyFrame, *asked: str) -> list[str]:
    """A sentence on each field that no job has, with the option of sacct that brings it.

    asked: the columns that a report needs; all but that of QOS unless given.
    """
    fields = [each for each in _FIELDS if (each[0] in asked if asked else each[0] != "qos")]
    names = [name for name, _, _ in fields]
    gpus = [(pl.col("gpu_util_percent").count() == 0) & (pl.col("alloc_gpus") > 0).any()]
    counts = jobs.select(
        pl.col(names).count(),
        *(each.alias("unmeasured") for each in gpus if not asked),
        all=pl.len(),
    )
    found = counts.collect().row(0, named=True)
    if not found["all"]:
        return []
    said = [
        f"Not in this dump: {what}; sacct --format={options} brings it."
        for name, what, options in fields
        if not found[name]
    ]
    if found.get("unmeasured"):
        said.append(
            "Not in this dump: the use of GPUs; sacct --format=TRESUsageInTot "
            f"({_WITH_STEPS}) brings it where the cluster gathers gres/gpuutil (AutoDetect=nvml "
            "in gres.conf)."
        )
    return said


def filled(table: Table, keys: int, *, counts: bool = False) -> list[Table]:
    """The table without columns that hold nothing; none where no measure is left.

    keys: how many columns name its rows.  counts: whether the number of jobs is one.
    """
    if not table.rows.height:
        return [table]
    named, rest = table.columns[:keys], table.columns[keys:]
    known = [column for column in rest if table.rows[column.name].count()]
    names = {c.name for c in known if not c.name.endswith("_unknown_jobs")}
    worth = names if counts else names - {"jobs"}
    return [attrs.evolve(table, columns=(*named, *known))] if worth else []
