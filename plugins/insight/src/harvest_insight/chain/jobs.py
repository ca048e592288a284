"""Links from batch jobs to the Dask runs, and programs with Darshan logs, that ran in them."""

from collections.abc import Iterator
from typing import Final

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import directory_of
from harvest_toolkit.hosts import expanded, same_host, short

from .links import CERTAIN, LIKELY, links, rows
from .runs import Runs

JOB_VARIABLES: Final = ("SLURM_JOB_ID", "SLURM_JOBID", "PBS_JOBID")
"""Environment variables in which a batch system passes its id to a job."""

JOBS: Final = ("slurm.job", "pbs.job")
"""Record types of jobs, which share the names of their columns."""

JOB_OUTPUT: Final = (
    r"(?:^|/)(?:(\d+)\.[^/]*\.(?:OU|ER)|[^/]*\.[oe](\d+)|slurm-(\d+)(?:(?:_\D|[^_\d/])[^/]*)?)$"
)
"""Pattern for names of a job's output files: PBS's ``1873179.host.OU`` and ``name.o1873179``,
Slurm's ``slurm-1873179.out``. One of its groups is the job's id. The number in an array task's
``slurm-1873179_4.out`` is that of the array, which is the id of another task."""

_SLACK: Final = pl.duration(minutes=5)
"""Maximum difference between the clocks of a job and of the programs that ran in it."""


def jobs_of_runs(dataset: DatasetReader, runs: Runs) -> Iterator[pl.LazyFrame]:
    """Yield the links ``job to run``.

    A run belongs to the job whose id it recorded: in a process's environment, in the name of the
    job's output file, or in a Darshan log within the run. A run without a job's id belongs to the
    job that had its hosts at its time.
    """
    known = _job_ids(dataset, runs)
    jobs = _jobs(dataset)
    by_id = _fitting(known.lazy(), jobs).join(runs.frame.lazy(), on="run", how="left")
    timeless = pl.any_horizontal(pl.col("start_time", "first_time").is_null())
    by_id = by_id.filter(timeless | _at_once())
    named = known.lazy().join(by_id.drop("how"), on=["run", "job_id"], how="left")
    several = pl.len().over("run", "job_id").cast(pl.Int64)
    yield links(
        named.with_columns(candidates=several).sort("run", "job_id", "cluster"),
        "job to run",
        how=pl.col("how"),
        sure=CERTAIN,
        found=pl.col("start_time").is_not_null(),
    )
    nameless = runs.frame.join(known, on="run", how="anti")
    if nameless.height and any(record_type in dataset for record_type in JOBS):
        yield _by_host_and_time(nameless, runs.hosts, jobs)


def jobs_of_logs(dataset: DatasetReader, placed: pl.DataFrame) -> Iterator[pl.LazyFrame]:
    """Yield the links ``job to log`` of Darshan logs outside Dask runs, by the job's id in the log.

    placed: logs (column log) within Dask runs, which a link ``job to run`` covers.
    """
    logs = (
        _logs(dataset)
        .rename({"start_time": "first_time", "end_time": "last_time"})
        .join(placed.lazy(), on="log", how="anti")
    )
    fits = _fitting(logs, _jobs(dataset)).filter(_at_once())
    named = logs.join(fits.select("log", "cluster", "start_time"), on="log", how="left")
    yield links(
        named.with_columns(candidates=pl.len().over("log").cast(pl.Int64)).sort("log", "cluster"),
        "job to log",
        how="job id in the log, and its time",
        sure=CERTAIN,
        found=pl.col("start_time").is_not_null(),
    )


def _jobs(dataset: DatasetReader) -> pl.LazyFrame:
    columns = ("cluster", "job_id_raw", "start_time", "end_time", "node_list")
    jobs = pl.concat(rows(dataset, record_type, *columns) for record_type in JOBS)
    # a run may have a row of its start and one of its end, from logs of two days
    keys = ("cluster", "job_id_raw", "start_time", "node_list")
    return jobs.group_by(keys).agg(pl.col("end_time").max()).rename({"job_id_raw": "job_id"})


