"""What this distribution offers to harvest."""

from __future__ import annotations

from collections.abc import Iterable

from harvest import SourceSpec, View, hookimpl

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


RUN_SETTING = "keep one run: the directory of its logs, or the directory's name"


@hookimpl
def harvest_views() -> Iterable[View]:
    """Views over the records of Darshan logs."""
    return [
        View(
            name="io.files",
            doc="One row per file and run: readers, writers, bytes, operations, tasks, sizes, "
            "and how sequential its use was.",
            build="harvest_darshan.views:files",
            requires=(
                *("darshan.dxt_segment", "darshan.posix"),
                *("darshan.stdio", "darshan.mpiio"),
            ),
            settings={"run": RUN_SETTING},
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
        ),
        View(
            name="io.timeline",
            doc="Bytes per second that each host read and wrote over time, as DXT traced them.",
            build="harvest_darshan.views:timeline",
            requires=("darshan.dxt_segment",),
            settings={"run": RUN_SETTING, "bin": "seconds of an interval"},
        ),
    ]
