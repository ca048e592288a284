"""The views ``run.chain``, all links across sources, and ``run.lineage``, which follows them."""

from collections.abc import Iterator

import polars as pl

from harvest import DatasetReader

from .jobs import jobs_of_logs, jobs_of_runs
from .links import SURE, links_together
from .microscope import scans_and_jobs
from .runs import entries_of_files, files_of_logs, processes_and_logs, runs_of


def chain(dataset: DatasetReader) -> pl.LazyFrame:
    """Build one row per link; ``harvest_insight.plugin`` documents the columns."""
    far = (files_of_logs, entries_of_files, scans_and_jobs)
    return links_together(*_near(dataset), *(each for of in far for each in of(dataset)))


def _near(dataset: DatasetReader) -> Iterator[pl.LazyFrame]:
    """Yield the links between jobs, runs, processes and logs."""
    runs = runs_of(dataset)
    yield from jobs_of_runs(dataset, runs)
    yield from processes_and_logs(dataset, runs)
    yield from jobs_of_logs(dataset, runs.logs)


def lineage(dataset: DatasetReader) -> pl.LazyFrame:
    """Build one row per file of a Darshan log, following the links of ``run.chain`` to its job.

    If several jobs or processes match a log, their columns are null. The links of ``run.chain``
    list the candidates.
    """
    near = links_together(*_near(dataset))
    links = near.filter(pl.col("candidates") == 1).collect()
    entries = (
        links_together(*entries_of_files(dataset))
        .sort("scan_time", nulls_last=False)
        .group_by("path")
        .last()
        .select("path", "inode", "generation", entry="sure")
    )
    return (
        links_together(*files_of_logs(dataset))
        .select("log", "record_id", "path")
        .join(_owners(links).lazy(), on="log", how="left", maintain_order="left")
        .join(entries, on="path", how="left", maintain_order="left")
        .select(
            *("cluster", "job_id", "run", "process", "host", "pid", "log", "record_id", "path"),
            *("inode", "generation"),
            sure=_least("of_log", "of_job", "entry"),
        )
    )


def _owners(links: pl.DataFrame) -> pl.DataFrame:
    """Return process, run and job of each log, and how sure the links to them are."""

    def kind(*names: str) -> pl.DataFrame:
        return links.filter(pl.col("link").is_in(names))

    logs = kind("process to log", "run to log").select(
        "log", "run", "process", "host", "pid", of_log="sure"
    )
    # several links of one log are records of the same process
    logs = logs.unique("log", keep="first", maintain_order=True)
    of_runs = kind("job to run").select("run", "cluster", "job_id", of_job="sure")
    once = of_runs.filter(pl.len().over("run") == 1)
    alone = kind("job to log").select("log", "cluster", "job_id", of_job="sure")
    within = logs.join(once, on="run", how="left")
    return pl.concat([within, alone.join(logs, on="log", how="anti")], how="diagonal")


def _least(*columns: str) -> pl.Expr:
    """Return the least sure of the links in some columns; null if all are null."""
    return pl.coalesce(
        pl.when(pl.any_horizontal(pl.col(name) == word for name in columns)).then(pl.lit(word))
        for word in reversed(SURE)
    )
