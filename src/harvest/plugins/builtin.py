"""What the core itself offers, declared the way any plugin does it."""

from __future__ import annotations

from collections.abc import Iterable

from .spec import EngineSpec, ReportSpec, hookimpl
from .view import View

__all__ = ["harvest_api"]

harvest_api = 1


@hookimpl
def harvest_engines() -> Iterable[EngineSpec]:
    """The engine that needs nothing but this machine."""
    return [
        EngineSpec(
            name="local",
            doc="this process, or worker processes on this machine",
            factory="harvest.engines.local:LocalEngine",
        )
    ]


@hookimpl
def harvest_views() -> Iterable[View]:
    """Views over every dataset."""
    return [
        View(
            name="events",
            doc="All rows of all record types in the shape of the common event model.",
            build="harvest.dataset.events:events",
        )
    ]


@hookimpl
def harvest_reports() -> Iterable[ReportSpec]:
    """Reports over every dataset."""
    return [
        ReportSpec(
            name="run.map",
            doc="The metadata map: what was harvested of a run's life, from where, by layer, level "
            "and step; what is missing, and which source would bring it.",
            build="harvest.report.run_map:run_map",
        )
    ]
