"""Views, reports and rules on the jobs of any scheduler.

The names below are for plugins of schedulers; ``frame`` and ``possible`` help to build a frame.
"""

from .job_runs import JobRuns, Words
from .report import reports_of
from .rules import rules_of
from .views import views_of

__all__ = ["JobRuns", "Words", "reports_of", "rules_of", "views_of"]
