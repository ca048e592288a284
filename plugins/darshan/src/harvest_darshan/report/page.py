"""What stands on the page, in the order of reading."""

from __future__ import annotations

from functools import cache
from typing import Any

import polars as pl

from harvest import DatasetReader, UsageError
from harvest.toolkit.amounts import bytes_in_words, count_in_words, seconds_in_words, share_in_words
from harvest_report import LazySection, Report

from ..rules.words import job_name
from ..views.files import files as files_of
from ..views.grouping import OfLogs, logs_by_job, named_run
from ..views.jobs import jobs as jobs_of
from .over_time import heat_map
from .requests import order_table, sizes_sections, use_table
from .tables import (
    bandwidth_table,
    files_table,
    gains_table,
    gaps_notes,
    jobs_table,
    layers_table,
    logs_table,
    reading_notes,
)
from .traced import traced_plots

SHOWN = 12
"""Values of a fact that are shown."""


def io_report(
    dataset: DatasetReader,
    run: str | None = None,
    job: int | None = None,
    top: int = 20,
    by: str = "time",
) -> Report:
    """The report over the logs of a dataset, of a run, or of a job.

    run: the directory of the logs, or the directory's name; job: a job's number in ``io.jobs``.
    top: how many files, jobs and logs are listed; by: what files are sorted by, time or bytes.

    Raises UsageError where nothing is left, or for a setting that is none of these.
    """
    logs = logs_by_job(dataset, named_run(dataset, run, job), job)
    if logs.is_empty():
        raise UsageError(
            "the dataset holds no log of Darshan", remedy="harvest some with the source 'darshan'"
        )
    chosen = OfLogs.among(dataset, logs)
    jobs = (
        jobs_of(chosen)
        .collect()
        .sort("io_s", descending=True, nulls_last=True, maintain_order=True)
    )
    per_log = jobs_of(chosen, per="log").collect() if logs.height > 1 else jobs
    files = cache(lambda: files_of(chosen).collect())
    shown = jobs.row(0, named=True)
    same = (pl.col("run") == shown["run"]) & (pl.col("job") == _number(shown))
    of_job = logs.filter(same & (pl.col("began") == shown["began"]))
    narrow = OfLogs.among(dataset, of_job)
    which = "" if jobs.height == 1 else f" of {job_name(shown)}"
    sections = [
        LazySection("gains", lambda: gains_table(chosen, top)),
        LazySection("layers", lambda: layers_table(chosen, logs, jobs)),
        *([jobs_table(jobs, top)] if jobs.height > 1 else []),
        LazySection("bandwidth", lambda: bandwidth_table(chosen, jobs, top)),
        LazySection("files", lambda: files_table(files(), top, by)),
        LazySection("use", lambda: use_table(files())),
        LazySection("sizes", lambda: sizes_sections(chosen)),
        LazySection("operations", lambda: order_table(chosen)),
        LazySection("heat-map", lambda: heat_map(narrow, of_job, which)),
        LazySection("traced", lambda: traced_plots(narrow, of_job, which)),
        *([logs_table(per_log, top)] if per_log.height > 1 else []),
        gaps_notes(per_log, int(logs["copies"].sum())),
        reading_notes(),
    ]
    return Report(_title(jobs), intro=_intro(jobs), sections=sections, facts=_facts(logs))


def _title(jobs: pl.DataFrame) -> str:
    first = jobs.row(0, named=True)
    if jobs.height > 1:
        return f"I/O of {jobs.height:,} jobs"
    return f"I/O of {job_name(first)}"


def _number(job: dict[str, Any]) -> int:
    """By what the setting job chooses it."""
    return int(job["pid"] if job["job"] is None else job["job"])


def _facts(logs: pl.DataFrame) -> tuple[tuple[str, str], ...]:
    """What the job records say; of several values the first few."""
    library = pl.col("metadata").list.eval(
        pl.element().struct.field("value").filter(pl.element().struct.field("key") == "lib_ver")
    )
    known = {
        "Command": pl.col("exe").drop_nulls(),
        "User": pl.col("uid").cast(pl.String),
        "Hosts": pl.col("hostname").drop_nulls(),
        "Darshan": library.list.first().drop_nulls(),
        "Log format": pl.col("log_version"),
        "Modules": pl.col("modules").explode().drop_nulls(),
    }
    facts = []
    for name, values in known.items():
        found = logs.select(values.unique().sort())[:, 0].to_list()
        if found:
            more = f" and {len(found) - SHOWN:,} more" if len(found) > SHOWN else ""
            facts.append((name, ", ".join(found[:SHOWN]) + more))
    return tuple(facts)


def _intro(jobs: pl.DataFrame) -> list[str]:
    logs, processes = int(jobs["logs"].sum()), int(jobs["processes"].sum())
    (first,) = jobs.select(pl.col("began").min().dt.strftime("%Y-%m-%d %H:%M:%S"))["began"]
    many = f"{count_in_words(jobs.height, 'job')}: " if jobs.height > 1 else ""
    wall = jobs["wall_s"][0] if jobs.height == 1 else None
    ran = "" if wall is None else f", {seconds_in_words(wall)} long"
    pictures = (
        f"Pictures over time show {job_name(jobs.row(0, named=True))}, which spends most time in "
        "I/O; --set job=NUMBER shows another, by its job or pid."
    )
    return [
        f"{many}{count_in_words(processes, 'process', 'processes')} in "
        f"{count_in_words(logs, 'log')}, from {first} UTC{ran}.",
        f"They {_moved(jobs)}. {_spent(jobs)}.",
        *([pictures] if jobs.height > 1 else []),
    ]


def _moved(jobs: pl.DataFrame) -> str:
    """``moved at least 107 GB``: what the logs of all jobs count, or those of some."""
    known = jobs.drop_nulls("bytes")
    if known.is_empty() and any("too_large" in words for words in jobs["certainty"].to_list()):
        return "moved, by their logs, more bytes than a number of 64 bits holds"
    if known.is_empty():
        return "moved what no module counts whose records are there"
    moved = bytes_in_words(sum(known["bytes"].to_list()))
    return f"moved {_least(known, jobs)}{moved}{_part(known, jobs)}"


def _spent(jobs: pl.DataFrame) -> str:
    """How long they were in I/O, and what part of their time that is, of those that have both."""
    known = jobs.drop_nulls("io_s")
    if known.is_empty():
        return "How long they were in I/O is not known"
    least = _least(known, jobs).capitalize()
    seconds = seconds_in_words(float(known["io_s"].sum()))
    text = f"{least}{seconds}{_part(known, jobs)} went into I/O, all processes and threads together"
    whole = known.drop_nulls("process_s")
    ran = float(whole["process_s"].sum())
    if ran:
        share = share_in_words(float(whole["io_s"].sum()) / ran)
        text += f", {share} of the time they ran{_part(whole, known)}"
    if any("coarse_clock" in words for words in jobs["certainty"].to_list()):
        text += " (by clocks of whole seconds: shares may be off)"
    return text


def _least(known: pl.DataFrame, jobs: pl.DataFrame) -> str:
    """``at least``, where the sum of some jobs does not have all of them or of theirs."""
    is_part = any("lower_bound" in words for words in known["certainty"].to_list())
    return "at least " if is_part or known.height < jobs.height else ""


def _part(some: pl.DataFrame, of: pl.DataFrame) -> str:
    """`` (of 41 of 42 jobs)``, where it is not of all."""
    return f" (of {some.height:,} of {of.height:,} jobs)" if some.height < of.height else ""
