"""Views of jobs, declared; the functions that build them are imported when one is asked for."""

from __future__ import annotations

from harvest import View

from ..job_runs import JobRuns, Whose, of_scheduler
from .declared.groups import grouped
from .declared.runs import of_runs


def views_of(jobs: JobRuns | Whose) -> tuple[View, ...]:
    """The views of a scheduler's jobs, or of all; each is named after the scheduler."""
    whose = of_scheduler(jobs) if isinstance(jobs, JobRuns) else jobs
    return (*of_runs(whose), *grouped(whose))
