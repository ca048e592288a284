"""The report ``slurm.summary``: who used what, and waited how long.

The views decide what a wait and an efficiency are; here they are summed up.
"""

from __future__ import annotations

import polars as pl

from harvest import DatasetReader
from harvest.toolkit.amounts import count_in_words, share_in_words
from harvest_report import Column, Notes, Report, Table
from harvest_toolkit.frames import fraction, known_sum

from ..states import ENDED
from ..views.period import WAITED_AT, selection_of
from ..views.zone import Zone
from .missing import filled, missing
from .plots import cpu_hours, states
from .words import CLOCK, days, period

_NEEDED = ("state", "cpu_time_s", "cpu_s", "mem_used_bytes", "alloc_mem_bytes", "submit_time",
           "start_time", "user", "partition")  # fmt: skip
_SHARED = r"^\([0-9,]+ others\)$"
"""Name of the row that the users without one of their own share."""


def summary(data: DatasetReader, top: int = 25, **choice: str | None) -> Report:
    """The report ``slurm.summary``; top: how many users have a row of their own, 0 for all.

    choice: which jobs, by the time of their submission; see ``period.selection_of``.
    """
    selection = selection_of(data, choice, WAITED_AT)
    zone = selection.zone
    month = pl.col("date").dt.strftime("%Y-%m").alias("month")
    used = selection.submitted(data, "slurm.efficiency").with_columns(month)
    lacking = missing(selection.submitted(data, "slurm.jobs").lazy(), *_NEEDED)
    waits = data.view("slurm.queue_time", **choice).collect().with_columns(month)
    others = _others(used, top)
    named = {by: sum_up(_fold(used, others), _fold(waits, others), by)
             for by in ("user", "partition", "state")}  # fmt: skip
    people = named["user"]
    months = sum_up(used, waits, "month").sort("month", nulls_last=True)
    return Report(
        f"Jobs by user, partition, state and month{days(used)}",
        intro=_use_in_words(used, zone),
        sections=[
            *(
                section
                for by, table in named.items()
                for section in filled(
                    Table(by, table, _columns(by), title=f"By {by}"), 1, counts=True
                )
                if table[by].count() or not table.height
            ),
            *filled(
                Table(
                    "month",
                    months,
                    _columns("month", doc=f"of submission, in the zone {zone.name}"),
                    title="By month of submission",
                ),
                1,
                counts=True,
            ),
            *([cpu_hours(people), states(named["state"])] if used.height else []),
            _about_use(used, waits, others, zone, lacking),
        ],
    )


def sum_up(used: pl.DataFrame, waits: pl.DataFrame, by: str) -> pl.DataFrame:
    """Jobs, CPU hours, efficiencies and waits per value of a column, most CPU hours first.

    used, waits: rows of the views slurm.efficiency and slurm.queue_time.
    """
    given = pl.col("cpu_hours") * 3600
    measured = pl.col("cpu_s").is_not_null() & (given > 0)
    hours = pl.col("cpu_hours")
    use = used.group_by(by).agg(
        pl.len().cast(pl.Int64).alias("jobs"),
        known_sum(hours).alias("cpu_hours"),
        fraction(pl.col("cpu_s").filter(measured).sum(), given.filter(measured).sum()).alias(
            "cpu_eff"
        ),
        pl.col("mem_eff").mean(),
    )
    waited = waits.group_by(by).agg(
        pl.col("wait_s").mean().alias("mean_wait_s"),
        pl.col("wait_s").median().alias("median_wait_s"),
        pl.col("wait_s").max().alias("max_wait_s"),
    )
    return use.join(waited, on=by, how="left", nulls_equal=True).sort(
        # those who share a row come last, however much they used together
        pl.col(by).str.contains(_SHARED).fill_null(value=False),
        "cpu_hours",
        "jobs",
        by,
        descending=[False, True, True, False],
        nulls_last=True,
    )


