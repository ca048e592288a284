"""Findings about jobs from the rows that each rule chooses.

A share is of the measured jobs alone. Unknown amounts are called unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from harvest import Finding
from harvest.toolkit.amounts import count_in_words, seconds_in_words, share_in_words
from harvest.toolkit.layout import shorten

from ..report.words import hours_in_words, known_sum

if TYPE_CHECKING:
    import polars as pl

    from harvest.findings import Severity

    from ..views.declared.common import Resource


def wasted(
    rows: pl.DataFrame, total: int, *, resource: Resource, unit: str,
    severities: tuple[Severity, Severity], share: float, much: float, hours: float,
) -> Iterator[Finding]:  # fmt: skip
    """Report users who left most of their allocation unused."""
    name, column = resource.name, resource.column("wasted")
    part = float(rows[f"{name}_wasted_share"].sum())
    measured_all = rows[f"{name}_unknown_jobs"].sum() == 0
    worst = rows.sort(column, "user", descending=[True, False]).row(0, named=True)
    whose = f"{worst['user']} ({worst['account']})" if worst["account"] else worst["user"]
    users = rows["user"].n_unique()
    who = shorten(worst["user"], 24, "id") if users == 1 else count_in_words(users, "user")
    amount = f"{hours_in_words(float(rows[column].sum()))} {unit}"
    yield Finding(
        severities[0] if part >= much else severities[1],
        f"{who} left {amount} unused" if name == "timelimit" else f"{who} wasted {amount}",
        f"This is {share_in_words(part)} of all {unit} with known use. {whose} has the "
        f"most: {hours_in_words(worst[column])} unused, {share_in_words(worst[f'{name}_eff'])} "
        f"used. The rule expects {share_in_words(share)}.",
        certainty=() if measured_all else ("part",),
    )


def ended_badly(
    rows: pl.DataFrame, total: int, *, record: str, words: str, hidden_without_repeats: bool,
    share: float, much: float, hours: float,
) -> Iterator[Finding]:  # fmt: skip
    """Report how many runs ended in a state, their CPU hours, and the user with the most of them.

    hidden_without_repeats: schedulers run these jobs again, and the accounting may have only the
        last run of a job.
    """
    runs, ended = rows["jobs"].sum(), rows["ended_jobs"][0]
    if not runs or runs < share * ended:
        return  # of a period in which no such run ended there are hours alone
    known, part = known_sum(rows["cpu_hours"]), None
    whole = rows["ended_cpu_hours"][0]
    took = "Their CPU hours are unknown"
    if known is not None and whole:
        part = known / whole
        took = f"They took {hours_in_words(known)} of the {hours_in_words(whole)} CPU hours of "
        took += f"ended runs ({share_in_words(part)})"
    user, users_runs = _most(rows, "user")
    count = count_in_words(users_runs, "run")
    whose = f"{user} has the most: {count}" if user else f"{record} does not record their users"
    reason, times = _most(rows.filter(rows["reason"] != "unknown"), "reason")
    main = f" The main reason is {reason}: {count_in_words(times, 'run')}."
    certainty = ["part"] if rows["cpu_unknown_jobs"].sum() else []
    if hidden_without_repeats and rows["run_again"].null_count() == rows.height:
        certainty.append("lower_bound")
    yield Finding(
        "high" if part is not None and part >= much and (known or 0) >= hours else "medium",
        f"{runs:,} of {count_in_words(ended, 'run')} {words} ({share_in_words(runs / ended)})",
        f"{took}. {whose}.{'' if reason is None or reason in words else main}",
        certainty=tuple(certainty),
    )


def run_again(rows: pl.DataFrame, total: int, *, share: float, much: float) -> Iterator[Finding]:
    """Report runs that were not the last of their job, by final state."""
    again, ended = rows["run_again"].sum(), rows["ended_jobs"][0]
    if again < share * ended:
        return
    causes = rows.select("state", "run_again").group_by("state").sum()
    causes = causes.sort("run_again", "state", descending=[True, False])
    listed = ", ".join(f"{state} {count:,}" for state, count in causes.iter_rows())
    yield Finding(
        "high" if again >= much * ended else "medium",
        f"{again:,} of {count_in_words(ended, 'run')} had to be repeated "
        f"({share_in_words(again / ended)})",
        f"By final state: {listed}.",
    )


def long_waits(
    rows: pl.DataFrame, total: int, *, ratio: float, seconds: float, jobs: float
) -> Iterator[Finding]:
    """Report partitions where jobs wait longer than they run."""
    worst = rows.sort("median_compared_wait_s", descending=True).row(0, named=True)
    where = f"partition {worst['partition']}"
    if worst["cluster"]:
        where += f" of cluster {worst['cluster']}"
    wait, run = worst["median_compared_wait_s"], worst["median_compared_run_s"]
    than = "" if ratio == 1 else f"{ratio:g} times "
    started, compared = rows["waited_jobs"].sum(), rows["compared_jobs"].sum()
    yield Finding(
        "high" if wait >= 10 * ratio * run else "medium",
        f"Partition {shorten(worst['partition'], 24, 'id')}: jobs wait {seconds_in_words(wait)} to "
        f"run {seconds_in_words(run)}",
        f"Medians of {count_in_words(worst['compared_jobs'], 'job')} in {where}. In "
        f"{rows.height:,} of {count_in_words(total, 'partition')}, jobs wait longer than {than}"
        "their run time.",
        certainty=() if compared == started else ("part",),
    )


def short_tasks(
    rows: pl.DataFrame, total: int, *, record: str, tasks: float, seconds: float, many: float
) -> Iterator[Finding]:
    """Report arrays of many very short tasks."""
    ended = rows["ended"].sum()
    worst = rows.sort("ended", descending=True).row(0, named=True)
    yield Finding(
        "medium" if ended >= many else "low",
        f"Array {worst['array_job_id']}: {count_in_words(worst['ended'], 'task')} run "
        f"{seconds_in_words(worst['median_run_s'])} each (median)",
        f"{_owner(worst, record)} In {rows.height:,} of {count_in_words(total, 'array')}, "
        f"{tasks:g} or more tasks have a median below {seconds_in_words(seconds)}: {ended:,} tasks "
        "in all.",
    )


def failed_arrays(
    rows: pl.DataFrame, total: int, *, record: str, tasks: float, share: float, many: float
) -> Iterator[Finding]:
    """Report arrays with a majority of failed tasks."""
    failed = rows["failed"].sum()
    worst = rows.sort("failed", descending=True).row(0, named=True)
    yield Finding(
        "high" if failed >= many else "medium",
        f"Array {worst['array_job_id']}: {worst['failed']:,} of "
        f"{count_in_words(worst['ended'], 'task')} failed",
        f"{_owner(worst, record)} In {rows.height:,} of {count_in_words(total, 'array')}, more "
        f"than {share_in_words(share)} of the tasks failed: {failed:,} tasks in all.",
    )


def idle_arrays(
    rows: pl.DataFrame, total: int, *, record: str, tasks: float, share: float, hours: float
) -> Iterator[Finding]:
    """Report arrays that use a small share of their CPUs: one wrong request, many times over."""
    worst = rows.sort("cpu_wasted_hours", descending=True).row(0, named=True)
    yield Finding(
        "medium",
        f"Array {worst['array_job_id']} wasted {hours_in_words(worst['cpu_wasted_hours'])} CPU "
        f"hours ({share_in_words(worst['cpu_eff'])} used)",
        f"{_owner(worst, record)} {rows.height:,} of {count_in_words(total, 'array')} used less "
        f"than {share_in_words(share)} of their CPUs and wasted "
        f"{hours_in_words(float(rows['cpu_wasted_hours'].sum()))} CPU hours.",
        certainty=("part",) if rows["cpu_unknown_jobs"].sum() else (),
    )


def _owner(row: dict[str, Any], record: str) -> str:
    return f"It belongs to {row['user']}." if row["user"] else f"{record} does not record its user."


def _most(rows: pl.DataFrame, column: str) -> tuple[Any, int]:
    """Return the most frequent known value of a column and its number of runs; None without any."""
    counted = rows.drop_nulls(column).select(column, "jobs").group_by(column).sum()
    if counted.is_empty():
        return None, 0
    value, runs = counted.sort("jobs", column, descending=[True, False]).row(0)
    return value, runs
