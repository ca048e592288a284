"""What the core itself offers, declared the way any plugin does it."""

from __future__ import annotations

from collections.abc import Iterable

from harvest.api.spec import EngineSpec, hookimpl
from harvest.api.view import View

from .views import VIEWS

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
    return VIEWS
