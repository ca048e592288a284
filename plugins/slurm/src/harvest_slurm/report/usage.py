"""The report ``slurm.usage``: who used and wasted how much in a period, who failed, who waited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any, Final

import polars as pl
import polars.selectors as cs

from harvest import DatasetReader
from harvest.toolkit.amounts import count_in_words, share_in_words
from harvest_report import Column, LazySection, Notes, Report, Section, Table, with_others
from harvest_toolkit.frames import fraction

from ..states import ENDS, FAILURES
from ..views.declared.common import RESOURCES, Resource, groups_of
from ..views.period import Selection, selection_of
from .missing import filled, missing
from .plots import by_month, of_most_hours, used_and_wasted
from .words import (
    counted_in,
    days_in_words,
    hours,
    hours_in_words,
    known_sum,
    lasting,
    part,
    unknown_use,
)

_LABELS: Final = {
    "out_of_memory": "out of memory",
    "node_fail": "node failed",
    "not_ended": "not ended",
    "state_unknown": "unknown",
}


def usage_report(
    data: DatasetReader,
    by: Iterable[str] = ("user",),
    top: int = 25,
    cpu_hour_cost: float | None = None,
    gpu_hour_cost: float | None = None,
    **choice: str | None,
) -> Report:
    """The report; by: what jobs are grouped by, the other settings: those of slurm.usage."""
    names = groups_of(by)
    selection = selection_of(data, choice, None)
    prices = {"cpu_hour_cost": cpu_hour_cost, "gpu_hour_cost": gpu_hour_cost}
    present = given_settings(choice)
    groups = data.view("slurm.usage", by=by, **present, **given_settings(prices)).collect()
    jobs = selection.jobs(data)
    first, last = days_of(jobs)
    rows = fold(groups, names, top)
    keys = [Column(name) for name in names]
    caption = counted_in(selection, names, int(groups["undivided_jobs"].sum()))

    def notes() -> Notes:
        # a run is among those that ran in each of several months
        several = {"month", "day"} & set(names)
        whole = data.view("slurm.usage", by="cluster", **present).collect() if several else groups
        return _notes(groups, rows, selection, [*unknown_use(whole), *missing(jobs)])

    return Report(
        f"What jobs used and wasted by {', '.join(names)}{period_in_words(selection, first, last)}",
        intro=_in_words(groups, names, selection, first, last),
        sections=[
            *([used_and_wasted(groups, names)] if groups["cpu_hours"].sum() else []),
            *(
                table
                for resource in RESOURCES
                if resource.name == "cpu" or (groups[resource.column()].sum() or 0) > 0
                for table in filled(_resource_table(resource, rows, keys), len(keys), caption)
            ),
            *filled(_cost_table(rows, keys), len(keys), caption),
            LazySection("months", lambda: _months(data.view("slurm.trend", **present), selection)),
            *(t for each in _ends_and_waits(rows, keys) for t in filled(each, len(keys), caption)),
            LazySection("definitions", notes),
        ],
    )


def fold(groups: pl.DataFrame, names: list[str], shown: int) -> pl.DataFrame:
    """The groups with the most CPU hours, and the others as one row behind them.

    Medians of the others together are not known from their own.
    """
    if not shown or groups.height <= shown + 1:
        return groups
    marked = groups.with_row_index("place")
    kept = of_most_hours(marked, shown)
    others = marked.join(kept, on="place", how="anti")
    summed = cs.numeric() - cs.starts_with("median_", "mean_", "max_", "main_", "place")
    summed -= cs.ends_with("_eff")
    row = others.select(
        # 0 and what is not known are not 0
        pl.when((summed.null_count() == 0) | (summed.sum() != 0)).then(summed.sum()),
        pl.col("max_wait_s").max(),
    ).with_columns(
        fraction("failed_jobs", pl.sum_horizontal(*ENDS)).alias("failed_share"),
        (pl.col("total_wait_s") / pl.col("waited_jobs")).alias("mean_wait_s"),
        *(
            fraction(r.column("used"), pl.col(r.column("used")) + pl.col(r.column("wasted")))
            .alias(f"{r.name}_eff")
            for r in RESOURCES
        ),
    )  # fmt: skip
    return with_others(kept.drop("place"), others.height, names[0], row)


def given_settings(choice: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that have a value."""
    return {name: value for name, value in choice.items() if value is not None}


