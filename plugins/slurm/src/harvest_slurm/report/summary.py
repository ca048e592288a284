"""The report ``slurm.summary``: who used what, and waited how long, from the view slurm.usage."""

from __future__ import annotations

from datetime import date
from typing import Final

import polars as pl

from harvest import DatasetReader
from harvest.toolkit.amounts import count_in_words, share_in_words
from harvest_report import Column, LazySection, Notes, Report, Table

from ..states import ENDS
from ..views.period import Selection, selection_of
from .missing import filled, missing
from .plots import cpu_hours, states
from .usage import days_of, fold, given_settings, period_in_words
from .words import CLOCK, counted_in, hours, known_sum, lasting, part, unknown_use

_NEEDED: Final = ("state", "cpu_time_s", "cpu_s", "mem_used_bytes", "alloc_mem_bytes",
                  "submit_time", "start_time", "user", "partition")  # fmt: skip
_BY: Final = ("user", "partition", "state", "month")
_MEASURES: Final = (
    hours("cpu_hours", "CPU hours", "elapsed time x CPUs allocated"),
    part("cpu_eff", "CPU eff.", "CPU time used / (elapsed x CPUs), all jobs together that ended "
         "and whose use was measured"),
    part("mem_eff", "mem. eff.", "(elapsed x most memory of a step) / (elapsed x memory "
         "allocated), all jobs together that were measured"),
    lasting("mean_wait_s", "mean wait"),
    lasting("median_wait_s", "median wait"),
)  # fmt: skip


def summary(data: DatasetReader, top: int = 25, **choice: str | None) -> Report:
    """The report ``slurm.summary``; top: how many users have a row of their own, 0 for all.

    choice: which jobs; see ``selection_of``.
    """
    selection = selection_of(data, choice, None)
    present = given_settings(choice)
    asked = [data.view("slurm.usage", by=by, **present) for by in _BY]
    groups = {by: _most_first(rows, by)
              for by, rows in zip(_BY, pl.collect_all(asked), strict=True)}  # fmt: skip
    users, months = groups["user"], groups["month"].sort("month", nulls_last=True)
    people = fold(users, ["user"], top)
    shown = {**groups, "user": people, "month": months}
    jobs, undivided = selection.jobs(data), int(users["undivided_jobs"].sum())
    first, last = days_of(jobs)
    return Report(
        f"Jobs by user, partition, state and month{period_in_words(selection, first, last)}",
        intro=[_in_words(users, selection, first, last)],
        sections=[
            *(
                section
                for by, rows in shown.items()
                for section in filled(
                    _table(by, rows, selection),
                    1,
                    counted_in(selection, [by], undivided),
                    counts=True,
                )
                if by == "month" or rows[by].count() or rows.is_empty()
            ),
            *([cpu_hours(people), states(groups["state"])] if users.height else []),
            LazySection(
                "definitions",
                lambda: _about_use(users, people, selection, missing(jobs, *_NEEDED)),
            ),
        ],
    )


def _most_first(rows: pl.DataFrame, by: str) -> pl.DataFrame:
    order = ["cpu_hours", "jobs", by]
    return rows.sort(order, descending=[True, True, False], nulls_last=True)


def _table(by: str, rows: pl.DataFrame, selection: Selection) -> Table:
    return Table(
        by,
        rows,
        (
            Column(by, doc=f"in the zone {selection.zone.name}" if by == "month" else None),
            "jobs",
            *_MEASURES,
        ),
        title=f"By {by}",
    )


def _in_words(
    users: pl.DataFrame, selection: Selection, first: date | None, last: date | None
) -> str:
    """Jobs, users, CPU hours and success; what the dataset does not hold is said to be unknown."""
    if users.is_empty():
        return "This dataset has no jobs."
    known = users["user"].drop_nulls().len()
    who = count_in_words(int(users["jobs"].sum()), "job")
    who += f" of {count_in_words(known, 'user')}" if known else ", users not known"
    if first is not None:
        who += f", from {first} to {last} ({selection.zone.name})"
    given = known_sum(users["cpu_hours"])
    used = "CPU hours not known" if given is None else f"{given:,.1f} CPU hours"
    return f"{who}: {used}; {_ends_in_words(users)}."


def _ends_in_words(users: pl.DataFrame) -> str:
    """How many jobs ended and which share of them completed; of the others what they hold."""
    ended = int(users.select(pl.sum_horizontal(*ENDS)).sum().item())
    running = int(users["not_ended"].sum())
    if not ended and not running:
        return "state not known" if users["jobs"].sum() else "none ended in this period"
    said = f"{ended:,} ended"
    if ended:
        said += f", {share_in_words(int(users['completed'].sum()) / ended)} of them completed"
    so_far = known_sum(users["not_ended_cpu_hours"])
    if so_far:
        said += (
            f"; the use of {so_far:,.1f} CPU hours is not known yet, as "
            f"{count_in_words(running, 'run')} {'has' if running == 1 else 'have'} not ended"
        )
    return said


def _about_use(
    users: pl.DataFrame, people: pl.DataFrame, selection: Selection, lacking: list[str]
) -> Notes:
    jobs, waited = int(users["jobs"].sum()), int(users["waited_jobs"].sum())
    items = unknown_use(users)
    if unknown := int(users["state_unknown"].sum()):
        items.append(f"Of {unknown:,} of {jobs:,} jobs it is not known how they ended.")
    others_wait = ", the others had not started or have no such times"
    if jobs:
        items.append(
            f"A wait is the time from submit to start; it is known for {waited:,} of "
            f"{jobs:,} jobs{others_wait if waited < jobs else ''}."
        )
    items += [*lacking, CLOCK, selection.zone.why]
    folded = users.height - people.height + 1
    if folded > 1:
        items.append(f"{folded:,} users with the fewest CPU hours share a row: top=0 lists all.")
    return Notes("definitions", items, title="Definitions")
