"""What the rules on a run share: how one is made, and how certain it is.

All look at ``dask.indicators``, one row per run; a sentence names the run where the dataset holds
several.  A rule is declared above the function that says what it found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from harvest import Finding, Rule, Threshold

if TYPE_CHECKING:
    import polars as pl

Run: TypeAlias = dict[str, Any]
"""A row of ``dask.indicators`` by name of column."""
Said: TypeAlias = tuple[Literal["high", "medium", "low"], str]
"""A severity, and a sentence."""

BEST: Final = "Dask documentation, Best Practices"
MEMORY: Final = "Dask.distributed documentation, Worker Memory Management"
SECONDS: Final = Threshold(1, "seconds that it costs, at least")
TIME: Final = ("span_s", "first_start", "observed_threads", "thread_s", "observed_busy_s")
_COMPLETE: Final = ("observed_workers", "workers", "cut", "runs")
"""Columns that say how much of a run a finding is about."""

SPAN: Final = "time from the first execution to the end of the last, s (span_s)"
OBSERVED: Final = (
    "runs with a worker that was observed (it, or the scheduler, recorded what it executed), of "
    "whose threads it is known how many there are; workers that reported nothing are left out of "
    "both sums"
)
EXECUTIONS: Final = (
    "executions that were not recorded, or not seen to end: scheduler_transition.csv or "
    "worker_transition.csv of the run, or a capture, brings them"
)
NO_THREADS: Final = (
    f"{EXECUTIONS}; how many threads workers have is in worker.e (its lines 'Threads:'), or in "
    "captures"
)
_ON_EACH_WORKER: Final = (
    "the recorder active on each worker (worker_transition.csv, and worker.csv or scheduler.e), or "
    "a capture of all, brings it"
)
EACH_WORKER: Final = (
    f"a worker that reported nothing, or of which no registration is recorded: {_ON_EACH_WORKER}"
)
WHOLE: Final = (
    "none is recorded, and what each worker executed is not known, attempts that were repeated "
    f"included: {_ON_EACH_WORKER}"
)
LOGS: Final = "no log of the scheduler or workers: scheduler.e and worker.e, or a capture, bring it"


def of_span(share: float) -> dict[str, Threshold]:
    """The thresholds of a rule by its share of the span, and by its seconds."""
    what = "of the time between the first task and the end of the last"
    return {"share": Threshold(share, what), "seconds": SECONDS}


def lower_bound(run: Run) -> tuple[str, ...]:
    """Whether the record is known to lack something, so that there may be more."""
    return ("lower_bound",) if run["cut"] else ()


def certain(_: Run) -> tuple[str, ...]:
    """Nothing that is not recorded would change it."""
    return ()


def observed(run: Run, counted: str = "observed_workers") -> tuple[str, ...]:
    """Whether only a part was observed, and whether the record is known to lack more.

    counted: the column that has how many workers the finding is about.
    """
    known, workers = run[counted], run["workers"]
    part = known is not None and workers is not None and known < workers
    return (*(("part",) if part else ()), *lower_bound(run))


def is_part(run: Run) -> bool:
    """Whether only a part of the workers was observed."""
    return "part" in observed(run)


def rule(
    *,
    columns: tuple[str, ...],
    certainty: Callable[[Run], tuple[str, ...]] = observed,
    **more: Any,
) -> Callable[[Callable[..., Said]], Rule]:
    """Make a rule on the indicators, named like the function that says what it found.

    That takes a row, and the thresholds by name.

    columns: without the run, and those that say how much of it was observed.
    """

    def made(say: Callable[..., Said]) -> Rule:
        def judge(rows: pl.DataFrame, total: int, **thresholds: float) -> Iterator[Finding]:
            for run in rows.iter_rows(named=True):
                severity, text = say(run, **thresholds)
                if (run["runs"] or total) > 1:
                    text = f"{run['run'].rpartition('/')[2] or run['run']}: {text}"
                yield Finding(severity, text, certainty=certainty(run), where={"run": run["run"]})

        return Rule(
            name="dask." + say.__name__.lstrip("_"),
            view="dask.indicators",
            judge=judge,
            columns=("run", *dict.fromkeys((*columns, *_COMPLETE))),
            reports=("dask.run",),
            **more,
        )

    return made
