"""Views, reports and rules on jobs, over what any scheduler recorded.

The names below are for plugins of schedulers; ``frame`` and ``possible`` help to fill a frame of
runs.
"""

from .job_runs import JobRuns, Words
from .report import reports_of
from .rules import rules_of
from .views import views_of

__all__ = ["JobRuns", "Words", "reports_of", "rules_of", "views_of"]
