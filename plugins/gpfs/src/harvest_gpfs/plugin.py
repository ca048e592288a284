"""What this distribution adds to harvest."""

from __future__ import annotations

from collections.abc import Iterable

from harvest import CommandGroup, ReportSpec, SourceSpec, View, hookimpl

from .declared import REPORTS, VIEWS

harvest_api = 1


@hookimpl
def harvest_sources() -> Iterable[SourceSpec]:
    """The source ``gpfs``."""
    return [
        SourceSpec(
            name="gpfs",
            doc="GPFS (IBM Storage Scale) policy lists, plain, .gz or .zst",
            factory="harvest_gpfs.source:GpfsSource",
        )
    ]


@hookimpl
def harvest_views() -> Iterable[View]:
    """Views of one scan, and of how scans differ."""
    return VIEWS


@hookimpl
def harvest_reports() -> Iterable[ReportSpec]:
    """The report ``gpfs.summary``."""
    return REPORTS


@hookimpl
def harvest_commands() -> Iterable[CommandGroup]:
    """The commands ``harvest gpfs ...``."""
    return [
        CommandGroup(
            name="gpfs",
            doc="GPFS policy lists: split, convert, aggregate, churn, status.",
            app="harvest_gpfs.commands:app",
        )
    ]
