"""The logs of each job, and a dataset narrowed to the logs of one job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import attrs
import polars as pl

from harvest import Column, DatasetReader, UsageError
from harvest.model.frames import types_of
from harvest_toolkit.choices import choices, named_directory
from harvest_toolkit.deferred import deferred
from harvest_toolkit.frames import safe_sum
from harvest_toolkit.kept import kept

from .layers import BASE, LAYERS, ORIGIN, Layer, of_run, run_of

KEY = ("run", "job", "began", "log")
"""The key of a job or a log: ``log`` is null where all logs of a job count together."""

COARSE_S = 100.0
"""Seconds of a log below which one second is over 1 % of the run."""

EXACT = "3.41"
"""The first version of logs whose times have fractions of seconds."""

RowsOfLogs: TypeAlias = Callable[[DatasetReader, pl.DataFrame], pl.DataFrame]
"""Gives the rows of a view of some logs, which ``logs_by_job`` gave."""


def named_run(dataset: DatasetReader, run: str | None, job: int | None = None) -> str | None:
    """The directory of the run in a setting; None without one.

    Raises UsageError for a run that no log is of or several are named, or a job that is not there.
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
    """Logs in order, each with the number of its session among those of its run and user.

    A session is what ran together: logs of one run and uid, or of what ``within`` names, whose
    times (from_us to to_us) overlap, directly or through others.
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
    """A row per log: its job record, and the job that it belongs to.

    A job is the logs of one directory, user and job id.  Where no scheduler gave an id, Darshan
    takes the process id, which differs from log to log; then it is those of one session.

    per_log: name the log in ``log``, so that it is grouped alone.

    Of logs that are copies of each other, the first is taken, and the others are counted.

    Columns: run, job (the job id of its first log; where no scheduler gave one, a process id),
    scheduled (whether one did), began (the start of that log), log, copies, moved (bytes that the
    log counts, where its job has several), and origin, uid, exe, nprocs, hostname, start_time,
    end_time, run_time_s (null where a log ends before it begins, by a clock that was set back),
    log_version, metadata, modules, partial_modules, unread_modules, and unfinished (Darshan did not
    write the log's end, or did not give it its last name).
    """
    spans = (
        of_run(dataset["darshan.job"], run)
        .select(
            *("origin", "uid", "job_id", "pid", "exe", "nprocs", "hostname"),
            *("start_time", "end_time", "log_version", "metadata"),
            *("modules", "partial_modules", "unread_modules", "sha256"),
            unfinished(),
            run=run_of(),
            run_time_s=pl.when(pl.col("run_time_s") >= 0).then("run_time_s"),
            from_us=pl.col("start_time").dt.epoch("us"),
            to_us=pl.max_horizontal("start_time", "end_time").dt.epoch("us"),
        )
        .collect()
        .pipe(_without_copies)
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
            log=ORIGIN if per_log else pl.lit(None, pl.String),
        )
        .with_columns(scheduled=pl.col("scheduled").is_not_null())
        .drop("pid", "job_id", "from_us", "to_us", "session")
    )
    return _with_moved(dataset, found if job is None else found.filter(pl.col("job") == job))


def unfinished() -> pl.Expr:
    """Whether Darshan did not finish a log: it has no end, or the name of an unfinished one."""
    return (pl.col("end_time").is_null() | ORIGIN.str.ends_with("_partial")).alias("unfinished")


def _with_moved(dataset: DatasetReader, logs: pl.DataFrame) -> pl.DataFrame:
    """With ``moved``: the bytes that each log of several of a job counts, in all base layers."""
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
    """The first of logs with the same bytes, with how many ``copies`` of it there are."""
    known = pl.col("sha256").is_not_null()
    same = pl.when(known).then("sha256").otherwise(ORIGIN)
    return (
        logs.sort(ORIGIN)
        .with_columns(copies=pl.when(known).then((pl.len() - 1).over(same)))
        .filter(pl.int_range(pl.len()).over(same) == 0)
        .drop("sha256")
    )


def once(dataset: DatasetReader, run: str | None) -> DatasetReader:
    """A dataset, or a run of it, without the records of logs that are copies of others."""
    logs = of_run(dataset["darshan.job"], run).select("origin", "sha256").collect()
    kept = _without_copies(logs)
    return dataset if kept.height == logs.height else OfLogs.among(dataset, kept)


def layer_states(dataset: DatasetReader, logs: pl.DataFrame) -> pl.DataFrame:
    """Per job, what its logs have of each layer: a row per :data:`KEY`.

    Columns: per layer, ``uses_...`` (a log has its module) and ``knows_...`` (all logs that have
    it gave records); ``has_counters`` (a log has one of them) and ``summed`` (all are known
    that are needed to count each byte once).
    """
    held = logs.select(*KEY, "modules", name=ORIGIN)
    for name, layer in LAYERS.items():
        given = dataset[layer.record_type].select(ORIGIN).unique()
        records = pl.col("name").is_in(given.collect()["origin"].to_list())
        listed = pl.col("modules").list.contains(layer.module)
        held = held.with_columns(
            (listed | records).alias(f"uses_{name}"), (~listed | records).alias(f"knows_{name}")
        )
    below = pl.any_horizontal(f"uses_{name}" for name in BASE)
    needed = [pl.col(f"knows_{name}") | (pl.lit(name not in BASE) & below) for name in LAYERS]
    return held.group_by(KEY).agg(
        *(pl.col(f"uses_{name}").any() for name in LAYERS),
        *(pl.col(f"knows_{name}").all() for name in LAYERS),
        summed=pl.all_horizontal(*needed).all(),
        has_counters=pl.any_horizontal(f"uses_{name}" for name in LAYERS).any(),
    )


def _impossible(dataset: DatasetReader, layer: Layer) -> pl.DataFrame:
    key = ("darshan.impossible", layer.record_type)
    return kept(dataset, key, lambda: layer.impossible(dataset[layer.record_type]).collect())


def certainty(dataset: DatasetReader, logs: pl.DataFrame, *modules: str) -> pl.DataFrame:
    """Per job (:data:`KEY`), the ``certainty`` of its numbers.

    They are lower bounds where a module was cut off or could not be read, a log was not finished,
    a time is below 0, or a value cannot be, which is left out.

    modules: those that the numbers come from; all but traces (DXT) unless given.

    ``impossible`` names the counters that have such a value.
    """
    found = pl.concat(
        [
            pl.DataFrame(schema={"origin": pl.String, "counter": pl.String}),
            *(
                _impossible(dataset, layer)
                for layer in LAYERS.values()
                if not modules or layer.module in modules
            ),
        ]
    )
    wrong = found.group_by(name="origin").agg("counter")
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


def exe_of_job() -> pl.Expr:
    """The command line of the log that moved most bytes; of several the first.

    That is the program: what started it, as mpiexec, moves little or nothing.
    """
    order = ("moved", "start_time", "origin")
    known = pl.col("exe").is_not_null()
    by = [pl.col(name).filter(known) for name in order]
    most = pl.col("exe").filter(known).sort_by(by, descending=[True, False, False], nulls_last=True)
    return most.first()


def view_of_jobs(columns: Sequence[Column]) -> Callable[[RowsOfLogs], Callable[..., pl.LazyFrame]]:
    """Make a view of jobs, or of logs, of a function that gives its rows of some logs.

    The view takes ``run``, ``job`` and ``per`` (job or log).  It gives rows ``job``, null where no
    scheduler gave an id, and ``pid``, the process id, where they have none, and sorts them by job;
    those of a job stay in their order.
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

            return deferred(compute, types_of(columns))

        view.__doc__ = rows_of.__doc__
        return view

    return made


def joined(rows: pl.DataFrame, *parts: pl.DataFrame) -> pl.DataFrame:
    """Rows with the columns of others on the same jobs (:data:`KEY`)."""
    for part in parts:
        rows = rows.join(part, on=KEY, how="left", nulls_equal=True, maintain_order="left")
    return rows


def program_of(exe: pl.Expr) -> pl.Expr:
    """The name of the program in a command line."""
    return exe.str.extract(r"^(?:\S*/)?(\S+)")


@attrs.frozen
class OfLogs:
    """A dataset with the Darshan records of only some logs, and all other records."""

    dataset: DatasetReader
    origins: tuple[str, ...]

    @classmethod
    def among(cls, dataset: DatasetReader, logs: pl.DataFrame) -> OfLogs:
        """For the logs in the column ``origin`` of a frame."""
        return cls(dataset, tuple(logs["origin"].cast(pl.String)))

    def __contains__(self, name: object) -> bool:
        return name in self.dataset

    def __getitem__(self, name: str) -> pl.LazyFrame:
        frame = self.dataset[name]
        return frame.filter(ORIGIN.is_in(self.origins)) if name.startswith("darshan.") else frame

    def view(self, name: str, /, **settings: Any) -> pl.LazyFrame:
        """A view of the whole dataset."""
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
