"""Entry point of the plugin: views, reports, rules and commands for Dask runs of any recorder."""

from harvest import ReportSpec, Setting, declare
from harvest.toolkit.settings import at_least

from .named_commands import harvest_commands as harvest_commands
from .record_names import EXECUTED, JOINED, SEGMENT
from .rules.threads import THREADS
from .rules.work import WORK
from .rules.workers import ON_WORKERS
from .views.declared.indicators import INDICATORS
from .views.declared.io import COVERAGE, TASK_IO, TRACE, WORKERS_PROCESSES
from .views.declared.runs import RUN_SUMMARY, WORKERS
from .views.declared.tasks import CRITICAL_PATH, PREFIXES, TASKS

harvest_views = declare(
    *(TASKS, WORKERS, PREFIXES, INDICATORS, RUN_SUMMARY),
    *(TASK_IO, COVERAGE, WORKERS_PROCESSES, TRACE, CRITICAL_PATH),
)

harvest_reports = declare(
    ReportSpec(
        name="dask.run",
        doc="A run on one page: task stream, occupancy of workers, time in states, transfers, "
        "I/O over time, slowest tasks, and gaps in the record.",
        build="harvest_dask_runs.report.run:dask_run",
        requires=(*EXECUTED, "dask.transfer", "dask.worker", SEGMENT),
        settings={
            "run": Setting(
                "the run: its directory, or the directory's name; needed if there are several", str
            ),
            "top": Setting(
                "number of slowest tasks and largest transfers listed", int, 20, at_least(1)
            ),
        },
    ),
    ReportSpec(
        name="dask.indicators",
        doc="Indicators of several runs: a row per indicator, a column per run.",
        build="harvest_dask_runs.report.indicators:indicators_of_runs",
        requires=JOINED,
        settings={
            "runs": Setting(
                "the runs, in this order: their directories, or the directories' names; "
                "default: all",
                tuple[str, ...],
                (),
            )
        },
    ),
)

harvest_rules = declare(*THREADS, *ON_WORKERS, *WORK)
