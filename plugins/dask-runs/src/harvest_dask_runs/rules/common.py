"""Helpers of the rules on a run: their decorator, certainty, and numbers in words.

All rules check ``dask.indicators``, one row per run; a finding names the run if the dataset holds
several.  A rule is declared above the function that builds its finding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

from harvest import Finding, Rule, Threshold
from harvest.toolkit.amounts import bytes_in_words, count_in_words, seconds_in_words
from harvest.toolkit.layout import shorten

if TYPE_CHECKING:
    import polars as pl

Run: TypeAlias = dict[str, Any]
"""A row of ``dask.indicators`` by column."""

BEST: Final = "Dask documentation, Best Practices"
MEMORY: Final = "Dask.distributed documentation, Worker Memory Management"
SECONDS: Final = Threshold(1, "seconds that it costs, at least")
TIME: Final = ("span_s", "first_start", "observed_threads", "thread_s", "observed_busy_s")
_COMPLETE: Final = ("observed_workers", "workers", "cut", "runs")
"""Columns that say which part of a run was observed."""

SPAN: Final = "time from the first execution to the end of the last, s (span_s)"
BUSY: Final = "time of executions, s (busy_s)"
OBSERVED: Final = (
    "Runs with an observed worker (it or the scheduler recorded its executions) whose number of "
    "threads is known. Other workers are left out of both sums."
)
EXECUTIONS: Final = (
    "harvest with scheduler_transition.csv or worker_transition.csv of the run, or with a capture"
)
NO_THREADS: Final = f"{EXECUTIONS}. worker.e or a capture has the number of threads"
EACH_WORKER: Final = (
    "each worker must have recorded its executions: harvest with worker_transition.csv, and "
    "worker.csv or scheduler.e, or with captures of all workers"
)
LOGS: Final = "harvest with scheduler.e and worker.e, or with a capture"


def of_span(share: float) -> dict[str, Threshold]:
    """Return thresholds for a share of the span and for seconds."""
    what = "of the time between the first task and the end of the last"
    return {"share": Threshold(share, what), "seconds": SECONDS}


def lower_bound(run: Run) -> tuple[str, ...]:
    """Mark a number as a lower bound if a part of the record is known to be missing."""
    return ("lower_bound",) if run["cut"] else ()


def observed(run: Run, counted: str = "observed_workers") -> tuple[str, ...]:
    """Mark a finding on a part of the workers, and one from an incomplete record.

    counted: the column with the number of workers that the finding is about.
    """
    known, workers = run[counted], run["workers"]
    part = known is not None and workers is not None and known < workers
    return (*(("part",) if part else ()), *lower_bound(run))


def is_part(run: Run) -> bool:
    """Return whether only a part of the workers was observed."""
    return "part" in observed(run)


def workers_in_words(run: Run) -> str:
    """Describe the observed workers: 6 of 8 workers observed, 8 workers."""
    workers = count_in_words(run["workers"], "worker")
    return f"{run['observed_workers']:,} of {workers} observed" if is_part(run) else workers


def part_of(part: float, whole: float, in_words: Callable[[float], str] = seconds_in_words) -> str:
    """Write two amounts in one unit: 25.7 of 40.3 s, 3.21 of 3.28 GiB."""
    number, _, unit = in_words(whole).partition(" ")
    shown = part * float(number.replace(",", "")) / whole
    said = f"{shown:,.0f}" if shown >= 99.95 else f"{shown:.{3 if shown >= 1 else 2}g}"
    return f"{'<0.001' if 0 < shown < 0.001 else said} of {number} {unit}"


def size_of(part: int, whole: int) -> str:
    """Write a part of some bytes in the unit of the whole."""
    return part_of(part, whole, bytes_in_words)


def rule(
    *,
    columns: tuple[str, ...],
    certainty: Callable[[Run], tuple[str, ...]] | None = observed,
    **more: Any,
) -> Callable[[Callable[..., Finding]], Rule]:
    """Make a rule on the indicators, named like the function that builds its finding.

    That function takes a row, and the thresholds by name.  If the dataset holds several runs, the
    headline begins with the run.

    columns: columns that the function reads, without ``run`` and _COMPLETE.
    certainty: marks a finding on an incomplete record; None if nothing missing would change it.
    """

    def made(say: Callable[..., Finding]) -> Rule:
        def judge(rows: pl.DataFrame, total: int, **thresholds: float) -> Iterator[Finding]:
            for run in rows.iter_rows(named=True):
                said = say(run, **thresholds)
                if (run["runs"] or total) > 1:
                    said = _of_run(said, run["run"].rpartition("/")[2] or run["run"])
                marks = certainty(run) if certainty else ()
                yield attrs.evolve(said, certainty=marks, where={"run": run["run"]})

        return Rule(
            name="dask." + say.__name__.lstrip("_"),
            view="dask.indicators",
            judge=judge,
            columns=("run", *dict.fromkeys((*columns, *_COMPLETE))),
            reports=("dask.run",),
            **more,
        )

    return made


def _of_run(said: Finding, name: str) -> Finding:
    room = 78 - len(said.headline)
    # in full, or the same in all headlines that have the room
    whole = len(name) <= min(max(room - 14, 16), room, 32)
    short = name if whole else shorten(name, min(16, room), "id")
    return attrs.evolve(
        said,
        headline=f"{short}: {said.headline}",
        detail=said.detail if short == name else f"{said.detail} Run: {name}.".lstrip(),
    )
