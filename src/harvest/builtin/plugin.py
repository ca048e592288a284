"""What the core itself offers, declared the way any plugin does it."""

from __future__ import annotations

from collections.abc import Iterable

from harvest.api.spec import EngineSpec, ReportSpec, hookimpl
from harvest.api.view import View

__all__ = ["harvest_api"]

harvest_api = 1


@hookimpl
def harvest_engines() -> Iterable[EngineSpec]:
    """This machine, a Dask cluster, or Slurm jobs."""
    return [
        EngineSpec(
            name="local",
            doc="this process, or worker processes on this machine",
            factory="harvest.engines.local:LocalEngine",
        ),
        EngineSpec(
            name="dask",
            doc="a Dask cluster: a running one, one on this machine, or one in Slurm jobs",
            factory="harvest.engines.dask.engine:DaskEngine",
        ),
        EngineSpec(
            name="slurm",
            doc="an array of Slurm batch jobs",
            factory="harvest.engines.slurm.engine:SlurmEngine",
        ),
    ]


@hookimpl
def harvest_views() -> Iterable[View]:
    """Views over every dataset."""
    return [
        View(
            name="events",
            doc="All rows of all record types in the shape of the common event model.",
            build="harvest.builtin.events:events",
            columns="harvest.builtin.columns:EVENTS",
        ),
        View(
            name="findings",
            doc="What the rules of installed plugins conclude: one row per finding, the worst "
            "first, with the view and the condition that give its evidence.",
            build="harvest.builtin.findings:findings",
            columns="harvest.builtin.columns:FINDINGS",
        ),
        View(
            name="run.chain",
            doc="Links across sources, from batch job to Dask run, process, Darshan log, file and "
            "GPFS entry, and from scan to Distiller, Slurm job and file: how each was made, and "
            "how sure it is.",
            build="harvest.builtin.chain:chain",
            columns="harvest.builtin.columns:CHAIN",
        ),
        View(
            name="run.lineage",
            doc="One row per file of a Darshan log: the process, run and job that used it, and "
            "the file's entry in the latest scan.",
            build="harvest.builtin.chain:lineage",
            requires=("darshan.file",),
            columns="harvest.builtin.columns:LINEAGE",
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
            build="harvest.builtin.run_map:run_map",
        )
    ]
