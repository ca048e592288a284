"""The views of Dask runs, over a few rows written by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from harvest import Record, record_type
from harvest.model.arrow import table_of
from harvest_mofka_dask import records as r
from harvest_mofka_dask.api.memory import MemoryReader
from harvest_mofka_dask.views.summary import run_summary as run_summary_view
from harvest_mofka_dask.views.tasks import tasks as tasks_view
from harvest_mofka_dask.views.workers import workers as workers_view

T0 = datetime(2024, 5, 6, 7, 0, tzinfo=UTC)
RUN = "/runs/D2024-05-06_07:00:00_R1_W2"
A, B = "tcp://10.0.0.1:4001", "tcp://10.0.0.2:4002"


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def dataset(*rows: Record, run: str = RUN) -> MemoryReader:
    """A reader over rows; each gets the file of its type in the run's directory, and a number."""
    by_type: dict[str, list[Record]] = {}
    for row in rows:
        kind = record_type(type(row))
        same = by_type.setdefault(kind.name, [])
        row.origin = row.origin or f"{run}/{kind.name}.csv"
        row.position = row.position or len(same) + 1
        same.append(row)
    return MemoryReader(
        {name: table_of(record_type(type(same[0])), same) for name, same in by_type.items()}
    )


def scheduler(key: str, seconds: float, change: str, **more: Any) -> r.TaskTransition:
    start, finish = change.split(">")
    return r.TaskTransition(
        time=at(seconds), key=key, start_state=start, finish_state=finish, **more
    )


def worker(key: str, seconds: float, change: str, address: str, **more: Any) -> r.WorkerTransition:
    start, finish = change.split(">")
    return r.WorkerTransition(
        time=at(seconds), key=key, start_state=start, finish_state=finish, worker=address, **more
    )


def transfer(seconds: float, direction: str, told_by: str, other: str | None, **keys: int) -> Any:
    incoming = direction == "incoming"
    return r.Transfer(
        start_time=at(seconds),
        end_time=at(seconds + 0.5),
        time=at(seconds + 1),
        duration_s=0.5,
        keys=[r.KeySize(key, size) for key, size in keys.items()],
        total_bytes=sum(keys.values()),
        direction=direction,
        requestor=told_by if incoming else other,
        fulfiller=other if incoming else told_by,
        worker=told_by,
    )


def ran(key: str, seconds: float, address: str, begins: float, ends: float, **more: Any) -> Any:
    return scheduler(
        key,
        seconds,
        "processing>memory",
        worker=address,
        begins=at(begins),
        ends=at(ends),
        duration_s=ends - begins,
        **more,
    )


def one(frame: pl.LazyFrame) -> dict[str, Any]:
    rows = frame.collect().to_dicts()
    assert len(rows) == 1
    return rows[0]


# ---- dask.tasks ---------------------------------------------------------------------------------


def test_a_task_has_the_time_it_spent_in_each_state():
    # given transitions in another order than that of time, as worker files have them
    data = dataset(
        scheduler("x", 0, "released>waiting", prefix="load", group="load-1"),
        scheduler("x", 1.25, "waiting>processing"),
        ran("x", 4, A, 2, 3.5, thread=7, size_bytes=10),
        scheduler("x", 6, "memory>forgotten"),
        worker("x", 3.5, "executing>memory", A),
        worker("x", 2, "waiting>ready", A),
        worker("x", 2.5, "ready>executing", A),
    )

    task = one(tasks_view(data))

    # then a state lasts until the next transition; the last one counts nothing
    assert task["scheduler_states"] == [
        {"state": "waiting", "seconds": 1.25},
        {"state": "processing", "seconds": 2.75},
        {"state": "memory", "seconds": 2.0},
    ]
    assert task["worker_states"] == [
        {"worker": A, "state": "ready", "seconds": 0.5},
        {"worker": A, "state": "executing", "seconds": 1.0},
    ]
    assert (task["run"], task["key"]) == (RUN, "x")
    assert (task["group"], task["prefix"], task["last_state"]) == ("load-1", "load", "forgotten")
    assert (task["first_time"], task["last_time"]) == (at(0), at(6))
    assert (task["executed_on"], task["began"], task["ended"]) == (A, at(2), at(3.5))
    assert (task["duration_s"], task["size_bytes"], task["threads"]) == (1.5, 10, [7])


def test_times_of_a_state_entered_twice_add_up():
    data = dataset(
        scheduler("x", 0, "released>waiting"),
        scheduler("x", 1, "waiting>waiting"),
        scheduler("x", 3, "waiting>processing"),
    )
    assert one(tasks_view(data))["scheduler_states"] == [{"state": "waiting", "seconds": 3.0}]