def _columns(by: str, doc: str | None = None) -> tuple[Column, ...]:
    return (
        Column(by, doc=doc),
        Column("jobs"),
        Column("cpu_hours", "CPU hours", None, ",.1f", doc="elapsed time x CPUs allocated"),
        Column(
            "cpu_eff",
            "CPU eff.",
            None,
            ".1%",
            doc="CPU time used / (elapsed x CPUs), all jobs together that ended and whose use was "
            "measured",
        ),
        Column(
            "mem_eff",
            "mean mem. eff.",
            None,
            ".1%",
            doc="most memory of a step / memory allocated, mean of the jobs that were measured",
        ),
        Column("mean_wait_s", "mean wait", None, "duration"),
        Column("median_wait_s", "median wait", None, "duration"),
    )


def _others(used: pl.DataFrame, shown: int) -> list[str]:
    """Users beyond the first ``shown`` by CPU hours; one alone is not worth folding."""
    if not shown:
        return []
    order = (
        used.filter(pl.col("user").is_not_null())
        .group_by("user")
        .agg(pl.col("cpu_hours").sum(), pl.len())
        .sort("cpu_hours", "len", "user", descending=[True, True, False], nulls_last=True)
    )
    names: list[str] = order["user"].to_list()[shown:]
    return names if len(names) > 1 else []


def _fold(frame: pl.DataFrame, others: list[str]) -> pl.DataFrame:
    if not others:
        return frame
    label = f"({len(others):,} others)"
    return frame.with_columns(
        pl.when(pl.col("user").is_in(others))
        .then(pl.lit(label))
        .otherwise(pl.col("user"))
        .alias("user")
    )


def _use_in_words(used: pl.DataFrame, zone: Zone) -> list[str]:
    """Jobs, users, CPU hours and success; what the dataset does not hold is said to be unknown."""
    if not used.height:
        return ["This dataset has no jobs."]
    users = used["user"].drop_nulls().n_unique()
    who = f"{used.height:,} jobs"
    who += f" of {users:,} user{'s' if users != 1 else ''}" if users else ", users not known"
    if used["date"].count():
        who += f", submitted {period(used['date'], zone)}"
    known = used["cpu_hours"].count()
    hours = f"{used['cpu_hours'].sum():,.1f} CPU hours" if known else "CPU hours not known"
    if 0 < known < used.height:
        hours += f" of the {known:,} jobs where they are known"
    return [f"{who}: {hours}; {_ends_in_words(used)}."]


def _ends_in_words(used: pl.DataFrame) -> str:
    """How many jobs ended and which share of them completed; of the others what they hold."""
    states = used["state"].drop_nulls()
    ended = states.is_in(ENDED).sum()
    if states.is_empty():
        return "state not known"
    said = f"{ended:,} ended"
    if ended:
        said += f", {share_in_words((states == 'completed').sum() / ended)} of them completed"
    others = used.filter(~pl.col("state").is_in(ENDED) & (pl.col("cpu_hours") > 0))
    if others.height:
        said += (
            f"; the use of {others['cpu_hours'].sum():,.1f} CPU hours is not known yet, as "
            f"{count_in_words(others.height, 'run')} {'has' if others.height == 1 else 'have'} "
            "not ended"
        )
    return said


def _about_use(
    used: pl.DataFrame, waits: pl.DataFrame, others: list[str], zone: Zone, lacking: list[str]
) -> Notes:
    items = []
    for column, what, field in (
        ("cpu_hours", "CPU hours are known", "CPU hours"),
        ("cpu_eff", "The CPU time used is known", "the CPU time used"),
        ("mem_eff", "The memory used is known", "the memory"),
        ("state", "The state is known", "how jobs ended"),
    ):
        known = used[column].count()
        if known < used.height and not any(f": {field}" in said for said in lacking):
            items.append(f"{what} for {known:,} of {used.height:,} jobs.")
    others_wait = ", the others had not started or have no such times"
    items.append(
        f"A wait is the time from submit to start; it is known for {waits.height:,} of "
        f"{used.height:,} jobs{others_wait if waits.height < used.height else ''}."
    )
    items += [*lacking, CLOCK, zone.why]
    if others:
        items.append(
            f"{len(others):,} users with the fewest CPU hours share a row: top=0 lists all."
        )
    return Notes("definitions", items, title="Definitions")
