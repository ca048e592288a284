"""The rule on errors that sacct printed; the rules on jobs are those of ``harvest_accounting``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from harvest import Finding, Rule
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.layout import shorten

if TYPE_CHECKING:
    import polars as pl


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