def test_states_in_two_workers_are_told_apart():
    data = dataset(
        worker("x", 0, "released>fetch", B),
        worker("x", 1, "executing>memory", A),
        worker("x", 2, "fetch>flight", B),
        worker("x", 5, "memory>released", A),
    )
    task = one(tasks_view(data))
    assert task["worker_states"] == [
        {"worker": B, "state": "fetch", "seconds": 2.0},
        {"worker": A, "state": "memory", "seconds": 4.0},
    ]
    assert task["workers"] == [B, A]
    assert task["scheduler_states"] is None
    assert task["last_state"] is None


def test_the_last_of_several_executions_counts():
    data = dataset(
        ran("x", 2, A, 1, 2, thread=1, size_bytes=5),
        scheduler("x", 3, "memory>released"),
        ran("x", 6, B, 4, 6, thread=2, size_bytes=6),
    )
    task = one(tasks_view(data))
    assert (task["executions"], task["executed_on"], task["size_bytes"]) == (2, B, 6)
    assert (task["duration_s"], task["threads"]) == (2.0, [1, 2])


def test_transfers_count_for_each_key_with_its_share():
    data = dataset(
        transfer(1, "incoming", B, A, x=100, y=30),
        transfer(1.1, "outgoing", A, B, x=100, y=30),
        transfer(2, "outgoing", A, None, x=100),
        transfer(3, "incoming", B, A),
    )
    x, y = tasks_view(data).collect().to_dicts()
    assert (x["key"], x["bytes_sent"], x["bytes_received"], x["transfers"]) == ("x", 200, 100, 3)
    assert (y["key"], y["bytes_sent"], y["bytes_received"], y["transfers"]) == ("y", 30, 30, 2)
    assert [event["what"] for event in x["events"]] == [
        f"incoming from {A}",
        f"outgoing to {B}",
        "outgoing to a client",
    ]
    assert [event["total_bytes"] for event in x["events"]] == [130, 130, 100]


def test_graphs_tell_who_asked_and_what_depends_on_what():
    def sent(key: str, *needs: str, client: str, requested: bool = False, graph: int = 1) -> Record:
        return r.GraphTask(
            time=at(graph),
            client=client,
            key=key,
            dependencies=list(needs),
            requested=requested,
            graph=graph,
        )

    data = dataset(
        sent("a", client="c1"),
        sent("b", "a", client="c1"),
        sent("c", "b", "a", client="c1", requested=True),
        sent("b", "a", "z", client="c2", requested=True, graph=2),
        scheduler("loose", 0, "released>waiting"),
    )
    rows = {row["key"]: row for row in tasks_view(data).collect().to_dicts()}

    assert rows["a"]["dependencies"] == []
    assert rows["b"]["dependencies"] == ["a", "z"]
    assert rows["c"]["dependencies"] == ["a", "b"]
    assert {key: row["dependents"] for key, row in rows.items()} == {
        "a": 2,
        "b": 1,
        "c": 0,
        "loose": None,
    }
    # the client that asked for the result comes before one that sent the task along
    assert (rows["b"]["client"], rows["b"]["requested"]) == ("c2", True)
    assert (rows["a"]["client"], rows["a"]["requested"]) == ("c1", False)
    assert rows["loose"]["client"] is None
    assert rows["loose"]["dependencies"] is None


def test_events_are_all_there_and_in_order():
    data = dataset(
        worker("x", 1, "waiting>ready", A),
        scheduler("x", 1, "released>waiting", stimulus_id="update-graph-1"),
        scheduler("x", 1, "waiting>processing"),
        transfer(1, "outgoing", A, B, x=1),
        worker("x", 0.5, "released>waiting", A),
        r.GraphTask(time=at(1), client="c", key="x", dependencies=[], requested=False),
    )
    events = one(tasks_view(data))["events"]
    # at equal times: graph, scheduler, worker, transfer; then the order of the input
    assert [(e["source"], e["what"]) for e in events] == [
        ("worker", "released -> waiting"),
        ("graph", "sent by c"),
        ("scheduler", "released -> waiting"),
        ("scheduler", "waiting -> processing"),
        ("worker", "waiting -> ready"),
        ("transfer", f"outgoing to {B}"),
    ]
    assert (events[2]["stimulus_id"], events[2]["position"]) == ("update-graph-1", 1)
    assert events[0]["origin"] == f"{RUN}/dask.worker_transition.csv"


def test_an_unknown_state_is_kept():
    data = dataset(
        scheduler("x", 0, "released>teleporting"), scheduler("x", 1, "teleporting>memory")
    )
    assert one(tasks_view(data))["scheduler_states"] == [{"state": "teleporting", "seconds": 1.0}]


