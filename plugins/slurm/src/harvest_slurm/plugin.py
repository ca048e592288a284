"""What this distribution adds: the source ``slurm``, and views, reports and rules on jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from harvest import Finding, ReportSpec, Rule, SourceSpec, View, hookimpl
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.layout import shorten
from harvest_accounting import reports_of, rules_of, views_of

from .accounting import JOB_RUNS
from .named_commands import harvest_commands as harvest_commands

if TYPE_CHECKING:
    import polars as pl

harvest_api = 1


def errors_said(rows: pl.DataFrame, total: int) -> Iterator[Finding]:
    """Report inputs in which sacct printed an error."""
    first = shorten(rows["note"][0].removeprefix("sacct says: "), 100, "id")
    yield Finding(
        "high",
        f"sacct reported errors in {count_in_words(rows['origin'].n_unique(), 'input')}",
        f"Jobs may be missing. The first message: {first}.",
        certainty=("lower_bound",),
    )


ERRORS_REPORTED: Final = Rule(
    name="slurm.errors_reported",
    doc="Inputs in which sacct printed an error: jobs may be missing.",
    view="notes",
    among="source = 'slurm'",
    where="source = 'slurm' and note like 'sacct says: %error: %'",
    columns=("origin", "note"),
    judge=errors_said,
    advice="Fix the cause (does `sacctmgr show cluster` answer?), run sacct again and harvest "
    "the new output.",
    reference="Slurm's REST API, errors of a response",
    numerator="errors that sacct printed",
    judged="notes on inputs",
    unable="it always can: messages of sacct are notes of the run",
    reports=("slurm.usage", "slurm.summary", "slurm.failures"),
)


@hookimpl
def harvest_sources() -> list[SourceSpec]:
    """Return the source ``slurm``."""
    return [
        SourceSpec(
            name="slurm",
            doc="Slurm accounting: sacct output in any layout, or a live cluster as slurm:live.",
            factory="harvest_slurm.source:SlurmSource",
            record_types=("slurm.job", "slurm.step"),
        )
    ]


@hookimpl
def harvest_views() -> tuple[View, ...]:
    """Return views on jobs: runs, efficiency, waits, usage, failures, arrays."""
    return views_of(JOB_RUNS)


@hookimpl
def harvest_reports() -> tuple[ReportSpec, ...]:
    """Return reports on jobs: usage, waits, failures."""
    return reports_of(JOB_RUNS)


@hookimpl
def harvest_rules() -> tuple[Rule, ...]:
    """Return rules on waste, failures, waits and arrays."""
    return (*rules_of(JOB_RUNS), ERRORS_REPORTED)
