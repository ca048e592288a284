"""What this plugin offers: the source ``mofka-dask``, and views and commands over its records."""

from __future__ import annotations

from harvest import CommandGroup, SourceSpec, View, hookimpl

harvest_api = 1


@hookimpl
def harvest_sources() -> list[SourceSpec]:
    """The source of Mofka-Dask run directories."""
    return [
        SourceSpec(
            name="mofka-dask",
            doc="Dask runs recorded through Mofka: tasks, transfers, workers, graphs, logs, job.",
            factory="harvest_mofka_dask.source:MofkaDaskSource",
        )
    ]


# ---- views and commands: declared below, one entry each -------------------------------------


RUN_SETTING = "keep one run: its directory, or the directory's name"


@hookimpl
def harvest_views() -> list[View]:
    """Views over the records of Dask runs."""
    told = ("dask.task_transition", "dask.worker_transition", "dask.transfer", "dask.graph_task")
    joined = ("dask.worker", "dask.client", "dask.log_event")
    return [
        View(
            name="dask.tasks",
            doc="One row per task and run: where and when it ran, its time in each state, the "
            "bytes moved, and all its events in order.",
            build="harvest_mofka_dask.views:tasks",
            requires=told,
            settings={"run": RUN_SETTING, "key": "keep one task: its key"},
            text="harvest_mofka_dask.text:tasks_text",
        ),
        View(
            name="dask.workers",
            doc="One row per worker and run: when it came and went, what it executed and moved, "
            "and whether it reported anything.",
            build="harvest_mofka_dask.views:workers",
            requires=(*told, *joined),
            settings={"run": RUN_SETTING},
        ),
        View(
            name="dask.run_summary",
            doc="One row per run: times, counts, bytes moved, nodes, and what its record lacks.",
            build="harvest_mofka_dask.views:run_summary",
            requires=(*told, *joined),
            settings={"run": RUN_SETTING},
        ),
    ]


@hookimpl
def harvest_commands() -> list[CommandGroup]:
    """Command groups of this plugin."""
    return [
        CommandGroup(
            name="mofka-dask",
            doc="Dask runs recorded through Mofka: compile their tasks from bare CSVs.",
            app="harvest_mofka_dask.capture:app",
        )
    ]
