"""The declared reports of jobs; each names the module that builds it."""

from __future__ import annotations

from typing import Final

from harvest import ReportSpec, Setting

from ..views.declared.common import BY, FAILED_BY, HOURS, PRICES, by, top, waits


def _of_jobs(name: str, build: str, settings: dict[str, Setting], doc: str) -> ReportSpec:
    build = f"harvest_slurm.report.{build}"
    return ReportSpec(name=name, doc=doc, build=build, requires=("slurm.job",), settings=settings)


REPORTS: Final = (
    _of_jobs(
        "slurm.queue_time", "waits:queue_time",
        {"by": by(more="; by partition and by QOS unless given"), **waits("number of worst days")},
        "How long jobs waited: statistics, histogram, waits by date, worst days.",
    ),
    _of_jobs(
        "slurm.summary", "summary:summary",
        {
            "by": by(more="; by user, by partition, by state and by month unless given"),
            "top": top("number of users or groups with their own row", 25),
            **HOURS,
        },
        "Jobs, CPU hours, efficiency and waits by user, partition, state and month.",
    ),
    _of_jobs(
        "slurm.usage", "usage:usage_report",
        {"by": BY, "top": top("number of groups with their own row", 25), **HOURS, **PRICES},
        "Resources used and wasted, failures and waits by group of jobs, in a period.",
    ),
    _of_jobs(
        "slurm.failures", "failures:failures",
        {"by": FAILED_BY, "top": top("number of rows of a table", 25), **HOURS},
        "Why jobs failed, by account, user, partition and node: exit code, signal, memory, "
        "time limit, node.",
    ),
)  # fmt: skip
