"""Build the report ``darshan.io``: its key numbers and its sections."""

from functools import cache

import polars as pl

from harvest import DatasetReader, UsageError
from harvest.toolkit.amounts import bytes_in_words, count_in_words, seconds_in_words, share_in_words
from harvest_report import LazySection, Report, Section, Tile

from ..rules.words import job_name
from ..views.files import files as files_of
from ..views.gains import gains as gains_of
from ..views.grouping import OfLogs, logs_by_job, named_run
from ..views.jobs import jobs as jobs_of
from . import tables
from .over_time import heat_map
from .requests import order_table, sizes_sections, use_table
from .traced import traced_plots

SHOWN = 12
"""Maximum number of values that a fact shows."""

_CHOSEN = "which spends the most time in I/O. Use --set job=NUMBER for another, by its job or pid."


def io_report(
    dataset: DatasetReader,
    run: str | None = None,
    job: int | None = None,
    top: int = 20,
    by: str = "time",
) -> Report:
    """Build the report on the logs of a dataset, a run, or a job.

    run: directory of the logs, or its name. job: job or pid of a job in ``io.jobs``.
    top: number of files, jobs and logs that are listed. by: order of files, time or bytes.

    Raises UsageError if no log matches.
    """
    logs = logs_by_job(dataset, named_run(dataset, run, job), job)
    if logs.is_empty():
        raise UsageError(
            "the dataset has no Darshan log", remedy="harvest logs with the source 'darshan'"
        )
    chosen = OfLogs.among(dataset, logs)
    jobs = jobs_of(dataset, run=run, job=job).collect()
    jobs = jobs.sort("io_s", descending=True, nulls_last=True, maintain_order=True)
    per_log = jobs_of(dataset, run=run, job=job, per="log").collect() if logs.height > 1 else jobs
    files = cache(lambda: files_of(chosen).collect())
    gains = cache(lambda: gains_of(dataset, run=run, job=job).collect())
    shown = jobs.row(0, named=True)
    number = shown["pid"] if shown["job"] is None else shown["job"]
    of_job = logs.filter(run=shown["run"], job=number, began=shown["began"])
    narrow = OfLogs.among(dataset, of_job)
    several, name = jobs.height > 1, job_name(shown)
    which = f" of {name}" if several else ""
    sections: list[Section | LazySection] = [
        LazySection("gains", lambda: tables.gains_table(gains(), top)),
        LazySection("layers", lambda: tables.layers_table(chosen, logs, jobs)),
        *([tables.jobs_table(jobs, top)] if several else []),
        LazySection("bandwidth", lambda: tables.bandwidth_table(chosen, jobs, top)),
        LazySection("files", lambda: tables.files_table(files(), top, by)),
        LazySection("use", lambda: use_table(files())),
        LazySection("sizes", lambda: sizes_sections(chosen)),
        LazySection("operations", lambda: order_table(chosen)),
        LazySection("heat-map", lambda: heat_map(narrow, of_job, which)),
        LazySection("traced", lambda: traced_plots(narrow, of_job, which)),
        *([tables.logs_table(per_log, top)] if per_log.height > 1 else []),
        tables.gaps_notes(per_log, int(logs["copies"].sum())),
        tables.READING_NOTES,
    ]
    return Report(
        f"I/O of {f'{jobs.height:,} jobs' if several else name}",
        intro=[f"Plots over time show {name}, {_CHOSEN}"] if several else [],
        sections=sections,
        facts=_facts(logs),
        tiles=lambda: _tiles(jobs, gains()),
        picture="cost" if several else "heat-map",
    )


def _facts(logs: pl.DataFrame) -> tuple[tuple[str, str], ...]:
    """Return facts from the job records, each with at most SHOWN values."""
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


def _tiles(jobs: pl.DataFrame, gains: pl.DataFrame) -> list[Tile]:
    processes = count_in_words(int(jobs["processes"].sum()), "process", "processes")
    logs = count_in_words(int(jobs["logs"].sum()), "log")
    counted = jobs.drop_nulls("bytes")
    whole = counted.height in (0, jobs.height)
    hours = gains["hours"].drop_nulls()
    gain = seconds_in_words(float(hours.sum()) * 3600) if len(hours) else "none found"
    return [
        *(_ran(jobs) if jobs.height == 1 else [Tile("jobs", f"{jobs.height:,}", processes)]),
        Tile("bytes moved", _moved(jobs), f"in {logs}" if whole else _part(counted, jobs)),
        _spent(jobs),
        Tile("possible gain", gain, "of process time, at most"),
    ]


def _ran(jobs: pl.DataFrame) -> list[Tile]:
    job = jobs.row(0, named=True)
    wall = "not recorded" if job["wall_s"] is None else seconds_in_words(job["wall_s"])
    began = f"from {job['began']:%Y-%m-%d %H:%M} UTC"
    return [Tile("wall time", wall, began), Tile("processes", f"{job['processes']:,}")]


def _moved(jobs: pl.DataFrame) -> str:
    """Format the bytes of all jobs that have them: ``at least 107 GiB``."""
    known = jobs["bytes"].drop_nulls().to_list()
    if not known and any("too_large" in words for words in jobs["certainty"].to_list()):
        return "too large"
    return f"{_least(jobs, 'bytes')}{bytes_in_words(sum(known))}" if known else "not recorded"


def _spent(jobs: pl.DataFrame) -> Tile:
    """Show the share of I/O in process time, of the jobs that have both."""
    known, whole = jobs.drop_nulls("io_s"), jobs.drop_nulls(["io_s", "process_s"])
    if known.is_empty():
        return Tile("time in I/O", "not recorded")
    spent = f"{_least(jobs, 'io_s')}{seconds_in_words(float(known['io_s'].sum()))}"
    ran = float(whole["process_s"].sum())
    if not ran:
        return Tile("time in I/O", spent, "in all processes")
    coarse = "coarse clock" if "coarse_clock" in jobs["certainty"].explode().to_list() else ""
    notes = ["of process time", f"{spent} in I/O", _part(whole, jobs), coarse]
    share = share_in_words(float(whole["io_s"].sum()) / ran)
    return Tile("time in I/O", share, ", ".join(filter(None, notes)))


def _least(jobs: pl.DataFrame, column: str) -> str:
    """Return ``at least`` if a sum lacks jobs, or a part of their data."""
    known = jobs.drop_nulls(column)
    is_part = any("lower_bound" in words for words in known["certainty"].to_list())
    return "at least " if is_part or known.height < jobs.height else ""


def _part(some: pl.DataFrame, of: pl.DataFrame) -> str:
    """Format ``41 of 42 jobs``; empty if these are all."""
    return f"{some.height:,} of {of.height:,} jobs" if some.height < of.height else ""
