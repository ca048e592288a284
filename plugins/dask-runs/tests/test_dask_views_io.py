"""I/O tied to tasks, over a few rows written by hand.

Each dataset is one worker (or a few) with one process, and Darshan's trace of it as plain rows:
this plugin knows Darshan's record types by name only.
"""

import itertools
from typing import Any

import polars as pl
from dask_rows import RUN, A, B, TracedReader, at, operation, ran, tables_of, worker

from harvest import Record
from harvest_dask.records import types as r
from harvest_dask_runs.views.task_io import once
from harvest_dask_runs.views.task_io import task_io as task_io_view
from harvest_dask_runs.views.task_io import task_io_coverage as task_io_coverage_view
from harvest_dask_runs.views.task_io import workers_processes as workers_processes_view
from harvest_dask_runs.views.tasks import tasks as tasks_view


def traced(rows: list[Record], trace: list[dict[str, Any]]) -> TracedReader:
    return TracedReader(tables_of(rows), trace)


def executed(
    key: str, home: str, start: float, end: float, thread: int | None, state: str = "memory"
) -> list[Record]:
    """What the worker and, where a thread is known, the scheduler record of one execution."""
    rows = changed(key, home, "ready", "executing", state, times=(start, end))
    return rows if thread is None else [*rows, done(key, home, end + 0.01, thread)]


def done(key: str, home: str, moment: float, thread: int) -> Record:
    return ran(key, moment, home, moment - 0.5, moment, thread=thread)


def changed(key: str, home: str, *states: str, times: tuple[float, ...]) -> list[Record]:
    """Transitions through some states, one at each time."""
    changes = [">".join(pair) for pair in itertools.pairwise(states)]
    return [
        worker(key, moment, change, home) for moment, change in zip(times, changes, strict=True)
    ]


def did(seconds: float, thread: int | None, length: int = 10, **more: Any) -> dict[str, Any]:
    """One traced operation, on a file with the largest number."""
    return operation(seconds, thread, length, **{"record_id": 2**64 - 1} | more)


def found(rows: list[Any], trace: list[dict[str, Any]]) -> list[tuple[str | None, int]]:
    """The key and number of operations of each row of dask.task_io."""
    io = task_io_view(traced(_flat(rows), trace)).collect()
    return list(io.select("key", "count").iter_rows())


def _flat(rows: list[Any]) -> list[Record]:
    return [row for item in rows for row in (item if isinstance(item, list) else [item])]


# ---- which task ---------------------------------------------------------------------------------


def test_an_operation_belongs_to_the_task_that_its_thread_executed():
    # given two threads of one worker, busy at the same time
    rows = [executed("x", A, 1, 5, thread=7), executed("y", A, 2, 6, thread=8)]
    trace = [
        did(3, 7, 100),
        did(3, 8, 20),
        did(4, 8, 3, op="write", path="/scratch/y", record_id=5),
    ]

    (x, y_read, y_write) = task_io_view(traced(_flat(rows), trace)).collect().to_dicts()

    assert (x["key"], x["worker"], x["thread"]) == ("x", A, 7)
    assert (x["run"], x["pid"], x["host"], x["file"]) == (RUN, 101, "node1", "/scratch/x")
    assert (x["count"], x["bytes"], x["seconds"]) == (1, 100, 0.001)
    assert (x["first_time"], x["last_time"]) == (at(3), at(3.001))
    assert (x["module"], x["op"], x["record_id"]) == ("DXT_POSIX", "read", 2**64 - 1)
    assert (y_read["key"], y_read["bytes"], y_read["op"]) == ("y", 20, "read")
    assert (y_write["key"], y_write["bytes"], y_write["op"]) == ("y", 3, "write")


def test_the_workers_window_counts_not_begins_and_ends():
    # given begins and ends that lie behind the operation, as skewed clocks give them
    row = executed("x", A, 1, 2, thread=7)
    assert isinstance(row[2], r.TaskTransition)
    row[2].begins, row[2].ends = at(1.9), at(3)
    assert found(row, [did(1.1, 7)]) == [("x", 1)]


def test_operations_outside_all_windows_stay_visible():
    rows = executed("x", A, 1, 2, thread=7)
    trace = [did(0.5, 7), did(1.5, 7), did(2.5, 7), did(3.5, 7, start_time=None)]
    assert found(rows, trace) == [("x", 1), (None, 3)]


def test_the_borders_belong_to_the_window_and_to_the_later_one_of_two():
    rows = [executed("x", A, 1, 2, thread=7), executed("y", A, 2, 3, thread=7)]
    assert found(rows, [did(1, 7), did(2, 7), did(3, 7)]) == [("x", 1), ("y", 2)]


