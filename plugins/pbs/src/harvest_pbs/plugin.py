"""What this distribution adds: the source ``pbs``."""

from __future__ import annotations

from harvest import SourceSpec, hookimpl

harvest_api = 1


@hookimpl
def harvest_sources() -> list[SourceSpec]:
    """The source ``pbs``."""
    return [
        SourceSpec(
            name="pbs",
            doc="PBS accounting: the server's logs, JSON of qstat, or a live server as pbs:live.",
            factory="harvest_pbs.source:PbsSource",
            record_types=("pbs.job", "pbs.event"),
        )
    ]
