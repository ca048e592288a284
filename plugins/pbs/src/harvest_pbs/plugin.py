"""What this distribution adds: the source ``pbs``, and views, reports and rules on its jobs."""

from harvest import ReportSpec, Rule, SourceSpec, View, hookimpl
from harvest_accounting import reports_of, rules_of, views_of

from .accounting import JOB_RUNS

harvest_api = 1


@hookimpl
def harvest_sources() -> list[SourceSpec]:
    """Return the source ``pbs``."""
    return [
        SourceSpec(
            name="pbs",
            doc="PBS accounting: the server's logs, JSON of qstat, or a live server as pbs:live.",
            factory="harvest_pbs.source:PbsSource",
            record_types=("pbs.job", "pbs.event"),
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
    return rules_of(JOB_RUNS)