def test_threads_that_ran_no_task_are_left_out_but_counted():
    rows = executed("x", A, 1, 2, thread=7)
    data = traced(_flat([rows]), [did(1.5, 7, 100), did(1.5, 9, 11), did(1.5, None, 7)])

    assert task_io_view(data).collect()["count"].to_list() == [1]
    (process,) = task_io_coverage_view(data).collect().to_dicts()
    assert (process["worker"], process["host"], process["pid"]) == (A, "node1", 101)
    assert (process["segments"], process["task_segments"], process["window_segments"]) == (3, 1, 1)
    assert (process["bytes"], process["task_bytes"], process["window_bytes"]) == (118, 100, 100)
    assert (process["share"], process["bytes_share"]) == (1.0, 1.0)


def test_a_long_running_task_and_a_cancelled_one_hold_their_thread():
    states = ("ready", "executing", "long-running", "cancelled", "resumed", "memory", "released")
    rows = [
        changed("x", A, *states, times=(1, 2, 3, 4, 5, 6)),
        done("x", A, 5.1, 7),
        # a cancelled fetch is not an execution
        changed("z", A, "flight", "cancelled", "released", times=(1, 9)),
    ]
    trace = [did(second + 0.5, 7) for second in range(6)]
    assert found(rows, trace) == [("x", 4), (None, 2)]


def test_a_task_run_twice_is_found_on_the_thread_of_each_time():
    rows = [
        executed("x", A, 1, 2, thread=7),
        executed("x", A, 4, 5, thread=8),
        executed("y", A, 4, 5, thread=7),
    ]
    trace = [did(1.5, 7, 1), did(4.5, 8, 2), did(4.5, 7, 4)]
    io = task_io_view(traced(_flat(rows), trace)).collect()
    assert list(io.select("key", "thread", "bytes").iter_rows()) == [
        ("x", 7, 1),
        ("x", 8, 2),
        ("y", 7, 4),
    ]


def test_a_failed_task_is_found_by_elimination():
    # given a task without a thread, since only success records one, on a thread that ran another
    rows = [executed("x", A, 1, 2, thread=7), executed("bad", A, 3, 4, thread=None, state="error")]
    io = task_io_view(traced(_flat(rows), [did(1.5, 7), did(3.5, 7), did(3.6, 7)])).collect()
    assert list(io.select("key", "count", "by_elimination").iter_rows()) == [
        ("bad", 2, 2),
        ("x", 1, 0),
    ]


def test_a_window_whose_end_was_lost_ends_with_the_schedulers_word():
    lost = changed("x", A, "ready", "executing", times=(1,))
    assert found([lost, done("x", A, 3, 7)], [did(2, 7), did(4, 7)]) == [("x", 1), (None, 1)]


def test_a_task_that_was_cut_short_by_the_end_of_the_record_is_found():
    rows = [executed("x", A, 1, 2, thread=7), changed("cut", A, "ready", "executing", times=(3,))]
    assert found(rows, [did(99, 7)]) == [("cut", 1)]


def test_where_windows_of_a_thread_overlap_the_later_start_wins():
    rows = [
        executed("outer", A, 1, 10, thread=7),
        executed("inner", A, 3, 5, thread=7),
        executed("late", A, 4, 4.5, thread=7),
    ]
    trace = [did(second, 7) for second in (2, 3.5, 4.2, 4.7, 5.5, 11)]
    assert found(rows, trace) == [("inner", 2), ("late", 1), ("outer", 2), (None, 1)]


def test_transitions_may_come_in_any_order():
    rows = list(reversed(executed("x", A, 1, 2, thread=7)))
    assert found(rows, [did(1.5, 7)]) == [("x", 1)]


# ---- which process ------------------------------------------------------------------------------


def test_workers_are_tied_to_processes_by_their_threads():
    rows = [
        executed("x", A, 1, 2, thread=7),
        executed("y", A, 1, 2, thread=8),
        executed("z", B, 1, 2, thread=9),
    ]
    data = traced(
        _flat(rows), [did(1.5, 7), did(1.5, 8), did(1.5, 70, origin=f"{RUN}/p2.darshan", pid=202)]
    )
    a, b = workers_processes_view(data).collect().to_dicts()
    assert (a["worker"], a["host"], a["pid"]) == (A, "node1", 101)
    assert (a["log"], a["threads"]) == (f"{RUN}/p1.darshan", [7, 8])
    assert (a["tied_by"], a["candidates"], a["address_host"]) == ("thread", 1, "10.0.0.1")
    assert (b["worker"], b["host"], b["pid"], b["tied_by"]) == (B, None, None, None)


def test_of_processes_with_a_thread_of_one_id_the_one_that_shares_more_is_the_worker():
    # given thread ids that two processes use, as addresses in memory may be alike
    rows = [
        executed("x", A, 1, 2, thread=7),
        executed("y", A, 1, 2, thread=8),
        executed("z", B, 1, 2, thread=7),
    ]
    trace = [
        did(1.5, 7, 1, origin=f"{RUN}/a.darshan"),
        did(1.5, 8, 2, origin=f"{RUN}/a.darshan"),
        did(1.5, 7, 4, origin=f"{RUN}/b.darshan", pid=202, hostname="10.0.0.2"),
    ]
    data = traced(_flat(rows), trace)
    tied = workers_processes_view(data).collect()
    assert list(tied.select("worker", "pid", "tied_by").iter_rows()) == [
        (A, 101, "best of several"),
        (B, 202, "best of several"),
    ]
    io = task_io_view(data).collect()
    assert list(io.select("key", "bytes").iter_rows()) == [("x", 1), ("y", 2), ("z", 4)]