def days_of(jobs: pl.LazyFrame) -> tuple[date | None, date | None]:
    """The days of the first and the last job that counts."""
    day = pl.col("at").dt.date()
    first, last = jobs.select(first=day.min(), last=day.max()).collect().row(0)
    return first, last


_RESOURCE_DOCS: Final = {
    "given": "allocated: elapsed time x what was allocated",
    "wasted": "allocated minus used, of the jobs whose use is known",
    "unknown": "allocated to jobs whose use is not known",
    "eff": "used / (used + wasted)",
    "jobs": "jobs whose use is not known, as that of jobs that have not ended",
}
_MEMORY_NOTE: Final = (
    "Memory used is the most that a step used, as if it had been used all the time."
)


def _resource_table(resource: Resource, rows: pl.DataFrame, keys: list[Column]) -> Table:
    name = resource.name
    # what is the same in all tables is explained below the first one
    docs = _RESOURCE_DOCS if name == "cpu" else {}
    if name == "timelimit":
        docs = {"given": "time limits of the jobs that completed"}
    amounts = (
        hours(resource.column(what if what != "given" else ""), what, docs.get(what))
        for what in ("given", "used", "wasted", "unknown")
    )
    use = part(f"{name}_eff", "share used", docs.get("eff"))
    unknown = Column(f"{name}_unknown_jobs", "unknown jobs", doc=docs.get("jobs"))
    return Table(
        name,
        rows,
        (*keys, "jobs", *amounts, use, unknown),
        title=resource.title,
        note=_MEMORY_NOTE if name == "mem" else None,
    )


_MONTHS: Final = (
    *("month", "jobs", hours("cpu_hours", "CPU h"), hours("year_before_cpu_hours", "year before")),
    Column("cpu_hours_change", "change", None, "+.1%"),
    part("cpu_eff", "share used"),
    part("failed_share", "failed", "of the runs that ended"),
    part("year_before_failed_share", "year before"),
    lasting("mean_wait_s", "mean wait"),
)


def _months(trend: pl.LazyFrame, selection: Selection) -> list[Section]:
    """The months with those of a year before; nothing where there is one month to look at."""
    months = trend.collect()
    if months.height < 2 and not months["year_before_jobs"].count():
        return []
    note = "A month that is not over is compared with the same days of the year before."
    table = Table("months", months, _MONTHS, title="Month by month", note=note)
    dated = months.drop_nulls("month")
    known = dated["cpu_hours"].sum() > 0 and dated.height > 1
    caption = counted_in(selection, ["month"])
    return [*filled(table, 1, caption), *([by_month(dated)] if known else [])]


def _cost_table(rows: pl.DataFrame, keys: list[Column]) -> Table:
    labels = ("used", "wasted", "unknown", "failed")
    costs = {"cost": "given", **{f"{label}_cost": label for label in labels}}
    columns = (Column(name, label, None, ",.2f") for name, label in costs.items())
    return Table(
        "costs",
        rows,
        (*keys, "jobs", *columns),
        title="Costs",
        note="CPU and GPU hours, as far as known, times cpu_hour_cost and gpu_hour_cost: given is "
        "used, wasted and unknown; failed is the part of it that runs had which failed.",
    )


_WAITS: Final = (
    Column("waited_jobs", "started", doc="jobs that started and whose wait is known"),
    lasting("mean_wait_s", "mean wait"),
    lasting("median_wait_s", "median wait"),
    lasting("max_wait_s", "longest wait"),
    lasting("median_run_s", "median run", "of those that ended"),
)


