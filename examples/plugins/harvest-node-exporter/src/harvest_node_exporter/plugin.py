"""What this plugin offers."""

from collections.abc import Iterable

from harvest import SourceSpec, hookimpl

harvest_api = 1


@hookimpl
def harvest_sources() -> Iterable[SourceSpec]:
    """The source node-exporter."""
    return [
        SourceSpec(
            name="node-exporter",
            doc="Metrics in Prometheus' text format, as node_exporter writes and serves them.",
            factory="harvest_node_exporter.source:NodeExporterSource",
        )
    ]