def test_logs_may_lie_in_a_directory_below_the_run():
    trace = [did(1.5, 7, origin=f"{RUN}/darshan/logs/p1.darshan")]
    assert found(executed("x", A, 1, 2, thread=7), trace) == [("x", 1)]


def test_runs_do_not_mix():
    # given another run with the same worker and thread
    other = "/runs/D2024-05-06_09:00:00_R2_W2"
    rows = _flat([executed("x", A, 1, 2, thread=7), executed("y", A, 1, 2, thread=7)])
    for row in rows[3:]:
        row.origin = f"{other}/file.csv"
    trace = [did(1.5, 7, 1), did(1.5, 7, 2, origin=f"{other}/p1.darshan")]
    data = traced(rows, trace)
    io = task_io_view(data).collect()
    assert list(io.select("run", "key", "bytes").iter_rows()) == [(RUN, "x", 1), (other, "y", 2)]
    for chosen in (other, "D2024-05-06_09:00:00_R2_W2"):
        one = task_io_view(data, run=chosen).collect()
        assert one["key"].to_list() == ["y"]
        assert task_io_coverage_view(data, run=chosen).collect()["segments"].to_list() == [1]
        assert workers_processes_view(data, run=chosen).collect().height == 1


# ---- dask.tasks ---------------------------------------------------------------------------------


def test_a_task_tells_its_io():
    rows = [
        executed("x", A, 1, 2, thread=7),
        executed("idle", A, 3, 4, thread=7),
        executed("unseen", B, 1, 2, thread=9),
    ]
    trace = [did(1.1, 7, 100), did(1.2, 7, 20), did(1.3, 7, 5, op="write")]
    # the same bytes once more, as MPI-IO saw them
    trace.append(did(1.1, 7, 120, module="DXT_MPIIO"))
    tasks = {row["key"]: row for row in tasks_view(traced(_flat(rows), trace)).collect().to_dicts()}

    def io(key: str) -> tuple[Any, ...]:
        names = ("io_read_bytes", "io_write_bytes", "io_operations", "io_seconds")
        return tuple(tasks[key][name] for name in names)

    assert io("x") == (120, 5, 3, 0.003)
    assert io("idle") == (0, 0, 0, 0.0)
    assert io("unseen") == (None, None, None, None)


def test_what_posix_has_too_counts_once_and_rows_stay_in_order():
    # given a file of a log, one that has no number, and one that MPI-IO alone saw
    rows = pl.LazyFrame(
        [
            ("a", 2, "DXT_MPIIO", 20),
            ("a", None, "DXT_MPIIO", 7),
            ("a", 1, "DXT_POSIX", 3),
            ("a", None, "DXT_POSIX", 7),
            ("a", 1, "DXT_MPIIO", 3),
            ("b", 1, "DXT_MPIIO", 5),
            (None, 1, "DXT_POSIX", 9),
            (None, 1, "DXT_MPIIO", 9),
        ],
        schema=["log", "record_id", "module", "bytes"],
        orient="row",
    )

    left = once(rows).collect()

    assert left.rows() == [
        ("a", 2, "DXT_MPIIO", 20),
        ("a", 1, "DXT_POSIX", 3),
        ("a", None, "DXT_POSIX", 7),
        ("b", 1, "DXT_MPIIO", 5),
        (None, 1, "DXT_POSIX", 9),
    ]


def test_without_a_trace_nothing_is_known_of_io():
    data = traced(executed("x", A, 1, 2, thread=7), [])
    (task,) = tasks_view(data).collect().to_dicts()
    assert (task["io_read_bytes"], task["io_operations"]) == (None, None)
    assert task_io_view(data).collect().height == 0
    assert task_io_coverage_view(data).collect().height == 0
    assert workers_processes_view(data).collect()["worker"].to_list() == [A]


def test_views_are_lazy_and_can_be_filtered():
    rows = [executed("x", A, 1, 5, thread=7), executed("y", A, 2, 6, thread=8)]
    lazy = task_io_view(traced(_flat(rows), [did(3, 7, 100), did(3, 8, 20)]))
    assert isinstance(lazy, pl.LazyFrame)
    chosen = lazy.filter(pl.col("key") == "y").select("bytes", "key").collect(engine="streaming")
    assert list(chosen.iter_rows()) == [(20, "y")]
    assert lazy.head(1).collect(engine="streaming")["key"].to_list() == ["x"]
