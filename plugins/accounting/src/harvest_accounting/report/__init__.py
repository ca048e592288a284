"""The declared reports on jobs; each names the function that builds it."""

from harvest import ReportSpec, Setting

from ..job_runs import JobRuns, Whose, of_scheduler
from ..views.declared.common import PRICES, by, failed_by, top, which_hours, which_waits


def reports_of(jobs: JobRuns | Whose) -> tuple[ReportSpec, ...]:
    """Return the reports on a scheduler's jobs, or on all; names begin with the scheduler's."""
    whose = of_scheduler(jobs) if isinstance(jobs, JobRuns) else jobs
    hours = which_hours(whose)

    def report(name: str, build: str, settings: dict[str, Setting], doc: str) -> ReportSpec:
        return ReportSpec(
            name=whose.name(name),
            doc=doc,
            build=whose.call(f"report.{build}"),
            requires=whose.record_types,
            fewest=whose.fewest,
            settings=settings,
        )

    return (
        report(
            "queue_time", "waits:queue_time",
            {
                "by": by(whose, more="; by partition and by QOS unless given"),
                **which_waits(whose, "number of worst days"),
            },
            "How long jobs waited: statistics, histogram, waits by date, worst days.",
        ),
        report(
            "summary", "summary:summary",
            {
                "by": by(whose, more="; by user, by partition, by state and by month unless given"),
                "top": top("number of users or groups with their own row", 25),
                **hours,
            },
            "Jobs, CPU hours, efficiency and waits by user, partition, state and month.",
        ),
        report(
            "usage", "usage:usage_report",
            {
                "by": by(whose, ("user",)),
                "top": top("number of groups with their own row", 25),
                **hours,
                **PRICES,
            },
            "Resources used and wasted, failures and waits by group of jobs, in a period.",
        ),
        report(
            "failures", "failures:failures",
            {"by": failed_by(whose), "top": top("number of rows of a table", 25), **hours},
            "Why jobs failed, by account, user, partition and node: exit code, signal, memory, "
            "time limit, node.",
        ),
    )  # fmt: skip
