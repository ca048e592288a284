"""What this distribution adds to harvest: views of scans, and an exporter of what could go."""

from __future__ import annotations

from collections.abc import Iterable

from harvest import ExporterSpec, View, hookimpl

from . import candidates, outlook

harvest_api = 1


@hookimpl
def harvest_views() -> Iterable[View]:
    """What could go, and whose it is; how long the space lasts."""
    return (*candidates.VIEWS, *outlook.VIEWS)


@hookimpl
def harvest_exporters() -> Iterable[ExporterSpec]:
    """What could go, as files for owners and for ``mmapplypolicy``."""
    return [candidates.FILES]
