"""The report ``summary``: CPU hours, efficiency and waits, from the view ``usage``."""

from collections.abc import Iterator, Sequence
from typing import Final

import attrs
import polars as pl

from harvest.toolkit.amounts import count_in_words, seconds_in_words, share_in_words
from harvest_report import Column, LazySection, Notes, Report, Table, Tile

from ..job_runs import ENDS, Jobs
from ..period import Selection, selection_of
from ..views.declared.common import KEYS, groups_of
from .missing import filled, missing
from .plots import cpu_hours, states
from .usage import fold, title_of, without_jobs
from .words import CLOCK, counted_in, hours, lasting, part, unknown_use, use_tiles

_NEEDED: Final = ("state", "cpu_time_s", "cpu_s", "mem_used_bytes", "alloc_mem_bytes",
                  "submit_time", "start_time", "user", "partition")  # fmt: skip
_BY: Final = ("user", "partition", "state", "month")
_MEASURES: Final = (
    hours("cpu_hours", "CPU hours", "elapsed time × allocated CPUs"),
    part("cpu_eff", "CPU eff.", "CPU time used / (elapsed time × CPUs), all measured jobs "
         "together"),
    part("mem_eff", "mem. eff.", "(elapsed time × peak memory of a {unit}) / (elapsed time × "
         "memory allocated), all measured jobs together"),
    lasting("mean_wait_s", "mean wait"),
    lasting("median_wait_s", "median wait"),
)  # fmt: skip


def summary(data: Jobs, by: Sequence[str] = (), top: int = 25, **choice: str | None) -> Report:
    """Build the report.

    by: the columns to group jobs by; by default one table for each of _BY. top: the number of
        groups with their own row, 0 for all. choice: the jobs; see ``selection_of``.
    """
    selection = selection_of(data, choice, None)
    tables = [groups_of(by, (*KEYS, *data.by))] if by else [[name] for name in _BY]
    asked = {",".join(names): names for names in (["user"], ["state"], *tables)}
    views = [data.view("usage", by=names, **choice) for names in asked]
    groups = {
        name: _most_first(rows, asked[name])
        for name, rows in zip(asked, pl.collect_all(views), strict=True)
    }
    users = groups["user"]
    shown = [
        (names, fold(rows, names, top) if by or names == ["user"] else rows)
        for names in tables
        for rows in (groups[",".join(names)],)
    ]
    jobs, undivided = selection.jobs(data), int(users["undivided_jobs"].sum())
    grouped = ", ".join(by) or "user, partition, state and month"
    return Report(
        title_of(f"Jobs{{}} by {grouped}", selection, jobs),
        intro=without_jobs(selection, users.height, int(users["jobs"].sum())),
        tiles=_tiles(data, users) if users.height else (),
        sections=[
            *(
                section
                for names, rows in shown
                for section in filled(
                    _table(data, names, rows, selection),
                    len(names),
                    counted_in(selection, names, undivided),
                    counts=True,
                )
                if "month" in names or rows[names[0]].count() or rows.is_empty()
            ),
            *([cpu_hours(*shown[0]), states(groups["state"])] if users.height else []),
            LazySection(
                "definitions",
                lambda: _notes(
                    users,
                    groups[",".join(tables[0])].height - shown[0][1].height + 1,
                    [*missing(data.words, jobs, *_NEEDED), CLOCK, selection.zone.why],
                ),
            ),
        ],
    )


def _most_first(rows: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    times = [name for name in names if name in ("month", "day")]
    order = [*times, "cpu_hours", "jobs", *(name for name in names if name not in times)]
    falling = [name in ("cpu_hours", "jobs") for name in order]
    return rows.sort(order, descending=falling, nulls_last=True)


def _table(data: Jobs, names: list[str], rows: pl.DataFrame, selection: Selection) -> Table:
    zone = f"in the zone {selection.zone.name}"
    keys = (Column(name, doc=zone if name in ("month", "day") else None) for name in names)
    measures = (attrs.evolve(c, doc=c.doc and data.whose.fill(c.doc)) for c in _MEASURES)
    return Table("-".join(names), rows, (*keys, "jobs", *measures), title=f"By {', '.join(names)}")


def _tiles(jobs: Jobs, users: pl.DataFrame) -> Iterator[Tile]:
    known = users["user"].drop_nulls().len()
    who = count_in_words(known, "user") if known else "users not recorded"
    yield Tile("jobs", f"{int(users['jobs'].sum()):,}", who)
    yield from list(use_tiles(jobs, users))[:2]
    ended = int(users.select(pl.sum_horizontal(*ENDS)).sum().item())
    share = share_in_words(int(users["completed"].sum()) / ended) if ended else "not recorded"
    if ended or users["state_unknown"].sum():
        yield Tile("completed", share, f"of {count_in_words(ended, 'ended run')}" if ended else "")
    waited = int(users["waited_jobs"].sum())
    wait = (
        seconds_in_words(float(users["total_wait_s"].sum()) / waited) if waited else "not recorded"
    )
    yield Tile("mean wait", wait, f"of {count_in_words(waited, 'started job')}" if waited else "")


def _notes(users: pl.DataFrame, merged: int, more: list[str]) -> Notes:
    """Return the definitions; merged: the number of groups in the last row, 1 for none."""
    jobs, waited = int(users["jobs"].sum()), int(users["waited_jobs"].sum())
    items = unknown_use(users)
    if unknown := int(users["state_unknown"].sum()):
        items.append(f"{unknown:,} of {jobs:,} jobs have an unknown final state.")
    if jobs:
        items.append(
            f"A wait is the time from submission to start; {waited:,} of {jobs:,} jobs have one."
        )
    items += more
    if merged > 1:
        items.append(f"{merged:,} groups with the fewest CPU hours share a row: top=0 lists all.")
    return Notes("definitions", items, title="Definitions")