def test_runs_do_not_mix():
    # given one key and one worker in two run directories
    other = "/runs/D2024-05-06_09:00:00_R2_W2"
    data = dataset(
        scheduler("x", 0, "released>waiting"),
        scheduler("x", 10, "released>waiting", origin=f"{other}/s.csv"),
        worker("x", 1, "waiting>ready", A),
        worker("x", 11, "waiting>ready", A, origin=f"{other}/w.csv"),
    )

    tasks = tasks_view(data).collect()

    assert tasks["run"].to_list() == [RUN, other]
    assert tasks["scheduler_states"].to_list() == [None, None]
    assert tasks["events"].list.len().to_list() == [2, 2]
    assert workers_view(data).collect().height == 2
    assert run_summary_view(data).collect()["scheduler_transitions"].to_list() == [1, 1]
    # and one can be asked for, by its directory or the directory's name
    for name in (other, other + "/", "D2024-05-06_09:00:00_R2_W2"):
        assert tasks_view(data, run=name).collect()["run"].to_list() == [other]
    assert tasks_view(data, run="W2").collect().is_empty()


def test_one_task_can_be_asked_for():
    data = dataset(scheduler("x", 0, "a>b"), scheduler("y", 0, "a>b"))
    assert tasks_view(data, key="y").collect()["key"].to_list() == ["y"]


@pytest.mark.parametrize("view", [tasks_view, workers_view, run_summary_view])
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_views_of_nothing_are_empty_and_keep_their_columns(view, engine):
    empty, full = dataset(), dataset(scheduler("x", 0, "a>b"))
    frame = view(empty).collect(engine=engine)
    assert frame.is_empty()
    assert frame.schema == view(full).collect(engine=engine).schema


@pytest.mark.parametrize(
    "row",
    [
        scheduler("x", 0, "a>b"),
        worker("x", 0, "a>b", A),
        transfer(0, "incoming", A, B, x=1),
        r.WorkerEvent(time=at(0), worker=A, action="add"),
        r.ClientEvent(time=at(0), client="c", action="add"),
        r.GraphTask(time=at(0), client="c", key="x", dependencies=[], requested=True, graph=1),
        r.LogEvent(time=at(0), message="m", kind="registration", worker=A),
    ],
    ids=lambda row: record_type(type(row)).name,
)
def test_each_record_type_alone_is_enough_for_a_summary(row):
    summary = one(run_summary_view(dataset(row)))
    assert summary["run"] == RUN
    assert summary["first_time"] is not None
    assert summary["completeness_notes"]


# ---- dask.workers -------------------------------------------------------------------------------


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
    assert (b["registered"], b["reported"], b["executed"]) == (False, False, 0)


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
        ("ucx://n1:1", "n1"),
        ("worker-3", None),
        ("0", None),
    ],
)
def test_the_host_of_a_worker_is_read_from_its_address(address, host):
    assert one(workers_view(dataset(worker("x", 0, "a>b", address))))["host"] == host


# ---- dask.run_summary ---------------------------------------------------------------------------


def complete_run() -> list[Record]:
    return [
        r.WorkerEvent(time=at(0), worker=A, action="add"),
        r.WorkerEvent(time=at(0), worker=B, action="add"),
        scheduler("x", 1, "released>waiting", group="g", prefix="p"),
        ran("x", 3, A, 1, 2),
        scheduler("x", 4, "memory>forgotten"),
        worker("x", 2, "executing>memory", A),
        worker("x", 2, "released>fetch", B),
    ]


def test_a_complete_run_has_no_notes():
    summary = one(run_summary_view(dataset(*complete_run())))
    assert summary["completeness_notes"] == []
    assert summary["complete"] is True
    assert (summary["first_time"], summary["last_time"]) == (at(0), at(4))
    assert summary["wall_s"] == 4.0
    assert (summary["workers"], summary["workers_reported"]) == (2, 2)
    assert (summary["tasks"], summary["task_groups"], summary["task_prefixes"]) == (1, 1, 1)


def test_bytes_that_both_sides_told_are_moved_once():
    data = dataset(
        *complete_run(),
        transfer(1, "incoming", B, A, x=100),
        transfer(1, "outgoing", A, B, x=100),
        transfer(2, "outgoing", A, B, x=40),  # B did not report this one
        transfer(2, "incoming", A, B, y=7),  # nor of this one, the other way
        transfer(3, "outgoing", A, None, x=100),
    )
    summary = one(run_summary_view(data))
    assert (summary["bytes_received"], summary["bytes_sent"]) == (107, 240)
    assert summary["bytes_to_clients"] == 100
    assert summary["bytes_moved"] == 100 + 40 + 7 + 100


def test_copies_are_counted_beside_transfers():
    move = transfer(1, "incoming", B, A, x=1)
    move.copies = 3
    summary = one(run_summary_view(dataset(*complete_run(), move)))
    assert (summary["transfers"], summary["transfer_copies"]) == (1, 3)


