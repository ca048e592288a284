"""Entry point of the plugin: the source of runs recorded through Mofka, and its command."""

from harvest import Command, SourceSpec, declare

harvest_sources = declare(
    SourceSpec(
        name="mofka-dask",
        doc="Dask runs recorded through Mofka: tasks, transfers, workers, graphs, logs, job.",
        factory="harvest_mofka_dask.source:MofkaDaskSource",
        record_types=(
            *("dask.client", "dask.graph_task", "dask.log_event", "dask.task_transition"),
            *("dask.transfer", "dask.worker", "dask.worker_transition"),
            *("run.config", "run.directive", "run.node", "run.software"),
        ),
    )
)

harvest_commands = declare(
    Command(
        name="mofka-dask",
        doc="Dask runs recorded through Mofka: compile their tasks from bare CSVs, or write "
        "a run as a page that zooms or as a trace for Perfetto.",
        app="harvest_mofka_dask.commands:app",
    )
)
