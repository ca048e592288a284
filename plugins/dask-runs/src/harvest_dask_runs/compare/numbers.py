"""The measures by which runs are compared, and their values for a run.

They are of the whole run, its phases, graphs, kinds of tasks and workers.  All values come from the
views of Dask runs; a value that is null there is left out.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import attrs
import polars as pl

from harvest.model.frames import seconds
from harvest_toolkit.frames import first_text, known_sum

from ..critical_path import COLUMN_OF_PART
from ..frames import Frames, load
from ..record_names import DASK_TYPES, JOB_TYPES
from ..views.indicators import judged_runs
from ..views.summary import summary_frame
from ..views.tasks import task_frame
from ..views.workers import TOOK_PART
from .sides import RunOf

OF_RUN: Final = {
    "span_s": "span of executions",
    "wall_s": "span of recorded events",
    "busy_s": "time of executions",
    "used_share": "use of observed threads",
    "tasks": "tasks",
    "executions": "executions",
    "unended": "executions not seen to end",
    "failed": "failed executions",
    "erred_tasks": "tasks that erred",
    "unfinished_tasks": "tasks left unfinished",
    "repeated": "repeated executions",
    "repeated_s": "time of repeats",
    "median_s": "median execution",
    "workers": "workers",
    "threads": "threads",
    "observed_threads": "observed threads",
    "observed_workers": "observed workers",
    "silent_workers": "silent workers",
    "lost_workers": "lost workers",
    "idle_workers": "idle workers",
    "peak_threads": "most executions at the same time",
    "imbalance_s": "busiest worker beyond the mean",
    "movements": "transfers",
    "moved_bytes": "bytes transferred",
    "moving_s": "time of transfers",
    "memory_peak_share": "highest share of a worker's memory",
    "spilled_bytes": "bytes spilled to disk",
    "pauses": "pauses for memory",
    "memory_restarts": "restarts for memory",
    "unmanaged_warnings": "warnings of unmanaged memory",
    "gc_warnings": "warnings of garbage collection",
    "loop_warnings": "times that an event loop did not respond",
    "loop_s": "time that event loops did not respond",
    "counted_bytes": "bytes of files, counted",
    "io_s": "time in I/O of known tasks or kinds",
    "graphs": "graphs",
    "graph_tasks": "tasks in graphs",
}
"""The whole run: columns of ``dask.run_summary`` and ``dask.indicators``, and their labels."""

OF_PREFIX: Final = {
    "executions": "executions",
    "total_s": "time of executions",
    "mean_s": "mean execution",
    "median_s": "median execution",
    "max_s": "longest execution",
    "unended": "executions not seen to end",
    "failed": "failed executions",
    "repeated": "repeated executions",
    "size_bytes": "memory of results",
    "bytes_received": "bytes received",
    "bytes_sent": "bytes sent",
    "io_read_bytes": "bytes read from files",
    "io_write_bytes": "bytes written to files",
    "io_s": "time in I/O of known tasks",
}
"""A kind of task: columns of ``dask.prefixes``, and bytes moved by ``dask.tasks``."""

ADDED_UP: Final = tuple(m for m in OF_PREFIX if m not in ("mean_s", "median_s", "max_s"))
"""The measures that are 0 for a kind of task that a run did not have; durations are unknown."""

REPORTED: Final = frozenset(
    ("movements", "moved_bytes", "moving_s", "transfer_share", "bytes_received", "bytes_sent")
)
"""The measures that workers report; for a run with silent workers they are incomplete."""

OF_GRAPH: Final = {
    "tasks": "tasks",
    "span_s": "span of executions",
    "total_s": "time of executions",
}
OF_WORKER: Final = {
    "executed": "executions",
    "busy_s": "time of executions",
    "bytes_received": "bytes received",
    "bytes_sent": "bytes sent",
    "memory_peak_bytes": "most memory",
}
DONE: Final = ("executed", "busy_s", "bytes_received", "bytes_sent")
"""The measures that are 0 for a worker that a run did not have."""

OF_PHASE: Final = {"elapsed_s": "time"}
PARTS: Final = {
    "run": OF_RUN,
    "phase": OF_PHASE,
    "path": OF_PHASE,
    "graph": OF_GRAPH,
    "prefix": OF_PREFIX,
    "worker": OF_WORKER,
}
"""The parts of a run in the order in which they are shown, each with its measures."""
ORDER: Final = [f"{part} {measure}" for part, measures in PARTS.items() for measure in measures]

_UNITS: Final = (("_s", "s"), ("_bytes", "bytes"), ("_share", "1"))


def unit_of(measure: str) -> pl.Expr:
    """Derive the unit from a column with names of measures; null for counts."""
    name = pl.col(measure)
    moved = (name.str.starts_with("bytes_"), "bytes")
    return first_text(*((name.str.ends_with(end), unit) for end, unit in _UNITS), moved)


NUMBER: Final = {**dict.fromkeys(("part", "name", "measure"), pl.String()), "value": pl.Float64()}
"""The columns of numbers."""

WHOLE_SPAN: Final = "from the first execution to the end of the last"
MANY: Final = "many threads at work"
FEW: Final = "few threads at work"
NONE: Final = "no thread at work"


@attrs.frozen(eq=False)
class Numbers:
    """A run in numbers.

    known: its rows of dask.run_summary and dask.indicators.
    rows: part, name, measure and value, where it is known; without phases and workers, since they
        depend on the runs with which it is compared.
    absent: by part, the measures that are certainly 0 for names that the run does not have.
    workers: its workers with their numbers, the busiest first.
    tasks: prefix, seconds, began, ended: of the last execution of each task that was executed.
    """

    run: RunOf
    known: dict[str, Any]
    rows: pl.DataFrame
    absent: dict[str, tuple[str, ...]]
    workers: pl.DataFrame
    tasks: pl.DataFrame

    def zeros(self) -> pl.DataFrame:
        """Give what is absent as rows: part, measure, value."""
        rows = [(part, m, 0.0) for part, measures in self.absent.items() for m in measures]
        kinds = {name: NUMBER[name] for name in ("part", "measure", "value")}
        return pl.DataFrame(rows, kinds, orient="row")


def numbers_of(run: RunOf) -> Numbers:
    """Read all numbers of a run from its views."""
    judged = judged_runs(run.dataset, run.directory)
    frames = load(run.dataset, (*DASK_TYPES, *JOB_TYPES, "dask.worker_sample"), run=run.directory)
    summary = summary_frame(frames, judged.executions.lazy(), judged.workers.lazy())
    known = summary.collect().row(0, named=True) | judged.rows.row(0, named=True)
    wanted = ("key", "prefix", "duration_s", "began", "ended", "bytes_received", "bytes_sent")
    tasks = task_frame(frames).select(wanted).collect()
    executed = tasks.filter(pl.col("began").is_not_null())
    moved = tasks.group_by("prefix").agg(known_sum("bytes_received"), known_sum("bytes_sent"))
    prefixes = judged.kinds.join(moved, on="prefix", how="left")
    rows = [
        _rows("run", [("all", name, known[name]) for name in OF_RUN]),
        _rows("path", [(p, "elapsed_s", known[column]) for p, column in COLUMN_OF_PART.items()]),
        _unpivoted("graph", _graphs(frames, executed), OF_GRAPH),
        _unpivoted("prefix", prefixes.rename({"prefix": "name"}), OF_PREFIX),
    ]
    workers = _workers(frames, judged.workers)
    # a worker that was not observed may have executed tasks of any kind
    observed = known["workers"] and known["observed_workers"] == known["workers"]
    return Numbers(
        run,
        known,
        pl.concat(rows),
        {
            "prefix": _known(prefixes, ADDED_UP) if observed else (),
            "graph": () if known["graphs"] is None else ("tasks", "total_s"),
            "worker": _known(workers, DONE) if observed else (),
        },
        workers,
        executed.select("prefix", "began", "ended", seconds="duration_s"),
    )


def phases_of(runs: Sequence[Numbers]) -> list[pl.DataFrame]:
    """Divide each run into the same phases, as finely as the records of all runs allow."""
    parted = [run.known for run in runs]
    few = all(known["serial_s"] is not None for known in parted)
    none = few and all(known["gaps_s"] is not None for known in parted)
    return [
        _rows("phase", [(name, "elapsed_s", value) for name, value in _phases(known, few, none)])
        for known in parted
    ]


def workers_of(runs: Sequence[Numbers]) -> list[pl.DataFrame]:
    """Name the workers of each run: by address if all runs have the same ones, else by rank."""
    addresses = [set(run.workers["worker"]) for run in runs]
    alike = all(each == addresses[0] for each in addresses)
    rank = pl.format("no. {} by time", pl.int_range(1, pl.len() + 1))
    name = pl.col("worker") if alike else rank
    return [_unpivoted("worker", run.workers.with_columns(name=name), OF_WORKER) for run in runs]


def _rows(part: str, given: list[tuple[str, str, Any]]) -> pl.DataFrame:
    values = [(part, name, m, None if v is None else float(v)) for name, m, v in given]
    return pl.DataFrame(values, NUMBER, orient="row").drop_nulls("value")


def _unpivoted(part: str, frame: pl.DataFrame, measures: Mapping[str, str]) -> pl.DataFrame:
    """Turn each number of a frame with names into a row."""
    return (
        frame.select(pl.lit(part).alias("part"), "name", pl.col(*measures).cast(pl.Float64))
        .unpivot([*measures], index=["part", "name"], variable_name="measure")
        .select(pl.col(name).cast(kind) for name, kind in NUMBER.items())
        .drop_nulls("value")
    )


def _phases(known: dict[str, Any], few: bool, none: bool) -> list[tuple[str, float | None]]:
    """Divide the time from the first event to the last by how many threads executed tasks.

    The parts add up to that time.  few, none: whether the time in which at most a tenth of the
    threads executed a task, and the time in which none did, are parts of their own.
    """
    span, wall, start = known["span_s"], known["wall_s"], known["first_start"]
    if span is None or wall is None or known["first_time"] is None:
        return []
    ahead = (start - known["first_time"]).total_seconds()
    within: list[tuple[str, float | None]] = [(WHOLE_SPAN, span)]
    if none:
        many = span - known["serial_s"] - known["gaps_s"]
        within = [(MANY, many), (FEW, known["serial_s"]), (NONE, known["gaps_s"])]
    elif few:
        within = [(f"{MANY}, or none", span - known["serial_s"]), (FEW, known["serial_s"])]
    after = wall - ahead - span
    return [("before the first execution", ahead), *within, ("after the last execution", after)]


def _known(frame: pl.DataFrame, measures: Iterable[str]) -> tuple[str, ...]:
    """Select the measures that are known of each row; none without rows."""
    return tuple(m for m in measures if frame.height and not frame[m].null_count())


def _graphs(frames: Frames, executed: pl.DataFrame) -> pl.DataFrame:
    """Sum up the tasks and times of each graph that clients sent, numbered in order of time.

    A task of several graphs counts in the first one.
    """
    sent = (
        frames["dask.graph_task"]
        .select("key", "time", pl.struct(pl.col("origin").cast(pl.String), "graph").alias("one"))
        .sort("time", "one", nulls_last=True)
        .unique("key", keep="first", maintain_order=True)
        .collect()
    )
    order = sent.select("one").unique(maintain_order=True).with_row_index("number", 1)
    span = seconds((pl.col("ended").max() - pl.col("began").min()).dt.total_microseconds())
    return (
        sent.join(order, on="one")
        .join(executed, on="key", how="left")
        .group_by("number")
        .agg(
            tasks=pl.len(),
            span_s=pl.when(pl.col("ended").is_not_null().any()).then(span),
            total_s=known_sum("duration_s"),
        )
        .sort("number")
        .select(pl.format("graph {}", "number").alias("name"), *OF_GRAPH)
    )


def _workers(frames: Frames, workers: pl.DataFrame) -> pl.DataFrame:
    """Select worker and OF_WORKER of the workers that took part, the busiest first."""
    samples = (
        frames["dask.worker_sample"]
        .filter(role="worker")
        .group_by(worker="address")
        .agg(memory_peak_bytes=pl.col("memory_bytes").max())
        .collect()
    )
    return (
        workers.filter(TOOK_PART)
        .join(samples, on="worker", how="left")
        .sort("busy_s", "executed", "worker", descending=[True, True, False], nulls_last=True)
        .select("worker", *OF_WORKER)
    )
