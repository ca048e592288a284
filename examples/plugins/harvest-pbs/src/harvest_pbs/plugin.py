"""What this plugin offers."""

from __future__ import annotations

from collections.abc import Iterable

from harvest import SourceSpec, hookimpl

harvest_api = 1


@hookimpl
def harvest_sources() -> Iterable[SourceSpec]:
    """The source pbs."""
    return [
        SourceSpec(
            name="pbs",
            doc="Accounting files of OpenPBS and PBS Professional.",
            factory="harvest_pbs.source:PbsSource",
        )
    ]
