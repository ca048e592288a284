"""Assign logs to jobs, and narrow a dataset to some logs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import attrs
import polars as pl

from harvest import Column, DatasetReader, UsageError
from harvest.model.frames import types_of
from harvest_toolkit.choices import choices, named_directory
from harvest_toolkit.frames import deferred, kept, safe_sum

from .layers import BASE, LAYERS, ORIGIN, held_layers, run_of

KEY = ("run", "job", "began", "log")
"""The key of a job or a log: ``log`` is null if all logs of a job count together."""

COARSE_S = 100.0
"""Run time of a log in seconds, below which one second is over 1 % of it."""

EXACT = "3.41"
"""The first log version whose times have fractions of seconds."""

UNFINISHED = pl.col("end_time").is_null() | ORIGIN.str.ends_with("_partial")
"""Whether Darshan did not finish a log: it has no end, or is named ``*_partial``."""

_MOST_FIRST = pl.col("exe").sort_by(
    "moved", "start_time", "origin", descending=[True, False, False], nulls_last=True
)
EXE_OF_JOB = _MOST_FIRST.drop_nulls().first()
"""The command line of the log that moved most bytes, or of the first of several: the program's, as
a launcher, for example mpiexec, moves few bytes or none."""

RowsOfLogs: TypeAlias = Callable[[DatasetReader, pl.DataFrame], pl.DataFrame]
"""Builds the rows of a view from a dataset and its logs, from ``logs_by_job``."""


def named_run(dataset: DatasetReader, run: str | None, job: int | None = None) -> str | None:
    """Return the directory of a run that a user names by it or its last part; None without ``run``.

    Raises UsageError if no run or several match, or if the dataset has no such job.
    """
    if run is not None:
        directories = dataset["darshan.job"].select(run=run_of()).unique()
        run = named_directory(directories.collect()["run"], run)
    if job is not None:
        known = logs_by_job(dataset, run)["job"].drop_nulls().unique().sort().to_list()
        if job not in known:
            within = "" if run is None else f" of run {run!r}"
            raise UsageError(
                f"the dataset holds no job {job}{within}",
                remedy=choices("choose one of", [str(number) for number in known]),
            )
    return run


def number_sessions(spans: pl.DataFrame, within: Sequence[str] = ("run", "uid")) -> pl.DataFrame:
    """Sort logs and number the sessions within each run and user.

    A session is a set of logs whose times (from_us to to_us) overlap, directly or through others.
    within: columns whose values the logs of a session share.
    """
    before = pl.col("to_us").cum_max().shift(1).over(within)
    return (
        spans.sort(*within, "from_us", "origin", nulls_last=True)
        .with_columns(apart=(pl.col("from_us") > before).fill_null(value=False))
        .with_columns(session=pl.col("apart").cum_sum().over(within))
        .drop("apart")
    )


def logs_by_job(
    dataset: DatasetReader, run: str | None = None, job: int | None = None, *, per_log: bool = False
) -> pl.DataFrame:
    """Return a row per log: its job record, and the job that it belongs to.

    A job is the logs of one directory, user and job id. Without a scheduler, Darshan uses the
    process id, which differs from log to log; then a job is the logs of one session. Of copied
    logs, only the first has a row.

    per_log: set ``log``, so that each log is a group of its own.

    Columns: run, job (job id of the first log; without a scheduler, its process id), scheduled
    (whether a scheduler gave the id), began (start of the first log), log, copies, moved (bytes
    that the log counts, if its job has several logs), and origin, uid, pid, exe, nprocs, hostname,
    start_time, end_time, run_time_s (null if a log ends before it begins, because its clock was
    set back), from_us and to_us (start and end in microseconds), log_version, metadata, modules,
    partial_modules, unread_modules, and unfinished.
    """
    spans = (
        _jobs(dataset, run)
        .select(
            *("origin", "uid", "job_id", "pid", "exe", "nprocs", "hostname"),
            *("start_time", "end_time", "log_version", "metadata"),
            *("modules", "partial_modules", "unread_modules", "sha256"),
            unfinished=UNFINISHED,
            run=run_of(),
            run_time_s=pl.when(pl.col("run_time_s") >= 0).then("run_time_s"),
            from_us=pl.col("start_time").dt.epoch("us"),
            to_us=pl.max_horizontal("start_time", "end_time").dt.epoch("us"),
        )
        .collect()
        .pipe(_without_copies)
    )
    unscheduled = pl.col("job_id").eq_missing(pl.col("pid"))
    one = ["run", "uid", unscheduled, pl.when(unscheduled).then("session").otherwise("job_id")]
    found = (
        number_sessions(spans)
        .with_columns(
            scheduled=~unscheduled,
            job=pl.col("job_id").sort_by("from_us", "origin").first().over(one),
            began=pl.col("start_time").min().over(one),
            log=ORIGIN if per_log else pl.lit(None, pl.String),
        )
        .drop("job_id", "session")
    )
    return _with_moved(dataset, found if job is None else found.filter(pl.col("job") == job))


def _with_moved(dataset: DatasetReader, logs: pl.DataFrame) -> pl.DataFrame:
    """Add ``moved``: the bytes of a log in all base layers, if its job has several logs."""
    several = logs.filter(pl.len().over(KEY) > 1).select("origin")
    if several.is_empty():
        return logs.with_columns(moved=pl.lit(None, pl.Int64))
    counted = [
        dataset[layer.record_type]
        .select("origin", moved=layer.moved("read") + layer.moved("write"))
        .join(several.lazy(), on="origin", how="semi")
        for layer in (LAYERS[name] for name in BASE)
    ]
    sums = pl.concat(counted).group_by("origin").agg(safe_sum("moved"))
    found = sums.collect(engine="streaming")
    return logs.join(found, on="origin", how="left", maintain_order="left")


def _without_copies(logs: pl.DataFrame) -> pl.DataFrame:
    """Keep the first of logs with the same bytes, with its number of ``copies``."""
    known = pl.col("sha256").is_not_null()
    same = pl.when(known).then("sha256").otherwise(ORIGIN)
    return (
        logs.sort(ORIGIN)
        .with_columns(copies=pl.when(known).then((pl.len() - 1).over(same)))
        .filter(pl.int_range(pl.len()).over(same) == 0)
        .drop("sha256")
    )


def _jobs(dataset: DatasetReader, run: str | None) -> pl.LazyFrame:
    jobs = dataset["darshan.job"]
    return jobs if run is None else jobs.filter(run_of() == run)


def once(dataset: DatasetReader, run: str | None) -> DatasetReader:
    """Narrow a dataset to the logs of a run that are not copies of others."""
    logs = _jobs(dataset, run).select("origin", "sha256").collect()
    kept = _without_copies(logs)
    whole = run is None and kept.height == logs.height
    return dataset if whole else OfLogs.among(dataset, kept)


def layer_states(dataset: DatasetReader, logs: pl.DataFrame) -> pl.DataFrame:
    """Return which layers the logs of each job have: a row per :data:`KEY`.

    Columns: per layer, ``uses_...`` (a log has its module) and ``knows_...`` (each log with the
    module has records of it); ``has_counters`` (a log has a layer) and ``summed`` (all layers
    that are needed to count each byte once are known).
    """
    states: dict[str, pl.Expr] = {}
    for name, layer in LAYERS.items():
        given = dataset[layer.record_type].select(ORIGIN).unique()
        records = ORIGIN.is_in(given.collect()["origin"].to_list())
        listed = pl.col("modules").list.contains(layer.module)
        states |= {f"uses_{name}": listed | records, f"knows_{name}": ~listed | records}
    held = logs.select(*KEY, "modules", **states)
    below = pl.any_horizontal(f"uses_{name}" for name in BASE)
    needed = [pl.col(f"knows_{name}") | (pl.lit(name not in BASE) & below) for name in LAYERS]
    return held.group_by(KEY).agg(
        *(pl.col(f"uses_{name}").any() for name in LAYERS),
        *(pl.col(f"knows_{name}").all() for name in LAYERS),
        summed=pl.all_horizontal(*needed).all(),
        has_counters=pl.any_horizontal(f"uses_{name}" for name in LAYERS).any(),
    )


def certainty(dataset: DatasetReader, logs: pl.DataFrame, *modules: str) -> pl.DataFrame:
    """Return the ``certainty`` of each job's numbers (by :data:`KEY`), and ``impossible``.

    The numbers are lower bounds if a module was cut off or not read, a log was not finished, a
    time is below 0, or an impossible value is left out. ``impossible`` names these counters.

    modules: modules that the numbers come from; by default all but traces (DXT).
    """
    of_modules = pl.lit(not modules) | pl.col("module").is_in(modules)
    layers = (one.impossible(dataset[one.record_type]) for one in held_layers(dataset).values())
    impossible = kept(dataset, "darshan.impossible", lambda: pl.concat(layers).collect())
    wrong = impossible.filter(of_modules).group_by(name="origin").agg("counter")
    cut = pl.concat_list("partial_modules", "unread_modules").list.eval(
        pl.element().filter(
            pl.element().is_in(modules) if modules else ~pl.element().str.starts_with("DXT")
        )
    )
    coarse = (pl.col("log_version") < EXACT) & (pl.col("run_time_s") < COARSE_S)
    counters = pl.col("counter").explode().drop_nulls().unique().sort()
    sure = (
        logs.with_columns(name=ORIGIN)
        .join(wrong, on="name", how="left")
        .group_by(KEY)
        .agg(
            impossible=counters.filter(counters != "below_zero").str.join(", ").replace("", None),
            lower_bound=((cut.list.len() > 0) | pl.col("counter").is_not_null()).any()
            | pl.col("unfinished").any(),
            coarse_clock=coarse.fill_null(value=False).any(),
            one_process=pl.col("nprocs").sum() == 1,
        )
        .with_columns(impossible_value=pl.col("impossible").is_not_null())
    )
    words = ("lower_bound", "impossible_value", "coarse_clock", "one_process")
    said = pl.concat_list(pl.when(word).then(pl.lit(word)) for word in words).list.drop_nulls()
    return sure.select(*KEY, "impossible", certainty=said)


def view_of_jobs(columns: Sequence[Column]) -> Callable[[RowsOfLogs], Callable[..., pl.LazyFrame]]:
    """Return a decorator that makes a view from a function that builds the rows of some logs.

    The view has the settings ``run``, ``job`` and ``per`` (job or log). It sorts the rows by job;
    rows of one job keep their order. ``job`` is null without a scheduler; then ``pid``, if the
    rows have none yet, is the process id.
    """

    def made(rows_of: RowsOfLogs) -> Callable[..., pl.LazyFrame]:
        def view(
            dataset: DatasetReader,
            *,
            run: str | None = None,
            job: int | None = None,
            per: str = "job",
        ) -> pl.LazyFrame:
            wanted = named_run(dataset, run, job)

            def compute() -> pl.DataFrame:
                rows = rows_of(dataset, logs_by_job(dataset, wanted, job, per_log=per == "log"))
                given = pl.when("scheduled")
                pid = "pid" if "pid" in rows.columns else given.then(None).otherwise("job")
                return rows.sort(
                    "run", "began", "job", "log", nulls_last=True, maintain_order=True
                ).with_columns(given.then("job").alias("job"), pid=pid)

            # a report, its findings and its gains need the same rows of all logs
            shared = partial(kept, dataset, ("darshan.view", rows_of, per), compute, most=10_000)
            return deferred(shared if (wanted, job) == (None, None) else compute, types_of(columns))

        view.__doc__ = rows_of.__doc__
        return view

    return made


def joined(rows: pl.DataFrame, *parts: pl.DataFrame) -> pl.DataFrame:
    """Add the columns of other frames on the same jobs (:data:`KEY`)."""
    for part in parts:
        rows = rows.join(part, on=KEY, how="left", nulls_equal=True, maintain_order="left")
    return rows


def known(sums: pl.DataFrame, states: pl.DataFrame, layer: str) -> pl.DataFrame:
    """Keep the sums of jobs of which each log with a layer has records of it.

    states: from ``layer_states``.
    """
    jobs = states.filter(f"knows_{layer}").select(KEY)
    return sums.join(jobs, on=KEY, how="semi", nulls_equal=True)


def program_of(exe: pl.Expr) -> pl.Expr:
    """Extract the name of the program from a command line."""
    return exe.str.extract(r"^(?:\S*/)?(\S+)")


@attrs.frozen
class OfLogs:
    """A dataset with the Darshan records of only some logs, and all records of other sources."""

    dataset: DatasetReader
    origins: tuple[str, ...]

    @classmethod
    def among(cls, dataset: DatasetReader, logs: pl.DataFrame) -> OfLogs:
        """Narrow a dataset to the logs in the column ``origin`` of a frame."""
        return cls(dataset, tuple(logs["origin"].cast(pl.String)))

    def __contains__(self, name: object) -> bool:
        return name in self.dataset

    def __getitem__(self, name: str) -> pl.LazyFrame:
        frame = self.dataset[name]
        return frame.filter(ORIGIN.is_in(self.origins)) if name.startswith("darshan.") else frame

    def view(self, name: str, /, **settings: Any) -> pl.LazyFrame:
        """Return a view of the whole dataset."""
        return self.dataset.view(name, **settings)

    def views(self) -> list[str]:
        """As in the whole dataset."""
        return self.dataset.views()

    def harvested_with(self, source: str, setting: str) -> list[Any]:
        """As in the whole dataset."""
        return self.dataset.harvested_with(source, setting)

    @property
    def notes(self) -> list[str]:
        """As in the whole dataset."""
        return self.dataset.notes