def _ends_and_waits(rows: pl.DataFrame, keys: list[Column]) -> list[Table]:
    others = [name for name in (*ENDS, "not_ended", "state_unknown") if name not in FAILURES]
    others = [name for name in others if name == "completed" or rows[name].sum()]
    failed, ended = (
        [Column(name, _LABELS.get(name, name)) for name in names] for names in (FAILURES, others)
    )
    lost = "allocated to the runs that failed, as far as known"
    failed.append(part("failed_share", "of ended", "of the runs that ended"))
    failed.append(hours("failed_cpu_hours", "CPU hours lost", lost))
    return [
        Table(
            "failures",
            rows,
            (*keys, *failed),
            title="Jobs that failed, by final state",
            note="Reasons are in slurm.failures: a job may have failed since a step lacked memory.",
        ),
        Table("ends", rows, (*keys, "jobs", *ended), title="How the others ended"),
        Table(
            "waits",
            rows,
            (*keys, *_WAITS),
            title="How long jobs waited and ran",
            note="Shown as days-hours:minutes:seconds; files hold seconds.",
        ),
    ]


def period_in_words(selection: Selection, first: date | None, last: date | None) -> str:
    """``, 2024-01-01 to 2024-01-31``: as asked for, else the days of the jobs."""
    begin, end = selection.period.days(selection.zone.name)
    return days_in_words(begin or first, end or last)


def chosen_in_words(selection: Selection) -> str:
    """Which jobs, in words that follow "jobs": `` of user ann, account x``; or nothing."""
    kinds = ", ".join(f"{name} {value}" for name, value in selection.only.items())
    return f" of {kinds}" if kinds else ""


def _in_words(
    groups: pl.DataFrame, names: list[str], selection: Selection, first: object, last: object
) -> list[str]:
    if groups.is_empty():
        return [f"The dataset holds no jobs{chosen_in_words(selection)}."]
    times = f"from {first} to {last} ({selection.zone.name})" if first else "at times not known"
    if first is None and selection.is_bounded:
        times = "ended in this period; others ran in it"
    jobs = count_in_words(int(groups["jobs"].sum()), "job")
    said = [f"{jobs}{chosen_in_words(selection)} {times}."]
    said += filter(None, (_use_in_words(groups, resource) for resource in RESOURCES[:3]))
    return said


def _use_in_words(groups: pl.DataFrame, resource: Resource) -> str:
    """What was given, used and wasted, and of how much it is not known; nothing without any."""
    given, used, wasted, unknown = (
        known_sum(groups[resource.column(what)]) for what in ("", "used", "wasted", "unknown")
    )
    jobs = int(groups[f"{resource.name}_unknown_jobs"].sum())
    if given is None and jobs and resource.name == "cpu":
        return f"{resource.title} are not known."
    if not given:
        return ""
    parts = [f"{resource.title}: {hours_in_words(given)} given"]
    if used is not None and wasted is not None:
        share = f" ({share_in_words(used / (used + wasted))})" if used + wasted > 0 else ""
        parts += [f"{hours_in_words(used)} used{share}", f"{hours_in_words(wasted)} wasted"]
    if unknown:
        still = known_sum(groups["not_ended_cpu_hours"]) if resource.name == "cpu" else None
        of = f" ({hours_in_words(still)} of it by runs that have not ended)" if still else ""
        parts.append(f"use of {hours_in_words(unknown)} not known{of}")
    return ", ".join(parts) + "."


def _notes(
    groups: pl.DataFrame, rows: pl.DataFrame, selection: Selection, gaps: list[str]
) -> Notes:
    items = [
        "A job counts when it ended; one that has not ended counts when it started or, where it "
        "waits, when it was submitted. A requeued job counts once per run.",
        "Wasted is what was allocated minus what was used. The use of runs that have not ended, "
        "and of those of which it was not gathered, is not known: their hours count neither as "
        "used nor as wasted.",
    ]
    if selection.is_bounded:
        items.append("Jobs of which no time is known are in no period.")
    if rows.height < groups.height:
        items.append(
            f"The {groups.height - rows.height + 1:,} groups with the fewest CPU hours share a "
            "row: top=0 lists all."
        )
    return Notes("definitions", [*items, *gaps, selection.zone.why], title="Definitions")
