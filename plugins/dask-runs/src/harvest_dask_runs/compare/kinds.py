"""The tables of kinds of tasks: their time on both sides, and where a difference comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from harvest_report import Column, Table
from harvest_toolkit.frames import complete_sum, fraction

from .compare import Comparison
from .numbers import Numbers
from .words import certainties

ADDED: Final = (
    *("executions_before", "executions_after", "total_before", "total_after"),
    *("difference", "by_count", "by_duration"),
)
SINGLE: Final = (
    "How sure: of all pairs of a task before and one after, in how many the latter took longer. "
    "Chance: how likely they part as far by chance (Mann and Whitney's test). It says that the "
    "tasks took longer, not whether another run would do so again."
)


def kinds_tables(found: Comparison, top: int) -> list[Table]:
    """Kinds of tasks of which executions or time differ: their time, its causes, its spread.

    The largest difference is first; where nothing differs, the first table is empty and the only
    one.  top: how many; what is beyond them, and what does not differ, is a row each, so that the
    columns add up.
    """
    kinds = _kinds(found)
    differs = pl.any_horizontal((pl.col("difference", "counted") != 0).fill_null(value=True))
    differing, same = kinds.filter(differs), kinds.filter(~differs)
    sums = [
        _summed(part, name)
        for part, name in (
            (differing.slice(top), f"({differing.height - top:,} more)"),
            (same, f"({same.height:,} that are the same)"),
            (kinds, "in all"),
        )
        if part.height and differing["difference"].is_not_null().any()
    ]
    rows = pl.concat([differing.head(top), *sums], how="diagonal")
    several = len(found.before) + len(found.after) > 2
    alone = bool((differing["presence"] != "both").any())
    tables = [_times(rows, several, alone)]
    if sums:
        tables.append(_causes(rows))
        if several:
            tables.append(_spread(differing.head(top)))
    return tables


KIND: Final = Column("name", "kind", doc="what tasks of one kind have in common in their keys")


def _times(rows: pl.DataFrame, several: bool, alone: bool) -> Table:
    """several: whether runs or tasks say how sure it is; alone: whether one side alone has some."""
    mean = ", as mean of the runs" if several else ""
    return Table(
        "kinds",
        rows,
        (
            KIND,
            Column("total_before", "before", "s", doc=f"time of executions, all threads{mean}"),
            Column("total_after", "after", "s"),
            Column("difference", "difference", "s", "+,.3f"),
            *([Column("presence", "on")] * alone),
            Column("how", "how sure"),
            "chance",
        ),
        title="Time of kinds of tasks",
        note=None if several else SINGLE,
    )


def _causes(rows: pl.DataFrame) -> Table:
    return Table(
        "causes",
        rows,
        (
            KIND,
            Column("executions_before", "executions before", format=",.6g"),
            Column("executions_after", "after", format=",.6g"),
            Column("mean_before", "each before", "s"),
            Column("mean_after", "after", "s"),
            Column("by_count", "by count", "s", "+,.3f"),
            Column("by_duration", "by duration", "s", "+,.3f"),
        ),
        title="More of them, or longer ones",
        note="By count: the change in executions that ended, each as long as before. By duration: "
        "the executions after, each by as much longer. Both add up to the difference.",
    )


def _spread(rows: pl.DataFrame) -> Table:
    sides = (("before", "lowest before"), ("after", "lowest after"))
    return Table(
        "spread",
        rows,
        (
            KIND,
            *(
                column
                for side, label in sides
                for column in (
                    Column(f"low_{side}", label, "s"),
                    Column(f"high_{side}", "highest", "s"),
                )
            ),
        ),
        title="Time of kinds from run to run",
    )


def _kinds(found: Comparison) -> pl.DataFrame:
    """A row per kind of tasks that either side has, in the order of the view."""
    rows = found.rows.filter(part="prefix")
    count, total, mean = (rows.filter(measure=m) for m in ("executions", "total_s", "mean_s"))
    sure = total if len(found.before) + len(found.after) > 2 else mean
    each_before = fraction("total_before", "ended_before")
    longer = pl.col("total_after") - pl.col("ended_after") * each_before
    both = pl.col("presence") == "both"
    return (
        rows.select("name", "presence")
        .unique(maintain_order=True)
        .join(
            count.select(
                "name",
                executions_before="before",
                executions_after="after",
                counted="difference",
            ),
            on="name",
            how="left",
        )
        .join(
            total.select(
                *("name", "difference"),
                total_before="before",
                total_after="after",
                low_before="before_low",
                high_before="before_high",
                low_after="after_low",
                high_after="after_high",
            ),
            on="name",
            how="left",
        )
        .join(mean.select("name", mean_before="before", mean_after="after"), on="name", how="left")
        .join(sure.select("name", *certainties(sure)), on="name", how="left")
        .join(_ended("before", found.before), on="name", how="left")
        .join(_ended("after", found.after), on="name", how="left")
        .with_columns(
            by_duration=pl.when(both & (pl.col("total_before") > 0))
            .then(longer)
            .when(both)
            .then("difference")
            .when(pl.col("difference").is_not_null())
            .then(0.0)
        )
        .with_columns(
            pl.col("how", "chance").fill_null(""),
            by_count=pl.col("difference") - pl.col("by_duration"),
        )
    )


def _ended(side: str, runs: Sequence[Numbers]) -> pl.DataFrame:
    """How many executions of each kind ended, as mean of the side's runs."""
    counts = [
        run.rows.filter(part="prefix")
        .group_by("name")
        .agg(
            fraction(
                pl.col("value").filter(measure="total_s").first(),
                pl.col("value").filter(measure="mean_s").first(),
            )
            .round()
            .alias(f"ended_{side}")
        )
        for run in runs
    ]
    return pl.concat(counts).group_by("name").agg(pl.col(f"ended_{side}").sum() / len(runs))


def _summed(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    texts = {"name": name, **dict.fromkeys(("presence", "how", "chance"), "")}
    return rows.select(
        *(pl.lit(text).alias(column) for column, text in texts.items()),
        *(complete_sum(added) for added in ADDED),
    )
