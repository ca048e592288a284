"""What captured workers recorded of each attempt is where and when it is shown."""

from typing import Any

import polars as pl
import pytest
from dask_rows import RUN, A, at, attempt, dataset, ran, scheduler, window, worker

from harvest_dask_runs.executions import executions
from harvest_dask_runs.frames import load
from harvest_dask_runs.record_names import EXECUTED
from harvest_dask_runs.trace.view import trace


def found(*rows: Any) -> pl.DataFrame:
    return executions(load(dataset(*rows), EXECUTED)).collect()


def tracks(*rows: Any) -> list[str]:
    names = trace(dataset(*rows)).filter(pl.col("name") == "thread_name").collect()
    return sorted(name for name in names["args"] if '"thread ' in name)


def test_two_threads_have_two_lanes_failed_attempts_included():
    # given windows that overlap, as the event loop sees them, on threads that ran one after another
    rows = [
        *window("x", 0, 1.1), attempt("x", 0.1, 1.0, 1),
        *window("y", 0, 2.02, into="error"),
        attempt("y", 0.2, 2.0, 2, status="error"),
        *window("z", 1.05, 3), attempt("z", 1.06, 2.9, 1),
        *window("y", 2.05, 4), attempt("y", 2.06, 3.9, 2),
        ran("x", 1.2, A, 0.1, 1.0, thread=1),
        ran("z", 3.1, A, 1.06, 2.9, thread=1),
        ran("y", 4.1, A, 2.06, 3.9, thread=2, size_bytes=8),
    ]  # fmt: skip

    runs = found(*rows).sort("start")

    assert tracks(*rows) == ['{"name":"thread 1"}', '{"name":"thread 2"}']
    assert runs.select("start", "key", "thread", "outcome", "size_bytes").rows() == [
        (at(0.1), "x", 1, "memory", None),
        (at(0.2), "y", 2, "error", None),
        (at(1.06), "z", 1, "memory", None),
        # what the scheduler has is of the attempt that ended in memory
        (at(2.06), "y", 2, "memory", 8),
    ]
    assert runs["seconds"].to_list() == pytest.approx([0.9, 1.8, 1.84, 1.84])


def test_times_by_another_clock_are_moved_into_the_window():
    """Dask gives the times of attempts by the scheduler's clock: here it is 5 s ahead."""
    rows = [
        *window("x", 0, 1),
        attempt("x", 5.1, 5.9, 1),
        *window("y", 1, 2),
        attempt("y", 6.1, 6.9, 1),
    ]

    runs = found(*rows).sort("start")

    assert runs.select("start", "end").rows() == [(at(0.2), at(1)), (at(1.2), at(2))]
    assert runs["seconds"].to_list() == pytest.approx([0.8, 0.8])
    assert tracks(*rows) == ['{"name":"thread 1"}']


def test_an_attempt_that_did_not_end_is_known_from_its_window():
    rows = [*window("x", 0, 1), attempt("x", 0.1, 0.9, 1), *window("x", 2)]

    runs = found(*rows)

    assert runs.select("start", "end", "thread", "outcome").rows() == [
        (at(0.1), at(0.9), 1, "memory"),
        (at(2), None, None, None),
    ]


def test_attempts_are_executions_where_transitions_are_not_recorded():
    rows = [
        attempt("x", 0, 1, 1, status="error"),
        attempt("x", 1, 2, 1),
        ran("x", 2.1, A, 1, 2, thread=1),
        scheduler("x", 0, "waiting>processing"),
    ]  # fmt: skip

    runs = found(*rows)

    assert runs.select("start", "outcome", "by_scheduler", "by_worker").rows() == [
        (at(0), "error", False, True),
        (at(1), "memory", True, True),
    ]
    assert runs["run"].unique().to_list() == [RUN]


def test_a_record_that_lacks_its_beginning_pairs_windows_from_the_end():
    # given a capture that began while the first of two attempts ran
    rows = [
        worker("x", 1, "executing>released", A), attempt("x", 0, 1, 1, status="error"),
        *window("x", 2, 3), attempt("x", 2.1, 2.9, 2),
    ]  # fmt: skip

    assert found(*rows).select("start", "end", "thread").rows() == [
        (at(0), at(1), 1),
        (at(2.1), at(2.9), 2),
    ]
