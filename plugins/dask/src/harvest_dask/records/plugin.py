"""Entry point of the plugin for harvest: record types of Dask runs, and the source of captures."""

from collections.abc import Iterable

from harvest import Record, SourceSpec, declare, hookimpl


@hookimpl
def harvest_record_types() -> Iterable[type[Record]]:
    """Return the record types that readers of any recorder may yield."""
    # only when they are asked for: making the classes takes longer than all else here
    from .types import CAPTURED_TYPES, RECORD_TYPES

    return (*RECORD_TYPES, *CAPTURED_TYPES)


harvest_sources = declare(
    SourceSpec(
        name="dask",
        doc="Capture directories: a Dask cluster recorded while it runs, process by process.",
        factory="harvest_dask.records.captures.source:DaskSource",
        record_types=(
            *("dask.client", "dask.event", "dask.execution", "dask.graph_task"),
            *("dask.log_event", "dask.process", "dask.task_transition", "dask.transfer"),
            *("dask.worker", "dask.worker_sample", "dask.worker_transition"),
            *("run.config", "run.environment", "run.node", "run.software"),
        ),
    )
)
