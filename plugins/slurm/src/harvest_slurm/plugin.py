"""What this distribution adds to harvest: the source ``slurm`` and views of its jobs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from harvest import ReportSpec, Rule, Setting, SourceSpec, View, hookimpl
from harvest.toolkit.settings import at_least, some_of, time_zone

from .named_commands import harvest_commands
from .rules import RULES

__all__ = [
    "harvest_api",
    "harvest_commands",
    "harvest_reports",
    "harvest_rules",
    "harvest_sources",
    "harvest_views",
]

harvest_api = 1

_ZONE = Setting(
    "zone that days and months are counted in; that of the harvest unless given, UTC where there "
    "were several",
    str,
    check=time_zone,
)
_OF_PARTITION = Setting("only jobs of this partition", str)
_OF_QOS = Setting("only jobs of this QOS", str)

_SELECTION = {
    "since": Setting("begin of the period: 2024-01-31[T12:00:00], or 7d, 12h, 4w ago", str),
    "until": Setting("end of the period, which is not part of it", str),
    "month": Setting("2024-01, `this` or `last`, in place of since and until", str),
    "user": Setting("only jobs of this user", str),
    "account": Setting("only jobs of this account", str),
    "cluster": Setting("only jobs of this cluster", str),
    "partition": _OF_PARTITION,
    "qos": _OF_QOS,
    "timezone": _ZONE,
}


def _top(doc: str, default: int) -> Setting:
    return Setting(f"{doc}; 0 for all", int, default, at_least(0))


_KEYS = ("month", "cluster", "account", "user", "partition", "qos")
_BY = Setting("what jobs are grouped by", tuple[str, ...], ("user",), some_of(_KEYS))


@hookimpl
def harvest_sources() -> list[SourceSpec]:
    """The source ``slurm``."""
    return [
        SourceSpec(
            name="slurm",
            doc="Slurm accounting: sacct output in any layout, or a live cluster as slurm:live.",
            factory="harvest_slurm.source:SlurmSource",
        )
    ]


VIEWS: Final = (
    View(
        name="slurm.jobs",
        doc="One row per job and run, with what its steps used rolled up.",
        build="harvest_slurm.views:jobs",
        requires=("slurm.job",),
        columns="harvest_slurm.view_columns:JOBS",
    ),
    View(
        name="slurm.efficiency",
        doc="How much of its CPUs, memory, GPUs and time limit each job used.",
        build="harvest_slurm.views:efficiency",
        requires=("slurm.job",),
        columns="harvest_slurm.view_columns:EFFICIENCY",
    ),
    View(
        name="slurm.queue_time",
        doc="How long each started job waited: start minus submit, with day, partition, QOS.",
        build="harvest_slurm.views:queue_time",
        requires=("slurm.job",),
        columns="harvest_slurm.view_columns:QUEUE_TIME",
        settings={"timezone": _ZONE},
    ),
    View(
        name="slurm.worst_days",
        doc="Waits per day of submission: mean, median and maximum; longest mean first.",
        build="harvest_slurm.views:worst_days",
        requires=("slurm.job",),
        columns="harvest_slurm.view_columns:WORST_DAYS",
        settings={
            "timezone": _ZONE,
            "top": _top("how many days", 10),
            "partition": _OF_PARTITION,
            "qos": _OF_QOS,
        },
    ),
    View(
        name="slurm.usage",
        doc="CPU, GPU and memory hours given, used and wasted, ends and waits of groups of "
        "jobs; a job counts when it ended.",
        build="harvest_slurm.usage:usage",
        requires=("slurm.job",),
        columns="harvest_slurm.sums_columns:USAGE",
        settings={"by": _BY, **_SELECTION},
    ),
    View(
        name="slurm.ends",
        doc="All runs by state, exit code, signal and user, with those whose end is not known.",
        build="harvest_slurm.usage:ends",
        requires=("slurm.job",),
        columns="harvest_slurm.sums_columns:ENDS",
        settings=_SELECTION,
    ),
    View(
        name="slurm.failures",
        doc="Runs that did not complete, or of which that is not known, by state, exit code, "
        "signal and user.",
        build="harvest_slurm.usage:failures",
        requires=("slurm.job",),
        columns="harvest_slurm.sums_columns:FAILURES",
        settings=_SELECTION,
    ),
    View(
        name="slurm.arrays",
        doc="Job arrays: tasks, how they ended, how long they ran, what they used.",
        build="harvest_slurm.usage:arrays",
        requires=("slurm.job",),
        columns="harvest_slurm.sums_columns:ARRAYS",
        settings=_SELECTION,
    ),
)


@hookimpl
def harvest_views() -> tuple[View, ...]:
    """Views of jobs: one row a job, efficiency, waits, and the days with the longest waits."""
    return VIEWS


@hookimpl
def harvest_reports() -> list[ReportSpec]:
    """Reports of jobs: their waits, and who used what."""
    return [
        ReportSpec(
            name="slurm.queue_time",
            doc="How long jobs waited: statistics, histogram, scatter by date, worst days.",
            build="harvest_slurm.reports:queue_time",
            requires=("slurm.job",),
            settings={
                "timezone": _ZONE,
                "top": _top("how many of the worst days", 10),
                "partition": _OF_PARTITION,
                "qos": _OF_QOS,
            },
        ),
        ReportSpec(
            name="slurm.summary",
            doc="Jobs, CPU hours, efficiency and waits by user, partition, state and month.",
            build="harvest_slurm.reports:summary",
            requires=("slurm.job",),
            settings={
                "timezone": _ZONE,
                "top": _top("how many users have their own row", 25),
            },
        ),
        ReportSpec(
            name="slurm.usage",
            doc="Who used and wasted how much, whose jobs failed, who waited, in a period.",
            build="harvest_slurm.usage_report:usage_report",
            requires=("slurm.job",),
            settings={
                "by": _BY,
                "top": _top("how many groups have their own row", 25),
                **_SELECTION,
            },
        ),
    ]


@hookimpl
def harvest_rules() -> Iterable[Rule]:
    """Rules on waste, failures, waits and arrays."""
    return RULES
