"""The report ``slurm.failures``: why runs failed, whose they are, and where they did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import polars as pl

from harvest import DatasetReader
from harvest.toolkit.amounts import count_in_words, share_in_words
from harvest_report import Column, LazySection, Notes, Report, Table

from ..states import ENDED
from ..views.declared.common import FAILURE_KEYS, groups_of
from ..views.period import selection_of
from ..views.why import by_reason, why_failed
from .missing import filled, missing
from .plots import reasons as plot_of
from .usage import chosen_in_words, days_of, period_in_words
from .words import counted_in, hours, hours_in_words, known_sum, part

_OTHERS: Final = ("account", "user", "partition", "node")
_PATTERN: Final = 0.8
_ENOUGH: Final = 3


def failures(
    data: DatasetReader, by: Iterable[str] = ("account",), top: int = 25, **choice: str | None
) -> Report:
    """The report; by: what jobs are grouped by, top: how many rows a table has, 0 for all.

    choice: which jobs; see ``selection_of``.
    """
    names = groups_of(by, FAILURE_KEYS)
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
    others = [name for name in _OTHERS if name not in names and _several(parts, name)]
    first, last = days_of(jobs)
    return Report(
        f"Why jobs failed, by {', '.join(names)}{period_in_words(selection, first, last)}",
        intro=_in_words(runs, whole, names, chosen_in_words(selection)),
        sections=[
            *([plot_of(counted)] if counted.height else []),
            *filled(_table("reasons", whole, [], "By reason"), 1, of_all),
            *groups,
            *(table for name in others for table in _tables(parts, [name], top, of_all)),
            LazySection("definitions", lambda: _notes(runs, jobs, selection.zone.why, top)),
        ],
    )


def _several(runs: pl.DataFrame, name: str) -> bool:
    """Whether it is worth a table: the runs that failed are of several."""
    failed = runs.filter(pl.col("reason").is_not_null())
    return failed["node_list" if name == "node" else name].drop_nulls().n_unique() > 1


def _tables(runs: pl.DataFrame, names: Sequence[str], top: int, caption: str) -> list[Table]:
    rows = by_reason(runs.lazy(), names).collect()
    shown = rows.head(top) if top else rows
    title = f"By {', '.join(names)}"
    if shown.height < rows.height:
        title += f", the first {shown.height:,} of {rows.height:,} rows"
    return filled(_table("-".join(["by", *names]), shown, names, title), len(names) + 1, caption)


def _table(name: str, rows: pl.DataFrame, names: Sequence[str], title: str) -> Table:
    docs = {} if names else {
        "failed_share": "share of the runs of the group that ended, however they did",
        "cpu_hours": "CPU hours allocated to the runs that failed, as far as known",
        "on_node": "where most of them failed: node, runs there / runs whose nodes are known; "
        "nodes of the step that failed first, else of the run",
        "in_step": "the step that failed first in most of them: step, runs / runs of which a step "
        "is known to have failed",
        "at_once": "of these runs those that no other step had begun in before",
    }  # fmt: skip
    columns = (
        Column("reason"),
        Column("jobs", "failed"),
        part("failed_share", "of ended", docs.get("failed_share")),
        hours("cpu_hours", "CPU h", docs.get("cpu_hours")),
        Column("on_node", "node", doc=docs.get("on_node")),
        Column("in_step", "step", doc=docs.get("in_step")),
        Column("at_once", "at once", doc=docs.get("at_once")),
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
    runs: pl.DataFrame, whole: pl.DataFrame, names: Sequence[str], chosen: str
) -> list[str]:
    if not runs.height:
        return [f"The dataset holds no jobs{chosen} that ended then."]
    ended, failed = runs["state"].is_in(ENDED).sum(), int(whole["jobs"].sum())
    if not ended:
        return [f"Of no job{chosen} it is known how it ended."]
    if not failed:
        return [f"None of {count_in_words(ended, 'run')}{chosen} that ended failed."]
    counted = whole.filter(pl.col("jobs") > 0).select("reason", "jobs")
    listed = ", ".join(f"{jobs:,} {reason}" for reason, jobs in counted.iter_rows())
    said = f"{failed:,} of {count_in_words(ended, 'run')}{chosen} that ended failed"
    said += f" ({share_in_words(failed / ended)}): {listed}"
    lost = known_sum(whole["cpu_hours"])
    if lost is not None:
        said += f"; failed runs were given {hours_in_words(lost)} CPU hours"
    return [f"{said}.", *_patterns(runs, names)]


def _patterns(runs: pl.DataFrame, names: Sequence[str]) -> Iterator[str]:
    """``9 of 10 runs of account maths with exit code 1 were on n7, which ran 20 % of all.``"""
    groups = by_reason(runs.lazy(), names).collect()
    if "node" in names:
        return
    nodes = by_reason(runs.lazy(), ["node"]).select("node", "ended_jobs").unique().collect()
    ended_on = dict(nodes.iter_rows())
    all_ended = runs["state"].is_in(ENDED).sum()
    for row in groups.iter_rows(named=True):
        known, most = row["node_known_jobs"], row["top_node_jobs"]
        ended = ended_on.get(row["top_node"])
        if ended is None or known < _ENOUGH or most < _PATTERN * known:
            continue
        ran = ended / all_ended
        # where all runs are on one node, that says nothing of it
        if ran < _PATTERN / 2:
            whose = ", ".join(f"{name} {row[name]}" for name in names if row[name] is not None)
            yield (
                f"{most:,} of {known:,} runs of {whose or 'an unknown group'} that failed by "
                f"{row['reason']} were on {row['top_node']}, which ran {share_in_words(ran)} of "
                "all."
            )


def _notes(runs: pl.DataFrame, jobs: pl.LazyFrame, zone: str, top: int) -> Notes:
    unknown = runs["state"].null_count()
    items = [
        "Failed are runs that ended with an exit code or a signal, lacked memory, reached their "
        "time limit or deadline, or lost their node; cancelled, preempted and requeued ones are "
        "not among them.",
        "The reason is what Slurm ended a run for, else the signal or the exit code of the step "
        "that failed first: a batch script ends with 1 whatever happened in it. Exit code 137 "
        "(SIGKILL) is what a shell makes of signal 9.",
    ]
    if (runs["reason"] == "time limit").any():
        items.append("A run that reached its time limit did not fail in a step: it was stopped.")
    if unknown:
        items.append(f"Of {unknown:,} of {runs.height:,} runs it is not known how they ended.")
    items.append("In the table by node a run counts at each of its nodes.")
    if top:
        items.append(f"A table has {top} rows at most: top=0 lists all.")
    return Notes("definitions", [*items, *missing(jobs), zone], title="Definitions")
