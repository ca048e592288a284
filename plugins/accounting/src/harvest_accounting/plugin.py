"""What this distribution adds: views and reports on the jobs of all schedulers together.

The plugin of each scheduler has its own, with rules. What is much differs between machines, so a
rule checks the jobs of one scheduler, and no job is in two findings.
"""

from harvest import declare

from .job_runs import of_all
from .report import reports_of
from .views import views_of

_ALL = of_all()

harvest_views = declare(*(views_of(_ALL) if _ALL else ()))

harvest_reports = declare(*(reports_of(_ALL) if _ALL else ()))
