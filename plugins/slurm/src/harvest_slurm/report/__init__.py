"""Reports of jobs, declared; what they say is in the modules that they name."""

from __future__ import annotations

from typing import Final

from harvest import ReportSpec

from ..views.declared.common import BY, FAILED_BY, HOURS, PRICES, top, waits

REPORTS: Final = (
    ReportSpec(
        name="slurm.queue_time",
        doc="How long jobs waited: statistics, histogram, scatter by date, worst days.",
        build="harvest_slurm.report.waits:queue_time",
        requires=("slurm.job",),
        settings=waits("how many of the worst days"),
    ),
    ReportSpec(
        name="slurm.summary",
        doc="Jobs, CPU hours, efficiency and waits by user, partition, state and month.",
        build="harvest_slurm.report.summary:summary",
        requires=("slurm.job",),
        settings={"top": top("how many users have their own row", 25), **HOURS},
    ),
    ReportSpec(
        name="slurm.usage",
        doc="Who used and wasted how much, whose jobs failed, who waited, in a period.",
        build="harvest_slurm.report.usage:usage_report",
        requires=("slurm.job",),
        settings={
            "by": BY,
            "top": top("how many groups have their own row", 25),
            **HOURS,
            **PRICES,
        },
    ),
    ReportSpec(
        name="slurm.failures",
        doc="Why jobs failed, by account, user, partition and node: exit code, signal, memory, "
        "time limit, node.",
        build="harvest_slurm.report.failures:failures",
        requires=("slurm.job",),
        settings={"by": FAILED_BY, "top": top("how many rows a table has", 25), **HOURS},
    ),
)
