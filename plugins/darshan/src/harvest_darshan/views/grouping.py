"""Which logs make one job, and a dataset narrowed to the logs of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import polars as pl

from .frames import of_run, run_of

if TYPE_CHECKING:
    from harvest import DatasetReader

__all__ = ["KEY", "OfLogs", "logs_by_job", "number_sessions", "program_of"]

KEY = ("run", "job", "began", "log")
"""What names a job, or one log of it: ``log`` is null where all logs of a job count together."""


def number_sessions(spans: pl.DataFrame) -> pl.DataFrame:
    """Logs in order, each with the number of its session among those of its run and user.

    A session is what ran together: logs of one run and uid whose times (from_us to to_us)
    overlap, directly or through others.
    """
    one = ["run", "uid"]
    before = pl.col("to_us").cum_max().shift(1).over(one)
    return (
        spans.sort("run", "uid", "from_us", "origin", nulls_last=True)
        .with_columns(apart=(pl.col("from_us") > before).fill_null(value=False))
        .with_columns(session=pl.col("apart").cum_sum().over(one))
        .drop("apart")
    )


def logs_by_job(
    dataset: DatasetReader, run: str | None = None, job: int | None = None, *, per_log: bool = False
) -> pl.DataFrame:
    """A row per log: its job record, and the job that it belongs to.

    A job is the logs of one directory, user and job id.  Where no scheduler gave an id, Darshan
    takes the process id, which differs from log to log; then it is those of one session.

    per_log: name the log in ``log``, so that it is grouped alone.

    Columns: run, job (the job id of its first log), began (the start of that log), log, and
    origin, uid, exe, nprocs, hostname, start_time, end_time, run_time_s, log_version, metadata,
    modules, partial_modules, unread_modules.
    """
    spans = (
        of_run(dataset["darshan.job"], run)
        .select(
            *("origin", "uid", "job_id", "pid", "exe", "nprocs", "hostname"),
            *("start_time", "end_time", "run_time_s", "log_version", "metadata"),
            *("modules", "partial_modules", "unread_modules"),
            run=run_of(pl.col("origin")),
            from_us=pl.col("start_time").dt.epoch("us"),
            to_us=pl.max_horizontal("start_time", "end_time").dt.epoch("us"),
        )
        .collect()
    )
    unscheduled = pl.col("job_id").eq_missing(pl.col("pid"))
    one = ["run", "uid", "session", "scheduled"]
    found = (
        number_sessions(spans)
        .with_columns(
            scheduled=pl.when(~unscheduled).then("job_id"),
            session=pl.when(unscheduled).then("session"),
        )
        .with_columns(
            job=pl.col("job_id").sort_by("from_us", "origin").first().over(one),
            began=pl.col("start_time").min().over(one),
            log=pl.col("origin").cast(pl.String) if per_log else pl.lit(None, pl.String),
        )
        .drop("pid", "job_id", "from_us", "to_us", "session", "scheduled")
    )
    return found if job is None else found.filter(pl.col("job") == job)


def program_of(exe: pl.Expr) -> pl.Expr:
    """The name of the program in a command line."""
    return exe.str.extract(r"^(?:\S*/)?(\S+)")


@attrs.frozen
class OfLogs:
    """A dataset whose Darshan records are those of some logs alone."""

    dataset: DatasetReader
    origins: tuple[str, ...]

    def __contains__(self, name: object) -> bool:
        return name in self.dataset

    def __getitem__(self, name: str) -> pl.LazyFrame:
        frame = self.dataset[name]
        if not name.startswith("darshan."):
            return frame
        return frame.filter(pl.col("origin").cast(pl.String).is_in(self.origins))

    def view(self, name: str, /, **settings: Any) -> pl.LazyFrame:
        """A view of the whole dataset."""
        return self.dataset.view(name, **settings)

    def harvested_with(self, source: str, setting: str) -> list[Any]:
        """As the dataset says."""
        return self.dataset.harvested_with(source, setting)

    @property
    def notes(self) -> list[str]:
        """Those of the dataset."""
        return self.dataset.notes
