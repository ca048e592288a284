"""What the core itself offers, declared the way any plugin does it."""

from __future__ import annotations

from collections.abc import Iterable

from .spec import EngineSpec, hookimpl
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
