"""Views and the report over captured runs: who is lost, who was blind, who is which process."""

from pathlib import Path
from typing import Any

import captures
import polars as pl
import pytest
from dask_rows import TracedReader, operation

from harvest import collect
from harvest_dask.records.captures.source import DaskSource
from harvest_dask_runs.io.ties import ties
from harvest_dask_runs.views.summary import run_summary
from harvest_dask_runs.views.task_io import task_io, workers_processes
from harvest_dask_runs.views.workers import workers

T, SCHEDULER = captures.T, captures.SCHEDULER
A, B = "tcp://10.0.0.2:4001", "tcp://10.0.0.3:4002"
THREAD = 140_000_001


def captured(run: Path, trace: list[dict[str, Any]] | None = None) -> TracedReader:
    """A capture, read, and a trace beside it."""
    return TracedReader(collect(DaskSource(str(run))).tables, trace or [])


def scheduler(*contents: Any) -> list[Any]:
    """The scheduler's file, with both workers registered."""
    came = [{"time": T, "worker": w, "action": "add", "nthreads": 4} for w in (A, B)]
    return [captures.start("scheduler"), captures.rows("worker_event", came), *contents]


def worker(address: str, *contents: Any, **about: Any) -> list[Any]:
    return [captures.start("worker", address=address, **about), *contents]


def write(tmp_path: Path, **files: list[Any]) -> Path:
    return captures.write(tmp_path / "R1", files)


def by_worker(data: Any) -> dict[str, dict[str, Any]]:
    return {row["worker"]: row for row in workers(data).collect().to_dicts()}


def summary(data: Any) -> dict[str, Any]:
    (row,) = run_summary(data).collect().to_dicts()
    return row


def test_a_worker_that_was_idle_is_not_one_that_is_silent(tmp_path):
    # given two registered workers, of which one recorded that it did nothing, and one no file
    idle = worker(A, captures.END, name="w0", host="node2", pid=9, nthreads=2)
    data = captured(write(tmp_path, s=[*scheduler(), captures.END], a=idle))

    one, other = by_worker(data)[A], by_worker(data)[B]

    # then what is known of the first is known from itself, of the other from the scheduler
    assert (one["reported"], one["lost"], one["nthreads"]) == (True, False, 2)
    assert (one["name"], one["hostname"], one["pid"], one["clock_offset_s"]) == (
        "w0", "node2", 9, 0.25,
    )  # fmt: skip
    assert (other["reported"], other["lost"], other["nthreads"]) == (False, None, 4)
    assert other["pid"] is None
    found = summary(data)
    assert found["silent_workers"] == [B]
    assert found["processes"] == 2
    assert found["nodes"] == [{"role": "scheduler", "hosts": 1}, {"role": "worker", "hosts": 1}]


def test_a_worker_that_was_killed_is_named_with_the_time_of_its_last_record(tmp_path):
    # given a worker whose record has no end, 2.5 s after it began
    sample = captures.rows("sample", [{"time": T + 1}])
    data = captured(
        write(
            tmp_path, s=[*scheduler(), captures.END], a=worker(A, sample), b=worker(B, captures.END)
        )
    )

    found = summary(data)
    assert by_worker(data)[A]["lost"]
    assert found["lost_processes"] == [f"worker {A} (since 2023-11-14 22:13:22)"]
    assert (
        "1 record without an end (killed, unable to write, or still running when it was read): "
        f"worker {A} (since 2023-11-14 22:13:22)"
    ) in found["completeness_notes"]
    assert not found["complete"]


def test_several_lost_processes_are_one_sentence(tmp_path):
    data = captured(write(tmp_path, s=scheduler(), a=worker(A), b=worker(B, captures.END)))

    (note,) = (n for n in summary(data)["completeness_notes"] if "without an end" in n)
    assert note.startswith("2 records without an end")
    assert note.endswith(
        f": scheduler {SCHEDULER} (since 2023-11-14 22:13:21), worker {A} "
        "(since 2023-11-14 22:13:20)"
    )


def test_a_worker_that_came_back_is_lost_no_more(tmp_path):
    # given a worker that was killed, and another process of its address that ended well
    first = worker(A, pid=9, name="old", time=T)
    second = worker(A, captures.END, pid=10, name="new", time=T + 5)
    data = captured(write(tmp_path, s=[*scheduler(), captures.END], z=first, a=second))

    row = by_worker(data)[A]
    assert (row["pid"], row["name"], row["lost"]) == (10, "new", False)
    # but what the first did to its end is not known
    assert len(summary(data)["lost_processes"]) == 1


def test_a_blind_spell_is_named_with_its_times_and_losses(tmp_path):
    blind = {"kind": "blind", "time": T + 3, "since": T + 1, "reason": "disk full", "lost": 70}
    data = captured(
        write(tmp_path, s=[*scheduler(), captures.END], a=worker(A, blind, captures.END))
    )

    (note,) = (n for n in summary(data)["completeness_notes"] if "not recorded" in n)
    assert note == (
        f"not recorded: worker {A}: could record nothing since "
        "2023-11-14 22:13:22.500000+00:00 (disk full); 70 rows are lost"
    )


