"""Links of Dask runs to their processes, of these to Darshan logs, and of logs to files."""

from collections.abc import Iterator
from typing import Final

import attrs
import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import directory_of, first_text, nearest_above
from harvest_toolkit.hosts import same_host, short

from .links import CERTAIN, LIKELY, POSSIBLE, links, rows, schema, typed

_SUMMARY: Final = ("run", "first_time", "last_time")
_TIES: Final = ("run", "worker", "address_host", "host", "pid", "log", "tied_by", "candidates")
_ENTRY: Final = ("path", "inode", "generation", "create_time", "scan_time")
_PROCESS: Final = ("address", "role", "host", "pid", "start_time", "last_time", "origin")


@attrs.frozen(eq=False)
class Runs:
    """The Dask runs of a dataset, as frames.

    frame: columns run, first_time, last_time. hosts: run, host. logs: log, run, for Darshan logs
    within a run's directory.
    ties: the view ``dask.workers_processes``. processes: ``dask.process`` with the column run.
    """

    frame: pl.DataFrame
    hosts: pl.DataFrame
    logs: pl.DataFrame
    ties: pl.DataFrame
    processes: pl.DataFrame


def runs_of(dataset: DatasetReader) -> Runs:
    """Collect the Dask runs of a dataset; the frames are empty if it has none."""
    if "dask.run_summary" in dataset.views():
        found = typed(dataset.view("dask.run_summary"), *_SUMMARY).collect()
        ties = typed(dataset.view("dask.workers_processes"), *_TIES).collect()
    else:
        found, ties = (pl.DataFrame(schema=schema(*names)) for names in (_SUMMARY, _TIES))
    processes = (
        rows(dataset, "dask.process", *_PROCESS)
        .with_columns(run=directory_of(pl.col("origin")))
        .collect()
    )
    nodes = rows(dataset, "run.node", "host", "origin")
    hosts = pl.concat(
        [
            nodes.select(run=directory_of(pl.col("origin")), host="host").collect(),
            processes.select("run", "host"),
            ties.select("run", host="address_host"),
        ]
    ).unique()
    jobs = rows(dataset, "darshan.job", "origin")
    above = nearest_above(directory_of(pl.col("origin")), found["run"])
    within = jobs.select(log="origin", run=above).drop_nulls().collect()
    return Runs(found, hosts.drop_nulls(), within, ties, processes)


def processes_and_logs(dataset: DatasetReader, runs: Runs) -> Iterator[pl.LazyFrame]:
    """Yield the links ``run to process``, ``process to log`` and ``run to log``.

    A captured process recorded its host and process id. Any other worker is linked to a process
    by the threads that ran its tasks (the view ``dask.workers_processes``). Logs within a run that
    belong to none of its known processes are linked to the run itself.
    """
    captured = runs.processes.select("run", "host", "pid", process="address").lazy()
    yield links(captured, "run to process", how="the process's own record", sure=CERTAIN)
    own = runs.processes.select("run", worker="address")
    others = runs.ties.join(own, on=["run", "worker"], how="anti").drop_nulls("pid")
    by = pl.col("tied_by")
    surer = first_text((by == "process id", CERTAIN), (by == "thread", LIKELY))
    sure = surer.fill_null(POSSIBLE)
    tied = others.rename({"worker": "process"}).lazy()
    how = pl.concat_str(pl.lit("tied by "), "tied_by")
    for frame, link in (
        (tied.unique(["run", "process", "host", "pid"], maintain_order=True), "run to process"),
        (tied.drop_nulls("log"), "process to log"),
    ):
        yield links(frame, link, how=how, sure=sure)
    by_id = _logs_of_processes(dataset, runs)
    yield links(by_id.lazy(), "process to log", how="host, process id and time", sure=CERTAIN)
    known = pl.concat([tied.select("log").collect(), by_id.select("log")]).drop_nulls()
    yield links(
        runs.logs.join(known, on="log", how="anti").sort("run", "log").lazy(),
        "run to log",
        how="the log is in the run's directory",
        sure=CERTAIN,
    )


def _logs_of_processes(dataset: DatasetReader, runs: Runs) -> pl.DataFrame:
    """Find the logs of captured processes: same host and process id, at the same time."""
    logs = (
        rows(dataset, "darshan.job", "hostname", "pid", "start_time", "end_time", "origin")
        .rename({"origin": "log", "start_time": "began", "end_time": "ended"})
        .with_columns(short=short(pl.col("hostname")))
    )
    processes = runs.processes.lazy().with_columns(short=short(pl.col("host")))
    at_once = (pl.col("began") <= pl.col("last_time")) & (
        pl.col("ended").is_null() | (pl.col("ended") >= pl.col("start_time"))
    )
    return (
        processes.join(logs, on=["short", "pid"])
        .filter(at_once, same_host(pl.col("host"), pl.col("hostname")))
        .select("run", "host", "pid", "log", process="address")
        .sort("run", "process", "log")
        .collect()
    )


def files_of_logs(dataset: DatasetReader) -> Iterator[pl.LazyFrame]:
    """Yield the links ``log to file``, from the file names that a log records."""
    files = rows(dataset, "darshan.file", "record_id", "path", "origin")
    files = files.rename({"origin": "log"})
    yield links(files, "log to file", how="name record of the log", sure=CERTAIN)


def entries_of_files(dataset: DatasetReader) -> Iterator[pl.LazyFrame]:
    """Yield the links ``file to entry``: to the same path in each scan that lists it.

    An entry created after the end of the last log with this path may be another file of that
    name. The link is then possible, otherwise likely.
    """
    if "gpfs.file" not in dataset or "darshan.file" not in dataset:
        return
    ended = rows(dataset, "darshan.job", "end_time", "origin")
    used = (
        rows(dataset, "darshan.file", "path", "origin")
        .join(ended, on="origin", how="left")
        .group_by("path")
        .agg(pl.col("end_time").max())
    )
    entries = rows(dataset, "gpfs.file", *_ENTRY).join(used, on="path", maintain_order="left")
    made_since = pl.col("create_time") > pl.col("end_time")
    yield links(
        entries,
        "file to entry",
        how=pl.when(made_since)
        .then(pl.lit("same path; the entry was made after the last log of it"))
        .otherwise(pl.lit("same path")),
        sure=pl.when(made_since).then(pl.lit(POSSIBLE)).otherwise(pl.lit(LIKELY)),
    )
