"""The report ``usage``: resources used and wasted in a period, failures and waits by group."""

from collections.abc import Iterable, Iterator
from typing import Final

import polars as pl
import polars.selectors as cs

from harvest.toolkit.amounts import count_in_words, share_in_words
from harvest_report import Column, LazySection, Notes, Report, Section, Table, Tile, with_others
from harvest_toolkit.frames import fraction

from ..job_runs import ENDS, FAILURES, Jobs
from ..period import Selection, selection_of
from ..views.declared.common import KEYS, RESOURCES, Resource, groups_of
from . import words
from .missing import filled, missing
from .plots import by_month, of_most_hours, used_and_wasted
from .words import days_in_words, hours, known_sum, part

_LABELS: Final = {"node_fail": "node failed", "state_unknown": "unknown"}


def usage_report(
    data: Jobs,
    by: Iterable[str] = ("user",),
    top: int = 25,
    cpu_hour_cost: float | None = None,
    gpu_hour_cost: float | None = None,
    **choice: str | None,
) -> Report:
    """Build the report; its settings are those of the view ``usage``."""
    names = groups_of(by, (*KEYS, *data.by))
    selection = selection_of(data, choice, None)
    prices = {"cpu_hour_cost": cpu_hour_cost, "gpu_hour_cost": gpu_hour_cost}
    groups = data.view("usage", by=by, **choice, **prices).collect()
    jobs = selection.jobs(data)
    rows = fold(groups, names, top)
    keys = [Column(name) for name in names]
    caption = words.counted_in(selection, names, int(groups["undivided_jobs"].sum()))
    ends = _ends_and_waits(data, rows, keys)

    def notes() -> Notes:
        # a run counts in each month in which it ran
        several = {"month", "day"} & set(names)
        whole = data.view("usage", by="cluster", **choice).collect() if several else groups
        return _notes(
            data, groups, rows, selection, [*words.unknown_use(whole), *missing(data.words, jobs)]
        )

    return Report(
        title_of(f"What jobs{{}} used and wasted, by {', '.join(names)}", selection, jobs),
        intro=without_jobs(selection, groups.height, int(groups["jobs"].sum())),
        tiles=_tiles(data, groups) if groups.height else (),
        picture="cpu-hours",
        sections=[
            *([used_and_wasted(groups, names)] if groups["cpu_hours"].sum() else []),
            *(
                table
                for resource in RESOURCES
                if resource.name == "cpu" or (groups[resource.column()].sum() or 0) > 0
                for table in filled(_resource_table(data, resource, rows, keys), len(keys), caption)
            ),
            *filled(_cost_table(rows, keys), len(keys), caption),
            LazySection("months", lambda: _months(data.view("trend", **choice), selection)),
            *(table for each in ends for table in filled(each, len(keys), caption)),
            LazySection("definitions", notes),
        ],
    )


