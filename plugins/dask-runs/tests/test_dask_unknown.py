"""Unknown is not zero: what views and rules say where a part of a run was not recorded.

A run, recorded whole by a capture or as the coupler's files have it, is altered: a column is null
throughout, a kind of record is absent, a worker reported nothing.  No number may become 0 by that,
no verdict worse, and none may turn from a finding into "nothing found".
"""

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any

import captures
import polars as pl
import pytest
from compared_runs import harvested
from night import NIGHT

from harvest_testing.datasets import AlteredDataset
from harvest_testing.unknown import faults_of_unknown, without_each_column

pytestmark = pytest.mark.slow

T, SCHEDULER = captures.T, captures.SCHEDULER
WORKERS = [f"tcp://10.0.0.{n}:4001" for n in range(2, 6)]
KEYS = {
    "dask.workers": ("run", "worker"),
    "dask.tasks": ("run", "key"),
    "dask.prefixes": ("run", "prefix"),
    "dask.indicators": ("run",),
    "dask.run_summary": ("run",),
}
KINDS = (
    *("dask.task_transition", "dask.worker_transition", "dask.execution", "dask.transfer"),
    *("dask.worker", "dask.client", "dask.graph_task", "dask.log_event", "dask.process"),
    "dask.worker_sample",
)
NULL_SAYS = {
    "dask.transfer.requestor": "a client received it",
    "dask.process.end_time": "the record stops without an end",
    "dask.worker.action": "told by the stimulus, which an addition has not",
    "dask.worker.stimulus_id": "an addition, where the action is not recorded",
}
"""What the null of a column says, where that is not "not known"."""


def executed(key: str, number: int, begins: float, lasts: float, into: str) -> Iterator[Any]:
    """What is recorded of an execution on a worker: by the scheduler, and twice by itself."""
    ends, worker, thread = begins + lasts, WORKERS[number], 7_000 + number
    done = {"time": ends + 0.02, "key": key, "start_state": "processing", "finish_state": into}
    if into == "memory":
        done |= {"worker": worker, "thread": thread, "begins": begins, "ends": ends}
        done |= {"size_bytes": 8}
    else:
        done |= {"exception": "ValueError(1)"}
    yield done
    left = {"memory": "memory", "erred": "error"}[into]
    yield [
        {"time": begins, "key": key, "start_state": "ready", "finish_state": "executing"},
        {"time": ends + 0.01, "key": key, "start_state": "executing", "finish_state": left},
    ]
    status = {"memory": "finished", "erred": "error"}[into]
    yield {"key": key, "thread": thread, "begins": begins, "ends": ends, "status": status}


def worker_file(number: int) -> tuple[list[Any], list[Any]]:
    """A worker of two threads that works for 3 of 10 s, fails once, repeats a task, and moves."""
    other = WORKERS[(number + 1) % len(WORKERS)]
    parts = [
        tuple(executed(f"load-{number}", number, T, 1.0, "memory")),
        tuple(executed(f"load-{number}", number, T + 2, 1.0, "memory")),
        tuple(executed(f"score-{number}", number, T + 9, 1.0, "erred")),
    ]
    moved = {"time": T + 5, "start_time": T + 3, "end_time": T + 4.5, "duration_s": 1.5}
    moved |= {"total_bytes": 100, "direction": "incoming", "peer": other, "keys": [["x", 100]]}
    said = [
        "Event loop was unresponsive in Worker for 3.50s.  This is often caused by ...",
        "full garbage collections took 14% CPU time recently (threshold: 10%)",
        "Worker is at 81% memory usage. Pausing worker.  Process memory: 810 kB",
    ]
    sample = {"time": T + 1, "memory_bytes": 850_000, "spill_bytes": 1_000}
    about = {"address": WORKERS[number], "host": f"n{number}", "pid": number, "nthreads": 2}
    contents = [
        captures.start("worker", memory_limit=1_000_000, **about),
        captures.rows("worker_transition", [row for _, rows, _ in parts for row in rows]),
        captures.rows("execution", [row for _, _, row in parts]),
        captures.rows("transfer", [moved]),
        captures.rows("sample", [sample]),
        captures.rows("log", [{"time": T, "level": "info", "message": m} for m in said]),
        captures.END,
    ]
    return [done for done, _, _ in parts], contents


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run of four workers that are alike, recorded whole."""
    folder = tmp_path_factory.mktemp("whole")
    files = [worker_file(number) for number in range(len(WORKERS))]
    came = [{"time": T - 1, "worker": w, "action": "add", "nthreads": 2} for w in WORKERS]
    graph = {"kind": "graph", "time": T, "client": "Client-1", "graph": 1, "requested": ["load-0"]}
    graph |= {"keys": ["load-0"], "dependencies": [[]]}
    scheduler = [
        captures.start("scheduler"),
        captures.rows("worker_event", came),
        captures.rows("client_event", [{"time": T, "client": "Client-1", "action": "add"}]),
        graph,
        captures.rows("scheduler_transition", [row for done, _ in files for row in done]),
        captures.rows("log", [{"time": T, "level": "info", "message": "Scheduler at: x"}]),
        captures.END,
    ]
    named = {f"w{number}": contents for number, (_, contents) in enumerate(files)}
    captures.write(folder / "R1", {"s": scheduler, **named})
    return harvested(folder)


ABOUT_SILENCE = "dask.silent_workers concludes more"


def silenced(number: int, frame: pl.LazyFrame) -> pl.LazyFrame:
    """Without the rows of a worker's own file."""
    return frame.filter(~pl.col("origin").cast(pl.String).str.ends_with(f"/w{number}.cap"))


def test_the_whole_run_makes_rules_speak(whole):
    """Else nothing would be compared."""
    found = {f.rule.name: f.finding for f in whole.findings().found}

    assert {name.removeprefix("dask.") for name in found} >= {
        *("unused_threads", "gaps", "transfers", "spilling", "full_memory", "memory_warnings"),
        *("failures", "repeats", "garbage_collection", "event_loop"),
    }
    assert all(finding.certainty == () for finding in found.values())


def faults(whole: Any, less: Any) -> list[str]:
    return [f for view, key in KEYS.items() for f in faults_of_unknown(whole, less, view, key)]


@pytest.mark.parametrize("kind", sorted({*KINDS} - {"dask.process"}))  # no captures: 0 processes
def test_a_kind_of_record_that_is_absent_makes_nothing_0_and_nothing_worse(whole, kind):
    assert faults(whole, AlteredDataset(whole, absent=kind)) == []


@pytest.mark.parametrize("number", range(len(WORKERS)))
@pytest.mark.parametrize("scheduler", [True, False], ids=["scheduler", "no scheduler"])
def test_a_worker_that_is_silent_makes_nothing_0_and_nothing_worse(whole, number, scheduler):
    absent = None if scheduler else "dask.task_transition"
    known = AlteredDataset(whole, absent=absent) if absent else whole
    less = AlteredDataset(whole, partial(silenced, number), absent=absent)

    # then nothing is concluded from it but that it is silent
    assert [f for f in faults(known, less) if not f.startswith(ABOUT_SILENCE)] == []
    # and what is said of a part says so
    verdicts = less.findings(rules=["dask.unused_threads"]).found
    assert [f.finding.certainty for f in verdicts] == [() if scheduler else ("part",)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_that_is_null_makes_nothing_0_and_nothing_worse(whole, kind):
    columns = without_each_column(whole, [kind])
    for column, less in islice(columns, 0, None, 1 if NIGHT else 6):
        if column not in NULL_SAYS:
            assert (column, faults(whole, less)) == (column, [])
