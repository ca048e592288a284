"""What this plugin offers: views, reports, rules and commands over all Dask runs."""

from __future__ import annotations

from harvest import Command, ReportSpec, Rule, Setting, View, hookimpl
from harvest.toolkit.settings import at_least

from .rules import RULES

harvest_api = 1


RUN_SETTING = Setting("keep one run: its directory, or the directory's name", str)


EXECUTED = ("dask.task_transition", "dask.worker_transition", "dask.execution")
RECORDED = (*EXECUTED, "dask.transfer", "dask.graph_task")
TRACED = ("darshan.dxt_segment",)
COUNTED = ("darshan.posix", "darshan.mpiio", "darshan.stdio")


@hookimpl
def harvest_views() -> list[View]:
    """Views over the records of Dask runs."""
    return [*_run_views(), *_io_views()]


def _run_views() -> list[View]:
    joined = (*RECORDED, "dask.worker", "dask.client", "dask.log_event")
    return [
        View(
            name="dask.tasks",
            doc="One row per task and run: where and when it ran, its time in each state, the "
            "bytes moved, and all its events in order.",
            build="harvest_dask_runs.views.tasks:tasks",
            requires=RECORDED,
            settings={"run": RUN_SETTING, "key": Setting("keep one task: its key", str)},
            columns="harvest_dask_runs.columns.tasks:TASKS",
            text="harvest_dask_runs.objects.tasks:tasks_text",
        ),
        View(
            name="dask.workers",
            doc="One row per worker and run: when it came and went, what it executed and moved, "
            "and whether it reported anything.",
            build="harvest_dask_runs.views.workers:workers",
            requires=joined,
            settings={"run": RUN_SETTING},
            columns="harvest_dask_runs.columns.runs:WORKERS",
        ),
        View(
            name="dask.prefixes",
            doc="One row per kind of task and run: executions, their time, failures and I/O.",
            build="harvest_dask_runs.views.kinds:prefixes",
            requires=EXECUTED,
            settings={"run": RUN_SETTING},
            columns="harvest_dask_runs.columns.tasks:PREFIXES",
        ),
        View(
            name="dask.indicators",
            doc="One row per run: how well it used its threads, and what cost time: work for few, "
            "imbalance, short tasks, transfers, memory, failures, I/O.",
            build="harvest_dask_runs.views.indicators:indicators",
            requires=joined,
            settings={"run": RUN_SETTING},
            columns="harvest_dask_runs.columns.indicators:INDICATORS",
        ),
        View(
            name="dask.run_summary",
            doc="One row per run: times, counts, bytes moved, nodes, and what its record lacks.",
            build="harvest_dask_runs.views.summary:run_summary",
            requires=joined,
            settings={"run": RUN_SETTING},
            columns="harvest_dask_runs.columns.runs:RUN_SUMMARY",
        ),
    ]


def _io_views() -> list[View]:
    return [
        View(
            name="dask.task_io",
            doc="What each task read and wrote, by worker, thread, file, module and op: Darshan's "
            "traced operations tied to tasks, and what is counted beyond them.",
            build="harvest_dask_runs.io.views:task_io",
            requires=(*TRACED, *COUNTED),
            settings={"run": RUN_SETTING},
            columns="harvest_dask_runs.columns.io:TASK_IO",
        ),
        View(
            name="dask.task_io_coverage",
            doc="One row per traced process: how many of its operations are on threads that ran "
            "tasks, and how many of these are tied to a task.",
            build="harvest_dask_runs.io.views:task_io_coverage",
            requires=TRACED,
            settings={"run": RUN_SETTING},
            columns="harvest_dask_runs.columns.io:COVERAGE",
        ),
        View(
            name="dask.workers_processes",
            doc="One row per worker: its host and process id in Darshan's logs, and how they "
            "were tied.",
            build="harvest_dask_runs.io.views:workers_processes",
            requires=TRACED,
            settings={"run": RUN_SETTING},
            columns="harvest_dask_runs.columns.io:WORKERS_PROCESSES",
        ),
        View(
            name="dask.trace",
            doc="Executions, transfers and traced I/O as events in Chrome's Trace Event Format; "
            "`harvest dask-runs trace` writes them as a file for Perfetto, `harvest dask-runs "
            "timeline` as a page.",
            build="harvest_dask_runs.trace.view:trace",
            requires=(*RECORDED, *TRACED),
            settings={"run": RUN_SETTING},
            columns="harvest_dask_runs.columns.io:TRACE",
        ),
    ]


@hookimpl
def harvest_reports() -> list[ReportSpec]:
    """Reports on Dask runs."""
    return [
        ReportSpec(
            name="dask.run",
            doc="A run on one page: task stream, occupancy of workers, time in states, transfers, "
            "I/O over time, slowest tasks, and what the record lacks.",
            build="harvest_dask_runs.report.run:dask_run",
            requires=(*EXECUTED, "dask.transfer", "dask.worker", "darshan.dxt_segment"),
            settings={
                "run": Setting(
                    "the run: its directory, or the directory's name; needed where there are "
                    "several",
                    str,
                ),
                "top": Setting(
                    "how many of the slowest tasks and of the largest transfers are listed",
                    int,
                    20,
                    at_least(1),
                ),
            },
        )
    ]


@hookimpl
def harvest_rules() -> tuple[Rule, ...]:
    """Where a run's time went, and what puts its record or results in doubt."""
    return RULES


@hookimpl
def harvest_commands() -> list[Command]:
    """Command groups of this plugin."""
    return [
        Command(
            name="dask-runs",
            doc="Dask runs: write one as a page that zooms, or as a trace for Perfetto.",
            app="harvest_dask_runs.commands:app",
        )
    ]
