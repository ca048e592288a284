"""The source that this distribution offers to harvest."""

from collections.abc import Iterable

from harvest import SourceSpec, hookimpl

harvest_api = 1


@hookimpl
def harvest_sources() -> Iterable[SourceSpec]:
    """Declare the source ``distiller``."""
    return [
        SourceSpec(
            name="distiller",
            doc="Distiller's jobs per scan: its CSV exports, or its PostgreSQL (postgresql://...)",
            factory="harvest_distiller.source:DistillerSource",
            record_types=("distiller.job",),
        )
    ]
