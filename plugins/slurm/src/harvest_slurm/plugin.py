"""What this distribution adds to harvest: the source ``slurm`` and views of its jobs."""

from __future__ import annotations

from harvest import ReportSpec, SourceSpec, View, hookimpl

__all__ = ["harvest_api", "harvest_reports", "harvest_sources", "harvest_views"]

harvest_api = 1

_ZONE = (
    "zone that days and months are counted in; that of the harvest unless given, UTC where there "
    "were several"
)


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


@hookimpl
def harvest_views() -> list[View]:
    """Views of jobs: one row a job, efficiency, waits, and the days with the longest waits."""
    return [
        View(
            name="slurm.jobs",
            doc="One row per job and run, with what its steps used rolled up.",
            build="harvest_slurm.views:jobs",
            requires=("slurm.job",),
        ),
        View(
            name="slurm.efficiency",
            doc="How much of its CPUs, memory, GPUs and time limit each job used.",
            build="harvest_slurm.views:efficiency",
            requires=("slurm.job",),
        ),
        View(
            name="slurm.queue_time",
            doc="How long each started job waited: start minus submit, with day, partition, QOS.",
            build="harvest_slurm.views:queue_time",
            requires=("slurm.job",),
            settings={"timezone": _ZONE},
        ),
        View(
            name="slurm.worst_days",
            doc="Waits per day of submission: mean, median and maximum; longest mean first.",
            build="harvest_slurm.views:worst_days",
            requires=("slurm.job",),
            settings={
                "timezone": _ZONE,
                "top": "how many days; 10 unless given, 0 for all",
                "partition": "only jobs of this partition",
                "qos": "only jobs of this QOS",
            },
        ),
    ]


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
                "top": "how many of the worst days; 10 unless given, 0 for all",
                "partition": "only jobs of this partition",
                "qos": "only jobs of this QOS",
            },
        ),
        ReportSpec(
            name="slurm.summary",
            doc="Jobs, CPU hours, efficiency and waits by user, partition, state and month.",
            build="harvest_slurm.reports:summary",
            requires=("slurm.job",),
            settings={
                "timezone": _ZONE,
                "top": "how many users have their own row; 25 unless given, 0 for all",
            },
        ),
    ]