def fold(groups: pl.DataFrame, names: list[str], shown: int) -> pl.DataFrame:
    """Keep the groups with the most CPU hours, and merge the others into one last row.

    The median of the merged row is null: it does not follow from the groups' medians.
    """
    if not shown or groups.height <= shown + 1:
        return groups
    marked = groups.with_row_index("place")
    kept = of_most_hours(marked, shown)
    others = marked.join(kept, on="place", how="anti")
    summed = cs.numeric() - cs.starts_with("median_", "mean_", "max_", "main_", "place")
    summed -= cs.ends_with("_eff")
    row = others.select(
        # 0 plus unknown is not 0
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


_RESOURCE_DOCS: Final = {
    "allocated": "elapsed time × allocated CPUs",
    "wasted": "allocated minus used, for jobs with known use",
    "unknown": "allocated to jobs with unknown use",
    "eff": "used / (used + wasted)",
    "jobs": "jobs with unknown use, for example those that have not ended",
}
_NOTES: Final = {
    "mem": "Memory used is the peak of a {unit}, as if the job had used it all the time.",
    "timelimit": "Only completed jobs count.",
}


def _resource_table(
    data: Jobs, resource: Resource, rows: pl.DataFrame, keys: list[Column]
) -> Table:
    name = resource.name
    # the first table explains the columns of all
    docs = _RESOURCE_DOCS if name == "cpu" else {}
    labels = {"": "allocated", "used": "used", "wasted": "wasted", "unknown": "unknown"}
    if name == "timelimit":
        docs = {"requested": "time limits of completed jobs"}
        labels |= {"": "requested", "wasted": "unused"}
    amounts = (
        hours(resource.column(what), label, docs.get(label)) for what, label in labels.items()
    )
    use = part(f"{name}_eff", "share used", docs.get("eff"))
    unknown = Column(f"{name}_unknown_jobs", "unknown jobs", doc=docs.get("jobs"))
    return Table(
        name,
        rows,
        (*keys, "jobs", *amounts, use, unknown),
        title=resource.title,
        note=data.whose.fill(_NOTES[name]) if name in _NOTES else None,
    )


_MONTHS: Final = (
    *("month", "jobs", hours("cpu_hours", "CPU h"), hours("year_before_cpu_hours", "year before")),
    Column("cpu_hours_change", "change", None, "+.1%"),
    part("cpu_eff", "share used"),
    part("failed_share", "failed", "share of ended runs"),
    part("year_before_failed_share", "year before"),
    words.lasting("mean_wait_s", "mean wait"),
)


def _months(trend: pl.LazyFrame, selection: Selection) -> list[Section]:
    """Return the months next to the same months of the year before; nothing for a single month."""
    months = trend.collect()
    if months.height < 2 and not months["year_before_jobs"].count():
        return []
    note = "An unfinished month is compared with the same days of the year before."
    table = Table("months", months, _MONTHS, title="Month by month", note=note)
    dated = months.drop_nulls("month")
    known = dated["cpu_hours"].sum() > 0 and dated.height > 1
    caption = words.counted_in(selection, ["month"])
    return [*filled(table, 1, caption), *([by_month(dated)] if known else [])]


def _cost_table(rows: pl.DataFrame, keys: list[Column]) -> Table:
    labels = ("used", "wasted", "unknown", "failed")
    costs = {"cost": "allocated", **{f"{label}_cost": label for label in labels}}
    columns = (Column(name, label, None, ",.2f") for name, label in costs.items())
    return Table(
        "costs",
        rows,
        (*keys, "jobs", *columns),
        title="Costs",
        note="Known CPU and GPU hours times cpu_hour_cost and gpu_hour_cost. Allocated is the sum "
        "of used, wasted and unknown; failed is the part of failed runs.",
    )


_WAITS: Final = (
    Column("waited_jobs", "started", doc="jobs that started, with a known wait"),
    words.lasting("mean_wait_s", "mean wait"),
    words.lasting("median_wait_s", "median wait"),
    words.lasting("max_wait_s", "longest wait"),
    words.lasting("median_run_s", "median run", "of ended jobs"),
)


def _ends_and_waits(data: Jobs, rows: pl.DataFrame, keys: list[Column]) -> list[Table]:
    others = [name for name in (*ENDS, "not_ended", "state_unknown") if name not in FAILURES]
    others = [name for name in others if name == "completed" or rows[name].sum()]
    failed, ended = (
        [Column(name, _LABELS.get(name, name.replace("_", " "))) for name in names]
        for names in (FAILURES, others)
    )
    lost = "known CPU hours allocated to failed runs"
    failed.append(part("failed_share", "of ended", "share of ended runs"))
    failed.append(hours("failed_cpu_hours", "CPU hours lost", lost))
    return [
        Table(
            "failures",
            rows,
            (*keys, *failed),
            title="Jobs that failed, by final state",
            note=f"The report {data.whose.name('failures')} shows the reasons: a step may run "
            "out of memory in a run that ended as failed.",
        ),
        Table("ends", rows, (*keys, "jobs", *ended), title="Other jobs, by final state"),
        Table("waits", rows, (*keys, *_WAITS), title="Wait times and run times", note=words.CLOCK),
    ]


def title_of(text: str, selection: Selection, jobs: pl.LazyFrame) -> str:
    """Fill the chosen jobs into a title, and add the chosen period, else the days of the jobs."""
    day = pl.col("at").dt.date()
    first, last = jobs.select(first=day.min(), last=day.max()).collect().row(0)
    begin, end = selection.period.days(selection.zone.name)
    return text.format(selection.in_words) + days_in_words(begin or first, end or last)


def without_jobs(selection: Selection, rows: int, jobs: int) -> Iterator[str]:
    """Explain a report without rows of jobs, or without jobs that count."""
    if not rows:
        where = " in this period" if selection.is_bounded else ""
        yield f"The dataset has no jobs{selection.in_words}{where}."
    elif not jobs:
        yield "No job ended in this period, but some ran in it."


def _tiles(data: Jobs, groups: pl.DataFrame) -> Iterator[Tile]:
    jobs = int(groups["jobs"].sum())
    yield from words.use_tiles(data, groups, count_in_words(jobs, "job") if jobs else "")
    gpu, used, wasted = (known_sum(groups[RESOURCES[1].column(w)]) for w in ("", "used", "wasted"))
    if gpu:
        note = f"used: {words.used_share(used, wasted) or 'not recorded'}"
        yield Tile("GPU hours allocated", words.hours_in_words(gpu), note)
    ended = int(groups.select(pl.sum_horizontal(*ENDS)).sum().item())
    if ended:
        failed = int(groups["failed_jobs"].sum())
        share = share_in_words(failed / ended)
        yield Tile("failed runs", f"{failed:,}", f"{share} of {count_in_words(ended, 'ended run')}")
    elif groups["state_unknown"].sum():
        yield Tile("failed runs", "not recorded")


def _notes(
    data: Jobs, groups: pl.DataFrame, rows: pl.DataFrame, selection: Selection, gaps: list[str]
) -> Notes:
    items = [
        "A job counts when it ended, else when it started, else when it was submitted. A requeued "
        "job counts once per run.",
        "Wasted is allocated minus used. The use of a run is unknown until it ends, and where "
        f"{data.words.scheduler} did not gather it: its hours count as unknown.",
    ]
    if selection.is_bounded:
        items.append("Jobs without any known time are in no period.")
    if rows.height < groups.height:
        items.append(
            f"The {groups.height - rows.height + 1:,} groups with the fewest CPU hours share a "
            "row: top=0 lists all."
        )
    return Notes("definitions", [*items, *gaps, selection.zone.why], title="Definitions")