# ---- which process is which worker ---------------------------------------------------------------


def did(pid: int, host: str | None = "node2", **more: Any) -> dict[str, Any]:
    """An operation on the thread that both workers have, half a second into the task."""
    place = {"hostname": host, "pid": pid, "origin": f"p{pid}.darshan"}
    return operation(0.5, THREAD, **{**place, "end_s": 0.6} | more)


@pytest.fixture
def twins(tmp_path: Path) -> Path:
    """Two workers whose threads have the same id, each executing a task at the same time."""
    files = {}
    done = []
    for number, (address, pid) in enumerate(((A, 21), (B, 22))):
        key = f"task-{number}"
        states = [(T, "ready", "executing"), (T + 1, "executing", "memory")]
        rows = [
            {"time": time, "key": key, "start_state": one, "finish_state": other}
            for time, one, other in states
        ]
        files[f"worker-{number}"] = worker(
            address, captures.rows("worker_transition", rows), captures.END, host="node2.x.org",
            pid=pid,
        )  # fmt: skip
        done.append(
            {"time": T + 1, "key": key, "start_state": "processing", "finish_state": "memory",
             "worker": address, "thread": THREAD, "begins": T, "ends": T + 1}
        )  # fmt: skip
    rows = captures.rows("scheduler_transition", done)
    return captures.write(tmp_path / "R1", {**files, "s": [*scheduler(rows), captures.END]})


def traced(run: Path, *operations: dict[str, Any]) -> TracedReader:
    start = captures.moment(T + 0.5)
    placed = [
        {**row, "origin": f"{run}/{row['origin']}", "start_time": start, "end_time": start}
        for row in operations
    ]
    return captured(run, placed)


def tied(data: Any) -> list[tuple[str, int | None, str | None]]:
    """Each worker, its process and what ties them."""
    return workers_processes(data).select("worker", "pid", "tied_by").collect().rows()


def test_a_process_id_ties_workers_whose_threads_are_called_alike(twins):
    # given traces in an order that says nothing, by the hosts' short names
    data = traced(twins, did(22), did(21))

    assert tied(data) == [(A, 21, "process id"), (B, 22, "process id")]
    assert workers_processes(data).collect()["candidates"].to_list() == [1, 1]
    io = task_io(data).collect()
    assert list(io.select("key", "pid").iter_rows()) == [("task-0", 21), ("task-1", 22)]


def test_a_process_of_another_id_or_host_is_no_captured_worker(twins):
    data = traced(twins, did(23), did(21, host="node3"))

    assert tied(data) == [(A, None, None), (B, None, None)]
    assert task_io(data).collect().is_empty()


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [("10.201.4.43", "10.201.4.44"), ("n1.one.org", "n1.two.org"), ("fe80::1", "fe80::2")],
)
def test_processes_of_one_number_on_two_hosts_are_two(tmp_path, ours, theirs):
    """Nodes number their processes alike: an address, or a full name, tells them apart."""
    # given a captured worker that executed nothing, and a trace of either host, both of process 21
    run = write(
        tmp_path, s=[*scheduler(), captures.END], a=worker(A, captures.END, host=ours, pid=21)
    )
    done = [{"run": str(run), "worker": A, "thread": THREAD, "first": T, "last": T}]
    operations = [did(21, ours, origin="o.darshan"), did(21, theirs, origin="t.darshan")]
    threads = pl.DataFrame(
        [{**row, "run": str(run), "begin": T, "end": T} for row in operations]
    ).select("run", "origin", "rank", "thread", "hostname", "pid", "begin", "end")
    known = pl.DataFrame([{"run": str(run), "worker": A, "host": ours, "pid": 21}])
    times = [pl.from_epoch(pl.col(n).cast(pl.Int64)).alias(n) for n in ("begin", "end")]
    spans = [pl.from_epoch(pl.col(n).cast(pl.Int64)).alias(n) for n in ("first", "last")]

    found = ties(threads.with_columns(times), pl.DataFrame(done).with_columns(spans), known)

    assert found.select("origin", "hostname", "worker").rows() == [("o.darshan", ours, A)]


def test_a_trace_without_its_host_is_tied_by_the_process_id(twins):
    data = traced(twins, did(22, host=None))

    assert tied(data) == [(A, None, None), (B, 22, "process id")]


def test_a_worker_without_a_capture_is_not_tied_to_one_that_has_another(twins):
    # given that the second worker's file is missing, and traces of both
    (twins / "worker-1.cap").unlink()
    data = traced(twins, did(21), did(22))

    assert tied(data) == [(A, 21, "process id"), (B, 22, "thread")]
