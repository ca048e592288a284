"""The report ``dask.compare``: two sides on one page, with the verdict first."""

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from harvest import DatasetReader
from harvest_report import Column, Notes, Report, Section, Table, Tile
from harvest_toolkit.frames import complete_sum, fraction

from .compare import SIDES, Comparison, compared
from .numbers import PARTS, Numbers
from .pictures import kinds_plot, occupancy_plot, workers_plot
from .sides import sides_of
from .verdict import certainties, change, instead, name_of_side, sentences, times, with_range

OF_TIME: Final = ("executions", "total_s", "mean_s", "median_s", "max_s")
"""Measures of kinds of tasks that their first table shows."""
PATH_NOTE: Final = (
    "The critical path leads from the task that ended last back to what it followed, and so on "
    "(`harvest view dask.critical_path`). Time without a record is in nothing recorded."
)
PHASE_NOTE: Final = (
    "From the first recorded event to the last. Few threads: at most a tenth of the observed "
    "threads, and at least one."
)
P_VALUE: Final = Column("chance", "p", doc="p-value of Mann and Whitney's test")
SURE: Final = (Column("how", "how sure"), P_VALUE)


def dask_compare(data: DatasetReader, *, top: int = 20, **sides: Any) -> Report:
    """Build the report on the runs that the settings of ``sides_of`` name.

    top: maximum rows of each table.
    """
    found = compared(sides_of(data, **sides))
    first = name_of_side("before", found.before, found.after)
    second = name_of_side("after", found.after, found.before)
    title, intro = f"Dask runs compared: {first} and {second}", sentences(found)
    kinds = kinds_tables(found, top)
    if found.differing().is_empty():
        return Report(title, intro, kinds, tiles=_tiles(found))
    sections: list[Section | None] = [
        kinds[0],
        kinds_plot(found),
        occupancy_plot(found),
        *kinds[1:],
        _parts(found, "path", "span_s", "Where the time went", PATH_NOTE),
        _parts(found, "phase", "wall_s", "Phases", PHASE_NOTE),
        _listing(found, "graph", "graphs", "Graphs", top),
        _listing(found, "prefix", "results", "Failures, memory and bytes by kind", top, OF_TIME),
        _listing(found, "worker", "workers", "Workers", top),
        workers_plot(found),
        _listing(found, "run", "run", "The whole run", top),
        _one_sided(found),
        _records(found),
        _notes(found),
    ]
    shown = [section for section in sections if section is not None]
    return Report(title, intro, shown, tiles=_tiles(found), picture="time")


def _tiles(found: Comparison) -> list[Tile]:
    rows = {row["measure"]: row for row in found.rows.filter(part="run").iter_rows(named=True)}
    tiles = []
    for label, measure in (
        ("first to last execution", "span_s"),
        ("execution time", "busy_s"),
        ("thread use", "used_share"),
        ("transferred", "moved_bytes"),
    ):
        row = rows.get(measure)
        if row is None or row["difference"] is None:
            tiles.append(Tile(label, "unknown", "not recorded on both sides"))
        elif measure == "used_share" and rows["observed_threads"]["difference"]:
            # shares of unlike wholes: their difference says little
            threads = instead(rows["observed_threads"])
            tiles.append(Tile(label, instead(row), f"observed threads: {threads}"))
        else:
            tiles.append(Tile(label, change(row) if row["difference"] else "equal", instead(row)))
    return tiles


def _parts(found: Comparison, part: str, whole: str, title: str, note: str) -> Table | None:
    """Compare times that add up to one of the whole run; None if none differs."""
    rows = found.rows.filter(part=part)
    if not (rows["difference"] != 0).any():
        return None
    total = found.rows.filter(part="run", measure=whole).with_columns(name=pl.lit("in all"))
    every = pl.concat([rows, total])
    return Table(
        f"{part}s",
        every.with_columns(*certainties(every)),
        (
            Column("name", "part"),
            Column("before", "before", "s"),
            Column("after", "after", "s"),
            Column("difference", "difference", "s", "+,.3f"),
            *SURE,
        ),
        title=title,
        note=note,
    )


