"""What this distribution offers to harvest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from harvest import ReportSpec, Rule, Setting, SourceSpec, View, hookimpl
from harvest.toolkit.settings import at_least, one_of, positive

from .rules import RULES

harvest_api = 1


@hookimpl
def harvest_sources() -> Iterable[SourceSpec]:
    """The source ``darshan``."""
    return [
        SourceSpec(
            name="darshan",
            doc="Darshan I/O logs, 3.0 to 3.5: counters, DXT segments, heat maps, Lustre striping",
            factory="harvest_darshan.source:DarshanSource",
        )
    ]


RUN_SETTING = Setting("keep one run: the directory of its logs, or the directory's name", str)
JOB_SETTING = Setting("keep one job, by its number in io.jobs", int)
_OF_JOB = {"run": RUN_SETTING, "job": JOB_SETTING}
_PER = {"per": Setting("what a row stands for", str, "job", one_of(("job", "log")))}


VIEWS: Final = (
    View(
        name="io.files",
        doc="One row per file and run, most bytes first: readers, writers, bytes, operations, "
        "tasks, sizes, and how sequential its use was.",
        build="harvest_darshan.views:files",
        requires=(
            *("darshan.dxt_segment", "darshan.posix"),
            *("darshan.stdio", "darshan.mpiio"),
        ),
        settings={"run": RUN_SETTING},
        columns="harvest_darshan.columns.files:FILES",
    ),
    View(
        name="io.processes",
        doc="One row per log: the bytes that DXT traced, those that Darshan's counters have, "
        "and the difference.",
        build="harvest_darshan.views:processes",
        requires=(
            *("darshan.job", "darshan.dxt_segment", "darshan.posix"),
            *("darshan.stdio", "darshan.mpiio"),
        ),
        settings={"run": RUN_SETTING},
        columns="harvest_darshan.columns.files:PROCESSES",
    ),
    View(
        name="io.timeline",
        doc="Bytes per second that each host read and wrote over time, as DXT traced them.",
        build="harvest_darshan.views:timeline",
        requires=("darshan.dxt_segment",),
        settings={
            "run": RUN_SETTING,
            "bin": Setting("seconds of an interval", float, check=positive),
        },
        columns="harvest_darshan.columns.files:TIMELINE",
    ),
    View(
        name="io.jobs",
        doc="One row per job: its processes and logs, time and bytes by layer, metadata, "
        "alignment, and what its logs lack.",
        build="harvest_darshan.views:jobs",
        requires=("darshan.job",),
        settings={**_OF_JOB, **_PER},
        columns="harvest_darshan.columns.jobs:JOBS",
    ),
    View(
        name="io.requests",
        doc="Two rows per job, for reads and writes: small, random, redundant, shared, and "
        "how MPI-IO was asked.",
        build="harvest_darshan.views:requests",
        requires=("darshan.job", "darshan.posix", "darshan.mpiio"),
        settings={**_OF_JOB, **_PER},
        columns="harvest_darshan.columns.jobs:REQUESTS",
    ),
    View(
        name="io.posix_files",
        doc="One row per job and file that POSIX counts, most time first: bytes, times, small "
        "requests, and how unequal its processes are.",
        build="harvest_darshan.views:posix_files",
        requires=("darshan.posix",),
        settings=_OF_JOB,
        columns="harvest_darshan.columns.jobs:POSIX_FILES",
    ),
    View(
        name="io.ranks",
        doc="One row per log and rank that DXT traced: operations, bytes, seconds, and the "
        "median of its program.",
        build="harvest_darshan.views:ranks",
        requires=("darshan.dxt_segment",),
        settings=_OF_JOB,
        columns="harvest_darshan.columns.jobs:RANKS",
    ),
)


@hookimpl
def harvest_views() -> Iterable[View]:
    """Views over the records of Darshan logs."""
    return VIEWS


@hookimpl
def harvest_rules() -> Iterable[Rule]:
    """What slows I/O, and what logs lack."""
    return RULES


@hookimpl
def harvest_reports() -> Iterable[ReportSpec]:
    """The I/O of jobs on one page."""
    return [
        ReportSpec(
            name="darshan.io",
            doc="I/O of one job or many: layers, files, request sizes, bytes over time by "
            "process, traced operations.",
            build="harvest_darshan.report:io_report",
            requires=("darshan.job",),
            settings={
                **_OF_JOB,
                "top": Setting(
                    "how many files, jobs and processes are listed", int, 20, at_least(1)
                ),
                "by": Setting("what files are sorted by", str, "time", one_of(("time", "bytes"))),
            },
        )
    ]
