"""The view ``dask.workers``, over a few rows written by hand."""

import pytest
from dask_rows import A, B, at, dataset, one, ran, scheduler, transfer, worker

from harvest_dask.records import types as r
from harvest_dask_runs.frames import load, pairs_of
from harvest_dask_runs.views.summary import run_summary as run_summary_view
from harvest_dask_runs.views.tasks import tasks as tasks_view
from harvest_dask_runs.views.workers import workers as workers_view


def test_a_worker_has_its_executions_and_what_it_told():
    data = dataset(
        r.WorkerEvent(time=at(0), worker=A, action="add"),
        r.WorkerEvent(time=at(90), worker=A, action="remove", stimulus_id="s"),
        ran("x", 5, A, 1, 4, thread=1),
        ran("y", 5, A, 2, 3, thread=2),
        ran("z", 9, A, 3, 6, thread=1),
        ran("q", 9, A, 8, 9, thread=2),
        worker("x", 4.5, "executing>memory", A),
        transfer(6, "outgoing", A, B, x=100, y=1),
        transfer(7, "incoming", A, B, w=7),
    )

    rows = {row["worker"]: row for row in workers_view(data).collect().to_dicts()}

    a = rows[A]
    assert (a["host"], a["registered"], a["reported"]) == ("10.0.0.1", True, True)
    assert (a["registered_time"], a["removed_time"]) == (at(0), at(90))
    # four executions: 3 + 1 + 3 + 1 s of work within [1, 6] and [8, 9]
    assert (a["executed"], a["busy_s"], a["occupied_s"]) == (4, 8.0, 6.0)
    assert a["threads"] == [1, 2]
    assert (a["transitions"], a["transfers"]) == (1, 2)
    assert (a["bytes_sent"], a["bytes_received"]) == (101, 7)
    assert (a["first_report"], a["last_report"]) == (at(4.5), at(8))
    # B is known from A's transfers alone
    b = rows[B]
    assert (b["registered"], b["reported"], b["executed"]) == (False, False, None)
    assert (b["transfers"], b["bytes_received"], b["bytes_sent"]) == (None, None, None)


@pytest.mark.parametrize("impossible", [float("inf"), 1e300, -5.0])
def test_an_impossible_duration_is_as_if_it_were_not_recorded(impossible):
    # given an execution from 1 to 4 s and a transfer, as a clock that jumped measured them
    execution, moved = ran("x", 5, A, 1, 4, thread=1), transfer(6, "outgoing", A, B, x=100)
    execution.duration_s = moved.duration_s = impossible
    data = dataset(execution, moved)

    rows = {row["worker"]: row for row in workers_view(data).collect().to_dicts()}

    assert rows[A]["busy_s"] == 3.0
    assert pairs_of(load(data)["dask.transfer"]).collect()["seconds"].to_list() == [None]


def test_an_execution_of_unknown_start_took_an_unknown_time():
    # given what a coupler records that leaves out begins, ends and duration
    data = dataset(scheduler("x", 5, "processing>memory", worker=A, thread=1))

    row = one(workers_view(data))

    assert (row["executed"], row["busy_s"], row["unended"]) == (1, None, 1)


def test_sizes_of_keys_that_exceed_64_bits_together_are_an_unknown_sum():
    moved = transfer(6, "outgoing", A, B, x=2**63 - 1, y=2**63 - 1)
    moved.total_bytes = None

    rows = {row["worker"]: row for row in workers_view(dataset(moved)).collect().to_dicts()}

    assert (rows[A]["transfers"], rows[A]["bytes_sent"]) == (1, None)


def test_without_the_scheduler_executions_are_those_that_workers_recorded():
    # given a run of which only worker files are left, and a log of workers with 8 threads each
    data = dataset(
        worker("('load-fe12', 0)", 1, "ready>executing", A),
        worker("('load-fe12', 0)", 3, "executing>memory", A),
        worker("('load-fe12', 1)", 2, "ready>executing", A),
        worker("('load-fe12', 1)", 4, "executing>error", A),
        worker("sum-2", 5, "ready>executing", B),
        r.WorkerEvent(time=at(0), worker="tcp://10.0.0.3:4003", action="add"),
        *[r.LogEvent(time=at(0), message="Threads: 8", kind="threads", fields={"threads": "8"})]
        * 2,
    )

    rows = {row["worker"]: row for row in workers_view(data).collect().to_dicts()}

    # then A executed twice, 2 s each, together from second 1 to 4; on which threads is not known
    a = rows[A]
    assert (a["executed"], a["unended"], a["busy_s"], a["occupied_s"]) == (2, 0, 4.0, 3.0)
    assert (a["threads"], a["nthreads"]) == (None, 8)
    # B was not seen to end, so that the time is not known; of the silent worker nothing is
    assert (rows[B]["executed"], rows[B]["unended"], rows[B]["busy_s"]) == (1, 1, None)
    silent = rows["tcp://10.0.0.3:4003"]
    assert (silent["executed"], silent["busy_s"], silent["threads"]) == (None, None, None)

    # and tasks have the same executions, and the prefixes of their keys
    tasks = {row["key"]: row for row in tasks_view(data).collect().to_dicts()}
    failed = tasks["('load-fe12', 1)"]
    assert (failed["executions"], failed["executed_on"], failed["prefix"]) == (1, A, "load")
    assert (failed["began"], failed["ended"], failed["duration_s"]) == (at(2), at(4), 2.0)
    assert one(run_summary_view(data))["task_prefixes"] == 2


def test_logs_that_name_several_numbers_of_threads_do_not_say_which_worker_has_which():
    data = dataset(
        worker("x", 1, "ready>executing", A),
        *[
            r.LogEvent(time=at(0), message="m", kind="threads", fields={"threads": n})
            for n in ("4", "8")
        ],
    )
    assert one(workers_view(data))["nthreads"] is None


def test_the_log_tells_of_workers_that_events_leave_out():
    data = dataset(
        r.WorkerEvent(time=at(1), worker=A, action="add"),
        r.LogEvent(time=at(2), message="m", kind="registration", worker=A),
        r.LogEvent(time=at(3), message="m", kind="registration", worker=B),
        r.LogEvent(time=at(9), message="m", kind="removal", worker=A),
        r.LogEvent(time=at(5), message="m", kind="threads", worker="tcp://10.0.0.9:1"),
    )
    rows = {row["worker"]: row for row in workers_view(data).collect().to_dicts()}
    assert set(rows) == {A, B}
    assert (rows[A]["registered_time"], rows[A]["removed_time"]) == (at(1), at(9))
    assert (rows[B]["registered_time"], rows[B]["removed_time"]) == (at(3), None)


def test_without_an_action_a_removal_is_known_by_its_stimulus():
    data = dataset(
        r.WorkerEvent(time=at(1), worker=A),
        r.WorkerEvent(time=at(7), worker=A, stimulus_id="handle-worker-cleanup-1"),
    )
    row = one(workers_view(data))
    assert (row["registered_time"], row["removed_time"]) == (at(1), at(7))


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("tcp://10.0.0.1:8786", "10.0.0.1"),
        ("tls://node-7.cluster:443", "node-7.cluster"),
        ("tcp://[fe80::1]:9", "fe80::1"),
        ("worker-3", None),
    ],
)
def test_the_host_of_a_worker_is_read_from_its_address(address, host):
    assert one(workers_view(dataset(worker("x", 0, "a>b", address))))["host"] == host
