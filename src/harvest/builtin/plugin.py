"""What the core itself offers, declared the way any plugin does it."""

from __future__ import annotations

from collections.abc import Iterable

from harvest.api.spec import EngineSpec, hookimpl
from harvest.api.view import View

__all__ = ["harvest_api"]

harvest_api = 1


@hookimpl
def harvest_engines() -> Iterable[EngineSpec]:
    """This machine."""
    return [
        EngineSpec(
            name="local",
            doc="this process, or worker processes on this machine",
            factory="harvest.engines.local:LocalEngine",
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
    ]
