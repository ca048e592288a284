"""What reports and rules share: columns, tiles, amounts, captions and days in words."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Final

import harvest_report  # its names are imported when used: a list of rules needs none
from harvest.columns import Column
from harvest.toolkit.amounts import count_in_words, share_in_words

from ..views.declared.common import RESOURCES

if TYPE_CHECKING:
    from datetime import date

    import polars as pl

    from harvest_report import Tile

    from ..job_runs import Jobs
    from ..period import Selection

CLOCK: Final = "Waits are shown as days-hours:minutes:seconds; files hold seconds."


def hours(name: str, label: str, doc: str | None = None) -> Column:
    """Return a column of hours."""
    return Column(name, label, None, ",.1f", doc)


def part(name: str, label: str, doc: str | None = None) -> Column:
    """Return a column of shares, shown in percent."""
    return Column(name, label, None, ".1%", doc)


def lasting(name: str, label: str, doc: str | None = None) -> Column:
    """Return a column of seconds, shown as days-hours:minutes:seconds."""
    return Column(name, label, None, "duration", doc)


def known_sum(values: pl.Series) -> float | None:
    """Return the sum; None if no value is known."""
    return float(values.sum()) if values.count() else None


def hours_in_words(amount: float) -> str:
    """Format hours without decimals, below 10 with two digits: few hours must not show as 0."""
    if 0 < abs(amount) < 0.01:  # below 0, a CPU was used for a moment longer than allocated
        return "<0.01" if amount > 0 else "0"
    return f"{amount:,.0f}" if abs(amount) >= 9.95 else f"{amount:.2g}"


def counted_in(selection: Selection, names: Collection[str] = (), undivided: int = 0) -> str:
    """Return the caption of a table of hours and jobs: what a row counts.

    names: the columns that group rows. undivided: the jobs whose hours could not be divided.
    """
    unit = next((name for name in ("day", "month") if name in names), None)
    if unit is None and not selection.is_bounded:
        return ""
    if not selection.is_divided:
        return "Hours and jobs: a job counts where it ended, with all its hours."
    where = f"the {unit or 'period'}"
    said = f"Hours: those used in {where}. Jobs: those that ended in it."
    if undivided:
        said += f" {count_in_words(undivided, 'job')} with unknown start or end: all hours count "
        said += "where the job counts."
    return said


def use_tiles(jobs: Jobs, groups: pl.DataFrame, note: str = "") -> Iterator[Tile]:
    """Return the CPU hours allocated, used and wasted by all groups; groups: rows of ``usage``."""
    given, used, wasted, unknown, running = (
        known_sum(groups[f"{name}_hours"])
        for name in ("cpu", "cpu_used", "cpu_wasted", "cpu_unknown", "not_ended_cpu")
    )
    title = "CPU hours allocated"
    if given is None:
        yield harvest_report.Tile(title, "not recorded", note)
        return
    yield harvest_report.Tile(title, hours_in_words(given), note)
    if used is not None and wasted is not None:
        yield harvest_report.Tile("CPU hours used", hours_in_words(used), used_share(used, wasted))
        rest = f"the use of {hours_in_words(unknown)} more CPU hours is unknown" if unknown else ""
        yield harvest_report.Tile("CPU hours wasted", hours_in_words(wasted), rest)
    elif unknown:
        still = (running or 0.0) >= 0.999 * unknown
        record = jobs.words.record[0].lower() + jobs.words.record[1:]
        why = "these runs have not ended" if still else f"{record} does not record usage"
        yield harvest_report.Tile("CPU hours used", "not recorded", why)


def used_share(used: float | None, wasted: float | None) -> str:
    """Return ``75 % of the hours with known use``; empty if there are none."""
    whole = (used or 0.0) + (wasted or 0.0)
    return f"{share_in_words((used or 0.0) / whole)} of the hours with known use" if whole else ""


def unknown_use(groups: pl.DataFrame) -> list[str]:
    """Say how many jobs have an unknown use; groups: rows of ``usage``."""
    ran = int(groups["ran_jobs"].sum())
    return [
        f"{resource.title}: the use of {unknown:,} of {ran:,} jobs that ran is unknown."
        for resource in RESOURCES[:3]
        if (unknown := int(groups[f"{resource.name}_unknown_jobs"].sum()))
    ]


def days_in_words(first: date | None, last: date | None) -> str:
    """Return ``, 2024-01-01 to 2024-01-31`` to follow a title; empty if no day is known."""
    if first is None or last is None:
        return ""
    return f", {first} to {last}" if first != last else f", {first}"
