"""What this distribution offers to harvest."""

from __future__ import annotations

from collections.abc import Iterable

from harvest import ReportSpec, View, hookimpl

harvest_api = 1


@hookimpl
def harvest_views() -> Iterable[View]:
    """Views across sources."""
    return [
        View(
            name="run.chain",
            doc="Links across sources, from batch job to Dask run, process, Darshan log, file and "
            "GPFS entry, and from scan to Distiller, Slurm job and file: how each was made, and "
            "how sure it is.",
            build="harvest_insight.chain:chain",
            columns="harvest_insight.columns:CHAIN",
        ),
        View(
            name="run.lineage",
            doc="One row per file of a Darshan log: the process, run and job that used it, and "
            "the file's entry in the latest scan.",
            build="harvest_insight.chain:lineage",
            requires=("darshan.file",),
            columns="harvest_insight.columns:LINEAGE",
        ),
    ]


@hookimpl
def harvest_reports() -> Iterable[ReportSpec]:
    """Reports over every dataset."""
    return [
        ReportSpec(
            name="run.map",
            doc="The metadata map: what was harvested of a run's life, from where, by layer, level "
            "and step; what is missing, and which source would bring it.",
            build="harvest_insight.run_map:run_map",
        )
    ]
