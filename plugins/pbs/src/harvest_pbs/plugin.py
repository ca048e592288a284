"""What this distribution adds: the source ``pbs``, and views, reports and rules on its jobs."""

from harvest import SourceSpec, declare
from harvest_accounting import reports_of, rules_of, views_of

from .accounting import JOB_RUNS

harvest_api = 1

harvest_sources = declare(
    SourceSpec(
        name="pbs",
        doc="PBS accounting: the server's logs, JSON of qstat, or a live server as pbs:live.",
        factory="harvest_pbs.source:PbsSource",
        record_types=("pbs.job", "pbs.event"),
    )
)

harvest_views = declare(*views_of(JOB_RUNS))

harvest_reports = declare(*reports_of(JOB_RUNS))

harvest_rules = declare(*rules_of(JOB_RUNS))