def _listing(
    found: Comparison, part: str, name: str, title: str, top: int, left_out: Sequence[str] = ()
) -> Table | None:
    """List the differences in a part of the run, a row per number; None without any.

    top: maximum names; left_out: measures that another table has.
    """
    rows = found.differing().filter(
        pl.col("part") == part,
        pl.col("difference").is_not_null(),
        ~pl.col("measure").is_in([*left_out]),
    )
    names = rows["name"].unique(maintain_order=True)
    shown = rows.filter(pl.col("name").is_in(names.head(top).implode()))
    if rows.is_empty():
        return None
    labels = pl.col("measure").replace_strict(PARTS[part])
    listed = [*shown.iter_rows(named=True)]
    texts = {
        "was": [with_range(row, "before") for row in listed],
        "became": [with_range(row, "after") for row in listed],
        "by": [change(row) for row in listed],
        "times": [times(row["ratio"]) for row in listed],
    }
    several = part != "run"
    return Table(
        name,
        shown.with_columns(
            *certainties(shown), label=labels, **{k: pl.Series(v) for k, v in texts.items()}
        ),
        (
            *([Column("name", part)] * several),
            Column("label", "what"),
            Column("was", "before"),
            Column("became", "after"),
            Column("by", "difference"),
            Column("times", "times", doc="after / before"),
            *SURE,
        ),
        title=title,
        group="name" if several else None,
        note=f"The first {top:,} of {len(names):,}." if len(names) > top else None,
    )


def _one_sided(found: Comparison) -> Notes | None:
    """List numbers that only one side has, so that they cannot be compared."""
    unknown = found.rows.filter(pl.col("difference").is_null(), presence="both")
    by_name: dict[str, list[str]] = {}
    for row in unknown.iter_rows(named=True):
        side = "before" if row["before"] is not None else "after"
        what = PARTS[row["part"]][row["measure"]]
        of = "" if row["part"] == "run" else f" of {row['name']}"
        by_name.setdefault(f"Known only {side}{of}", []).append(what)
    items = [f"{name}: {', '.join(what)}." for name, what in by_name.items()]
    return Notes("one-sided", items, title="What cannot be compared") if items else None


def _records(found: Comparison) -> Notes:
    named: dict[str, list[str]] = {}
    for side, runs in (("before", found.before), ("after", found.after)):
        for run in runs:
            for lack in run.known["completeness_notes"]:
                named.setdefault(lack, []).append(f"{run.run.name} ({side})")
    items = [f"{', '.join(runs)}: {lack}." for lack, runs in named.items()]
    whole = ["Nothing: all registered workers reported, and no event was lost."]
    return Notes("completeness", items or whole, title="Gaps in the records")


def _notes(found: Comparison) -> Notes:
    items = [
        "The numbers are those of the report dask.run and its views. Unknown numbers are not "
        "compared; equal ones are left out.",
        "Graphs are numbered as clients sent them. Workers are compared by address if all runs "
        "have the same addresses, else by rank: the busiest with the busiest.",
        "In part: some workers reported nothing, so that transfers are at least the number shown.",
        "Kinds have the I/O of a process in which only tasks of one kind ran meanwhile.",
        "`harvest view dask.compare`, with the same settings, has all numbers as rows.",
    ]
    if len(found.before) + len(found.after) > 2:
        items.insert(
            1,
            "Before and after are means of the runs, with the lowest and the highest. Runs apart: "
            "every run of one side is above every run of the other. p: how likely as large a "
            "difference is between runs that do not differ (Mann and Whitney's test).",
        )
    return Notes("notes", items, title="How to read it")


