"""What this distribution adds: the source ``slurm``, and views, reports and rules on jobs."""

from harvest import ReportSpec, Rule, SourceSpec, View, hookimpl
from harvest_accounting import reports_of, rules_of, views_of

from .accounting import JOB_RUNS
from .named_commands import harvest_commands as harvest_commands
from .rules import ERRORS_REPORTED

harvest_api = 1


@hookimpl
def harvest_sources() -> list[SourceSpec]:
    """Return the source ``slurm``."""
    return [
        SourceSpec(
            name="slurm",
            doc="Slurm accounting: sacct output in any layout, or a live cluster as slurm:live.",
            factory="harvest_slurm.source:SlurmSource",
            record_types=("slurm.job", "slurm.step"),
        )
    ]


@hookimpl
def harvest_views() -> tuple[View, ...]:
    """Return views on jobs: runs, efficiency, waits, usage, failures, arrays."""
    return views_of(JOB_RUNS)


@hookimpl
def harvest_reports() -> tuple[ReportSpec, ...]:
    """Return reports on jobs: usage, waits, failures."""
    return reports_of(JOB_RUNS)


@hookimpl
def harvest_rules() -> tuple[Rule, ...]:
    """Return rules on waste, failures, waits and arrays."""
    return (*rules_of(JOB_RUNS), ERRORS_REPORTED)
