"""The view ``dask.tasks``, over a few rows written by hand."""

import pytest
from dask_rows import RUN, A, B, at, dataset, one, ran, scheduler, transfer, worker

from harvest import Record, record_type
from harvest_dask.records import types as r
from harvest_dask_runs.views.summary import run_summary as run_summary_view
from harvest_dask_runs.views.tasks import tasks as tasks_view
from harvest_dask_runs.views.workers import workers as workers_view


def test_times_of_a_state_entered_twice_add_up_and_states_are_in_the_order_of_entry():
    data = dataset(
        scheduler("x", 0, "released>teleporting"),  # a state that nobody knows is kept
        scheduler("x", 1, "teleporting>waiting"),
        scheduler("x", 3, "waiting>teleporting"),
        scheduler("x", 6, "teleporting>processing"),
    )
    assert one(tasks_view(data))["scheduler_states"] == [
        {"state": "teleporting", "seconds": 4.0},
        {"state": "waiting", "seconds": 2.0},
    ]


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


@pytest.mark.parametrize("view", [tasks_view, workers_view, run_summary_view])
def test_views_of_nothing_are_empty_and_keep_their_columns(view):
    empty, full = dataset(), dataset(scheduler("x", 0, "a>b"))
    frame = view(empty).collect(engine="streaming")
    assert frame.is_empty()
    assert frame.schema == view(full).collect(engine="streaming").schema


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