def _logs(dataset: DatasetReader) -> pl.LazyFrame:
    """Return the Darshan logs with a job's id; without a batch system, this is the process id."""
    logs = rows(dataset, "darshan.job", "job_id", "pid", "start_time", "end_time", "origin")
    return logs.filter(pl.col("job_id") != pl.col("pid").fill_null(-1)).rename({"origin": "log"})


def _job_ids(dataset: DatasetReader, runs: Runs) -> pl.DataFrame:
    """Return run, job_id and how for ids found in runs, each pair once with the surest way."""
    variables = rows(dataset, "run.environment", "name", "value", "origin")
    found = [
        variables.filter(pl.col("name").is_in(JOB_VARIABLES)).select(
            run=directory_of(pl.col("origin")),
            job_id=pl.col("value").str.extract(r"^(\d{1,18})").cast(pl.Int64),
            how=pl.concat_str("name", pl.lit(" in a process's environment")),
        )
    ]
    for record_type in ("run.software", "run.directive", "run.config", "dask.log_event"):
        origins = rows(dataset, record_type, "origin").unique()
        number = pl.col("origin").str.extract_groups(JOB_OUTPUT)
        known = pl.coalesce(number.struct.field(str(n)) for n in (1, 2, 3))
        found.append(
            origins.select(
                run=directory_of(pl.col("origin")),
                job_id=known.cast(pl.Int64, strict=False),
                how=pl.lit("number in the name of the job's output file"),
            )
        )
    found.append(
        _logs(dataset)
        .join(runs.logs.lazy(), on="log")
        .select("run", "job_id", how=pl.lit("job id in a Darshan log of the run"))
    )
    return (
        pl.concat(found)
        .drop_nulls()
        .filter(pl.col("run").is_in(runs.frame["run"].to_list()))
        .unique(["run", "job_id"], keep="first", maintain_order=True)
        .collect()
    )


def _fitting(left: pl.LazyFrame, jobs: pl.LazyFrame) -> pl.LazyFrame:
    """Join rows with jobs by job_id; a requeued job is one row, from its first to its last run."""
    whole = jobs.group_by("cluster", "job_id").agg(
        pl.col("start_time").min(),
        # a job with an unfinished run has no end; a row of a waiting job is no run
        end_time=pl.when(
            pl.col("end_time").filter(pl.col("start_time").is_not_null()).null_count() == 0
        ).then(pl.col("end_time").max()),
    )
    return left.join(whole, on="job_id")


def _at_once() -> pl.Expr:
    """Return whether a job overlaps with first_time to last_time; without an end, it still runs."""
    ends = pl.col("end_time").is_null() | (pl.col("first_time") <= pl.col("end_time") + _SLACK)
    begins = pl.coalesce("last_time", "first_time") >= pl.col("start_time") - _SLACK
    return ends & begins


def _by_host_and_time(runs: pl.DataFrame, hosts: pl.DataFrame, jobs: pl.LazyFrame) -> pl.LazyFrame:
    """Link runs to the jobs that had all known hosts of the run at its time."""
    timed = runs.drop_nulls("first_time")
    near = (
        jobs.drop_nulls(["start_time", "node_list"])
        .join(timed.lazy(), how="cross")
        .filter(_at_once())
        .select("cluster", "job_id", "node_list", "run")
        .unique()
        .collect(engine="streaming")
    )
    theirs = hosts.with_columns(short=short(pl.col("host")))
    counted = theirs.drop_nulls("short").with_columns(wanted=pl.len().over("run"))
    fits = (
        near.with_columns(node=expanded(pl.col("node_list")))
        .explode("node")
        .with_columns(short=short(pl.col("node")))
        .join(counted, on=["run", "short"])
        .filter(same_host(pl.col("node"), pl.col("host")))
        .unique(["cluster", "job_id", "run", "host"])
        .group_by("cluster", "job_id", "run")
        .agg(shared=pl.len(), wanted=pl.col("wanted").first())
        .filter(pl.col("shared") == pl.col("wanted"))
        .with_columns(candidates=pl.len().over("run").cast(pl.Int64))
        .sort("run", "cluster", "job_id")
    )
    return links(fits.lazy(), "job to run", how="the run's hosts and time", sure=LIKELY)
