"""The report ``failures``: why runs failed, whose they were, and on which nodes."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import polars as pl

from harvest.toolkit.amounts import count_in_words, share_in_words
from harvest_report import Column, LazySection, Notes, Report, Table, Tile

from ..job_runs import ENDED, Jobs
from ..period import selection_of
from ..views.declared.common import FAILURE_KEYS, groups_of
from ..views.why import by_reason, why_failed
from .missing import filled, missing
from .plots import reasons as plot_of
from .usage import title_of, without_jobs
from .words import counted_in, hours, hours_in_words, known_sum, part

_OTHERS: Final = ("account", "user", "partition", "node")
_PATTERN: Final = 0.8
_ENOUGH: Final = 3


def failures(
    data: Jobs, by: Iterable[str] = ("account",), top: int = 25, **choice: str | None
) -> Report:
    """Build the report.

    by: the columns to group jobs by. top: the largest number of rows of a table, 0 for all. choice:
        the jobs; see ``selection_of``.
    """
    names = groups_of(by, (*FAILURE_KEYS, *data.by))
    selection = selection_of(data, choice, None)
    jobs = selection.jobs(data)
    parts = why_failed(data, selection.parts(data, names)).collect()
    runs = parts.filter("counts")
    whole = by_reason(parts.lazy(), ()).collect()
    counted = whole.filter(pl.col("jobs") > 0)
    failed = pl.col("reason").is_not_null()
    whole_runs = runs.filter(failed, pl.col("cpu_time_s") > 0, pl.col("ran_until").is_null())
    caption, of_all = (counted_in(selection, by, whole_runs.height) for by in (names, ()))
    groups = _tables(parts, names, top, caption)
    found = parts.filter(failed).with_columns(node=pl.col("node_list"))
    several = [name for name in _OTHERS if found[name].drop_nulls().n_unique() > 1]
    others = [name for name in several if name not in names]
    return Report(
        title_of(f"Why jobs{{}} failed, by {', '.join(names)}", selection, jobs),
        intro=_in_words(data, runs, whole, names)
        if runs.height
        else without_jobs(selection, parts.height, 0),
        tiles=_tiles(runs, whole),
        picture="by-reason",
        sections=[
            *([plot_of(counted)] if counted.height else []),
            *filled(_table("reasons", whole, [], "By reason"), 1, of_all),
            *groups,
            *(table for name in others for table in _tables(parts, [name], top, of_all)),
            LazySection("definitions", lambda: _notes(data, runs, jobs, selection.zone.why, top)),
        ],
    )


def _tables(runs: pl.DataFrame, names: Sequence[str], top: int, caption: str) -> list[Table]:
    rows = by_reason(runs.lazy(), names).collect()
    shown = rows.head(top) if top else rows
    title = f"By {', '.join(names)}"
    if shown.height < rows.height:
        title += f", the first {shown.height:,} of {rows.height:,} rows"
    return filled(_table("-".join(["by", *names]), shown, names, title), len(names) + 1, caption)


def _table(name: str, rows: pl.DataFrame, names: Sequence[str], title: str) -> Table:
    docs = {} if names else {
        "failed_share": "share of the group's ended runs",
        "cpu_hours": "known CPU hours allocated to the failed runs",
        "on_node": "where most runs failed: node, runs there / runs with known nodes",
        "in_step": "which step failed first in most runs: step, runs / runs with a known step",
        "at_once": "runs that failed in their first step / runs with a known step",
    }  # fmt: skip
    columns = (
        Column("reason"),
        Column("jobs", "failed"),
        part("failed_share", "of ended", docs.get("failed_share")),
        hours("cpu_hours", "CPU h", docs.get("cpu_hours")),
        Column("on_node", "node", doc=docs.get("on_node")),
        Column("in_step", "step", doc=docs.get("in_step")),
        Column("at_once", "first", doc=docs.get("at_once")),
        Column("last_job", "last job"),
    )
    return Table(
        name,
        rows.with_columns(
            on_node=pl.format("{} {}/{}", "top_node", "top_node_jobs", "node_known_jobs"),
            in_step=pl.format("{} {}/{}", "failed_step", "failed_step_jobs", "step_known_jobs"),
            at_once=pl.format("{}/{}", "first_step_jobs", "step_known_jobs"),
        ),
        (*map(Column, names), *(c for c in columns if c.name != "on_node" or "node" not in names)),
        title=title,
    )


def _in_words(
    data: Jobs, runs: pl.DataFrame, whole: pl.DataFrame, names: Sequence[str]
) -> Iterator[str]:
    """Say why no run failed, else name the nodes on which most runs failed for one reason."""
    ended = int(runs["state"].is_in(ENDED).sum())
    if not ended and runs["state"].null_count():
        yield f"{data.words.record} does not record how these jobs ended."
    elif not ended:
        yield "No run ended."
    elif not whole["jobs"].sum():
        yield f"None of {count_in_words(ended, 'ended run')} failed."
    else:
        yield from _patterns(runs, names)


def _tiles(runs: pl.DataFrame, whole: pl.DataFrame) -> Iterator[Tile]:
    ended, failed = int(runs["state"].is_in(ENDED).sum()), int(whole["jobs"].sum())
    if not ended or not failed:
        return
    share = f"{share_in_words(failed / ended)} of {count_in_words(ended, 'ended run')}"
    yield Tile("failed runs", f"{failed:,}", share)
    reason, count = whole.select("reason", "jobs").row(0)
    yield Tile("main reason", reason, f"{count:,} of {count_in_words(failed, 'failed run')}")
    lost = known_sum(whole["cpu_hours"])
    words = "not recorded" if lost is None else hours_in_words(lost)
    yield Tile("CPU hours of failed runs", words)
    known = int(whole["step_known_jobs"].sum())
    if known:
        first = int(whole["first_step_jobs"].sum())
        yield Tile("failed in the first step", f"{first:,}", f"of {known:,} with a known step")


def _patterns(runs: pl.DataFrame, names: Sequence[str]) -> Iterator[str]:
    """Name nodes with many failures: ``Node n7: 9 of 10 runs of account maths ...``."""
    if "node" in names:
        return
    nodes = by_reason(runs.lazy(), ["node"]).select("node", "ended_jobs").unique().collect()
    ended_on = dict(nodes.iter_rows())
    all_ended = runs["state"].is_in(ENDED).sum()
    for row in by_reason(runs.lazy(), names).collect().iter_rows(named=True):
        known, most = row["node_known_jobs"], row["top_node_jobs"]
        ended = ended_on.get(row["top_node"])
        if ended is None or known < _ENOUGH or most < _PATTERN * known:
            continue
        ran = ended / all_ended
        # a node that ran nearly all runs also has most failures
        if ran < _PATTERN / 2:
            whose = ", ".join(f"{name} {row[name]}" for name in names if row[name] is not None)
            yield (
                f"Node {row['top_node']}: {most:,} of {known:,} runs of "
                f"{whose or 'an unknown group'} with the reason {row['reason']} failed there. The "
                f"node ran {share_in_words(ran)} of all runs."
            )


def _notes(data: Jobs, runs: pl.DataFrame, jobs: pl.LazyFrame, zone: str, top: int) -> Notes:
    unknown = runs["state"].null_count()
    items = [
        "Failed runs ended with an exit code or a signal, ran out of memory, reached their time "
        "limit or deadline, or lost their node. Cancelled, preempted and requeued runs do not "
        "count.",
        "The reason is out of memory if the run or a step ran out of it. Else it is why "
        f"{data.words.scheduler} ended the run, or the signal or exit code of the step that failed "
        "first. A shell reports signal 9 (SIGKILL) as exit code 137.",
    ]
    if (runs["reason"] == "time limit").any():
        items.append("A run that reached its time limit was stopped: no step of it failed.")
    if unknown:
        items.append(f"{unknown:,} of {runs.height:,} runs have an unknown final state.")
    items.append("By node, a run counts at each of its nodes.")
    if top:
        items.append(f"A table has at most {top} rows: top=0 lists all.")
    return Notes("definitions", [*items, *missing(data.words, jobs), zone], title="Definitions")
