"""What this distribution adds: views and reports on the jobs of all schedulers together.

The plugin of each scheduler has its own, with rules. What is much differs between machines, so a
rule checks the jobs of one scheduler, and no job is in two findings.
"""

from harvest import ReportSpec, View, hookimpl

from .job_runs import of_all
from .report import reports_of
from .views import views_of

harvest_api = 1

_ALL = of_all()


@hookimpl
def harvest_views() -> tuple[View, ...]:
    """Return the views on the jobs of all schedulers."""
    return views_of(_ALL) if _ALL else ()


@hookimpl
def harvest_reports() -> tuple[ReportSpec, ...]:
    """Return the reports on the jobs of all schedulers."""
    return reports_of(_ALL) if _ALL else ()
