"""What this distribution adds: views and reports on the jobs of all schedulers together.

Each scheduler's plugin has its own, with rules: machines differ in what is much, so that a rule
looks at the jobs of one scheduler, and a job is in no two findings.
"""

from __future__ import annotations

from harvest import ReportSpec, View, hookimpl

from .job_runs import of_all
from .report import reports_of
from .views import views_of

harvest_api = 1

_ALL = of_all()


@hookimpl
def harvest_views() -> tuple[View, ...]:
    """Views of jobs, of whatever scheduler."""
    return views_of(_ALL) if _ALL else ()


@hookimpl
def harvest_reports() -> tuple[ReportSpec, ...]:
    """Reports of jobs, of whatever scheduler."""
    return reports_of(_ALL) if _ALL else ()
