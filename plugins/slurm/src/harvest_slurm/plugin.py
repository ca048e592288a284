"""What this distribution adds: the source ``slurm``, and views, reports and rules on jobs."""

from harvest import SourceSpec, declare
from harvest_accounting import reports_of, rules_of, views_of

from .accounting import JOB_RUNS
from .named_commands import harvest_commands as harvest_commands
from .rules import ERRORS_REPORTED

harvest_sources = declare(
    SourceSpec(
        name="slurm",
        doc="Slurm accounting: sacct output in any layout, or a live cluster as slurm:live.",
        factory="harvest_slurm.source:SlurmSource",
        record_types=("slurm.job", "slurm.step"),
    )
)

harvest_views = declare(*views_of(JOB_RUNS))

harvest_reports = declare(*reports_of(JOB_RUNS))

harvest_rules = declare(*rules_of(JOB_RUNS), ERRORS_REPORTED)