@pytest.mark.parametrize(
    ("more", "without", "note"),
    [
        (
            [r.WorkerEvent(time=at(0), worker="tcp://10.0.0.3:1", action="add")],
            (),
            "1 of 3 registered workers reported no events: tcp://10.0.0.3:1; "
            "silence there is not idleness",
        ),
        (
            [r.LogEvent(time=None, message="data failure: {", kind="data_failure")] * 1,
            (),
            "1 event was lost in the consumer",
        ),
        (
            [
                r.LogEvent(time=None, message=f"data failure: {n}", kind="data_failure")
                for n in range(12)
            ],
            (),
            "12 events were lost in the consumer",
        ),
        (
            [],
            (r.WorkerEvent,),
            "no worker registration is recorded: which workers took part is not known",
        ),
        (
            [],
            (r.TaskTransition,),
            "no scheduler transition is recorded: states of tasks, the threads that ran them and "
            "the sizes of results are not known; executions are those that workers recorded, and "
            "kinds of tasks are derived from their keys",
        ),
        (
            [worker("x", 2, "a>b", "0")],
            (),
            "1 worker is reporting under a name or address that is not registered: 0",
        ),
        (
            [scheduler("y", 1, "waiting>processing")],
            (),
            "1 task was last seen before reaching memory, erred or released: "
            "the record may end before the run did",
        ),
        (
            [
                r.GraphTask(
                    time=at(0), client="c", key=k, dependencies=[], requested=False, graph=1
                )
                for k in "xyz"
            ],
            (),
            "2 of 3 tasks in the graphs have no scheduler transition",
        ),
    ],
)
def test_what_a_record_lacks_is_said_in_a_sentence(more, without, note):
    rows = [row for row in complete_run() if not isinstance(row, without)]
    summary = one(run_summary_view(dataset(*rows, *more)))
    assert summary["completeness_notes"] == [note]
    assert summary["complete"] is False


@pytest.mark.slow
def test_a_directory_named_for_more_workers_than_registered_is_noted():
    run = "/runs/D2024-05-06_07:00:00_R1_W8"
    summary = one(run_summary_view(dataset(*complete_run(), run=run)))
    assert summary["completeness_notes"] == [
        "the directory is named for 8 workers but 2 registered"
    ]


@pytest.mark.slow
def test_a_run_without_transitions_of_workers_is_noted():
    rows = [row for row in complete_run() if not isinstance(row, r.WorkerTransition)]
    moved = [transfer(1, "incoming", A, B, x=1), transfer(1, "incoming", B, A, x=1)]
    (note,) = one(run_summary_view(dataset(*rows, *moved)))["completeness_notes"]
    assert note.startswith("no worker transition is recorded: executions are those that the")


def test_many_silent_workers_are_listed_in_part_and_told_in_whole():
    rows = [
        r.WorkerEvent(time=at(0), worker=f"tcp://10.1.0.{n}:1", action="add") for n in range(20)
    ]
    summary = one(run_summary_view(dataset(*rows, *complete_run())))
    assert len(summary["silent_workers"]) == 20
    (note,) = summary["completeness_notes"]
    assert "20 of 22 registered workers" in note
    assert "and 12 more;" in note


def test_a_silent_worker_that_ran_tasks_is_told_of():
    rows = [row for row in complete_run() if not (isinstance(row, r.WorkerTransition))]
    notes = one(run_summary_view(dataset(*rows)))["completeness_notes"]
    assert notes[1] == "the scheduler credits executions to 1 worker that reported no events"


def test_logs_give_the_times_of_a_run_only_where_nothing_else_does():
    log = r.LogEvent(time=at(-3600), message="m", kind="start")
    assert one(run_summary_view(dataset(log)))["first_time"] == at(-3600)
    assert one(run_summary_view(dataset(log, *complete_run())))["first_time"] == at(0)


def test_job_files_are_summed_up():
    data = dataset(
        *complete_run(),
        r.RunNode(role="worker", host="n1"),
        r.RunNode(role="worker", host="n2"),
        r.RunNode(role="scheduler", host="n3"),
        r.RunDirective(manager="pbs", key="A", value="demo"),
        r.RunDirective(manager="pbs", key="V"),
    )
    summary = one(run_summary_view(data))
    assert summary["nodes"] == [{"role": "scheduler", "hosts": 1}, {"role": "worker", "hosts": 2}]
    assert summary["directives"] == [{"key": "A", "value": "demo"}, {"key": "V", "value": None}]


def test_erred_tasks_are_counted_whoever_told():
    data = dataset(
        *complete_run(),
        scheduler("y", 1, "processing>erred"),
        worker("y", 1, "executing>error", A),
        worker("z", 1, "executing>error", A),
    )
    assert one(run_summary_view(data))["erred_tasks"] == 2
