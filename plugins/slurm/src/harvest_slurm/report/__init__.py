"""Reports of jobs, declared; what they say is in the modules that they name."""

from __future__ import annotations

from typing import Final

from harvest import ReportSpec, Setting

from ..views.declared.common import BY, FAILED_BY, HOURS, PRICES, top, waits


def _of_jobs(name: str, build: str, settings: dict[str, Setting], doc: str) -> ReportSpec:
    build = f"harvest_slurm.report.{build}"
    return ReportSpec(name=name, doc=doc, build=build, requires=("slurm.job",), settings=settings)


REPORTS: Final = (
    _of_jobs(
        "slurm.queue_time", "waits:queue_time", waits("how many of the worst days"),
        "How long jobs waited: statistics, histogram, scatter by date, worst days.",
    ),
    _of_jobs(
        "slurm.summary", "summary:summary",
        {"top": top("how many users have their own row", 25), **HOURS},
        "Jobs, CPU hours, efficiency and waits by user, partition, state and month.",
    ),
    _of_jobs(
        "slurm.usage", "usage:usage_report",
        {"by": BY, "top": top("how many groups have their own row", 25), **HOURS, **PRICES},
        "Who used and wasted how much, whose jobs failed, who waited, in a period.",
    ),
    _of_jobs(
        "slurm.failures", "failures:failures",
        {"by": FAILED_BY, "top": top("how many rows a table has", 25), **HOURS},
        "Why jobs failed, by account, user, partition and node: exit code, signal, memory, "
        "time limit, node.",
    ),
)  # fmt: skip
