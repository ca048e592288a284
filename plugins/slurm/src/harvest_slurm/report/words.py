"""What reports and rules say alike: amounts, which may be unknown or small, and days."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from harvest.columns import Column
from harvest.toolkit.amounts import count_in_words

from ..views.declared.common import RESOURCES

if TYPE_CHECKING:
    from datetime import date

    import polars as pl

    from ..views.period import Selection

CLOCK: Final = "Waits are shown as days-hours:minutes:seconds; files hold seconds."


def hours(name: str, label: str, doc: str | None = None) -> Column:
    """Hours in the table of a report."""
    return Column(name, label, None, ",.1f", doc)


def part(name: str, label: str, doc: str | None = None) -> Column:
    """A share of 1 in the table of a report, in percent."""
    return Column(name, label, None, ".1%", doc)


def lasting(name: str, label: str, doc: str | None = None) -> Column:
    """Seconds in the table of a report, as days-hours:minutes:seconds."""
    return Column(name, label, None, "duration", doc)


def known_sum(values: pl.Series) -> float | None:
    """A sum that is None where nothing is known."""
    return float(values.sum()) if values.count() else None


def hours_in_words(amount: float) -> str:
    """Whole hours, and of less than 10 two digits: what is little is not 0."""
    if 0 < amount < 0.01:
        return "<0.01"
    return f"{amount:,.0f}" if abs(amount) >= 9.95 else f"{amount:.2g}"


def counted_in(selection: Selection, names: Collection[str] = (), undivided: int = 0) -> str:
    """The caption of a table of hours and jobs: which are those of a row.

    names: what rows are grouped by.  undivided: jobs whose hours could not be divided.
    """
    unit = next((name for name in ("day", "month") if name in names), None)
    if unit is None and not selection.is_bounded:
        return ""
    if not selection.is_divided:
        return "Hours and jobs: a job counts where it ended, with all its hours."
    where = f"the {unit or 'period'}"
    said = f"Hours: those used in {where}. Jobs: those that ended in it."
    if undivided:
        said += (
            f" All hours of {count_in_words(undivided, 'job')} whose start or end is not known "
            "count where the job does."
        )
    return said


def unknown_use(groups: pl.DataFrame) -> list[str]:
    """Of how many jobs it is not known what they used; groups: rows of slurm.usage."""
    ran = int(groups["ran_jobs"].sum())
    return [
        f"{resource.title}: the use is not known for {unknown:,} of {ran:,} jobs that ran."
        for resource in RESOURCES[:3]
        if (unknown := int(groups[f"{resource.name}_unknown_jobs"].sum()))
    ]


def days_in_words(first: date | None, last: date | None) -> str:
    """``, 2024-01-01 to 2024-01-31``, to follow a title; nothing where no day is known."""
    if first is None or last is None:
        return ""
    return f", {first} to {last}" if first != last else f", {first}"