ADDED: Final = (
    *("executions_before", "executions_after", "total_before", "total_after"),
    *("difference", "by_count", "by_duration"),
)
SINGLE: Final = (
    "How sure: over all pairs of a task before and a task after. p: how likely as large a "
    "difference is by chance (Mann and Whitney's test over the tasks). It compares these tasks, "
    "not what another run would do."
)


def kinds_tables(found: Comparison, top: int) -> list[Table]:
    """Compare kinds of tasks whose executions or time differ: their time, its causes, its spread.

    The largest difference is first; if nothing differs, there is only one empty table.
    top: maximum kinds; the others have a row for all, equal ones too, so that the columns add up.
    """
    kinds = _kinds(found)
    differs = pl.any_horizontal((pl.col("difference", "counted") != 0).fill_null(value=True))
    differing, same = kinds.filter(differs), kinds.filter(~differs)
    sums = [
        _summed(part, name)
        for part, name in (
            (differing.slice(top), f"({differing.height - top:,} more)"),
            (same, f"({same.height:,} equal)"),
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


KIND: Final = Column("name", "kind", doc="the common part of the keys of a kind of task")


def _times(rows: pl.DataFrame, several: bool, alone: bool) -> Table:
    """several: certainty is from runs, not tasks; alone: a side lacks some kinds."""
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
            *SURE,
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
        title="More executions, or longer ones",
        note="By count: the change in the number of executions, at the mean duration before. By "
        "duration: the rest. Both add up to the difference.",
    )


def _spread(rows: pl.DataFrame) -> Table:
    return Table(
        "spread",
        rows,
        (
            KIND,
            Column("low_before", "lowest before", "s"),
            Column("high_before", "highest", "s"),
            Column("low_after", "lowest after", "s"),
            Column("high_after", "highest", "s"),
        ),
        title="Time of kinds from run to run",
    )


def _kinds(found: Comparison) -> pl.DataFrame:
    """Compute a row per kind of tasks on either side, in the order of the view."""
    rows = found.rows.filter(part="prefix")
    count, total, mean = (rows.filter(measure=m) for m in ("executions", "total_s", "mean_s"))
    sure = total if len(found.before) + len(found.after) > 2 else mean
    each_before = fraction("total_before", "ended_before")
    longer = pl.col("total_after") - pl.col("ended_after") * each_before
    both = pl.col("presence") == "both"
    kinds = rows.select("name", "presence").unique(maintain_order=True)
    for piece in (
        count.select(
            "name", counted="difference", executions_before="before", executions_after="after"
        ),
        total.select(
            *("name", "difference"),
            **{f"total_{side}": side for side in SIDES},
            **{f"{end}_{side}": f"{side}_{end}" for side in SIDES for end in ("low", "high")},
        ),
        mean.select("name", mean_before="before", mean_after="after"),
        sure.select("name", *certainties(sure)),
        _ended("before", found.before),
        _ended("after", found.after),
    ):
        kinds = kinds.join(piece, on="name", how="left")
    return kinds.with_columns(
        by_duration=pl.when(both & (pl.col("total_before") > 0))
        .then(longer)
        .when(both)
        .then("difference")
        .when(pl.col("difference").is_not_null())
        .then(0.0)
    ).with_columns(
        pl.col("how", "chance").fill_null(""), by_count=pl.col("difference") - pl.col("by_duration")
    )


def _ended(side: str, runs: Sequence[Numbers]) -> pl.DataFrame:
    """Count the executions of each kind that ended, as mean of the side's runs."""
    ended = (
        pl.when(measure="executions").then("value").when(measure="unended").then(-pl.col("value"))
    )
    rows = pl.concat(run.rows.filter(part="prefix") for run in runs)
    return rows.group_by("name").agg((ended.sum() / len(runs)).alias(f"ended_{side}"))


def _summed(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    texts = {"name": name, **dict.fromkeys(("presence", "how", "chance"), "")}
    return rows.select(
        *(pl.lit(text).alias(column) for column, text in texts.items()),
        *(complete_sum(added) for added in ADDED),
    )
