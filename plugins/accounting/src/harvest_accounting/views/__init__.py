"""The declared views on jobs; the functions that build them are imported when called."""

from harvest import View

from ..job_runs import JobRuns, Whose, of_scheduler
from .declared.groups import grouped
from .declared.runs import of_runs


def views_of(jobs: JobRuns | Whose) -> tuple[View, ...]:
    """Return the views on a scheduler's jobs, or on all; names begin with the scheduler's."""
    whose = of_scheduler(jobs) if isinstance(jobs, JobRuns) else jobs
    return (*of_runs(whose), *grouped(whose))
