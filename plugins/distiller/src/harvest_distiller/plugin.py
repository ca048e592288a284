"""The source that this distribution offers to harvest."""

from harvest import SourceSpec, declare

harvest_sources = declare(
    SourceSpec(
        name="distiller",
        doc="Distiller's jobs per scan: its CSV exports, or its PostgreSQL (postgresql://...)",
        factory="harvest_distiller.source:DistillerSource",
        record_types=("distiller.job",),
    )
)
