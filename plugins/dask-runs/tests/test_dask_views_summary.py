"""The view ``dask.run_summary``, over a few rows written by hand."""

from itertools import chain
from typing import Any

import pytest
from dask_rows import A, B, at, dataset, one, ran, scheduler, transfer, worker

from harvest import Record
from harvest_dask.records import types as r
from harvest_dask_runs.frames import repeated_events
from harvest_dask_runs.views.summary import run_summary as run_summary_view
from harvest_dask_runs.views.tasks import tasks


def complete_run() -> list[Record]:
    return [
        r.WorkerEvent(time=at(0), worker=A, action="add"),
        r.WorkerEvent(time=at(0), worker=B, action="add"),
        scheduler("x", 1, "released>waiting", group="g", prefix="p"),
        ran("x", 3, A, 1, 2),
        scheduler("x", 4, "memory>forgotten"),
        worker("x", 1, "ready>executing", A),
        worker("x", 2, "executing>memory", A),
        worker("x", 2, "released>fetch", B),
        r.GraphTask(time=at(0), client="c", key="x", dependencies=[], requested=True, graph=1),
        transfer(0, "outgoing", A, None, x=5),
        r.LogEvent(time=at(0), message="m", kind="start", source="scheduler"),
    ]


def test_a_complete_run_has_no_notes():
    summary = one(run_summary_view(dataset(*complete_run())))
    assert summary["completeness_notes"] == []
    assert summary["complete"] is True
    assert (summary["first_time"], summary["last_time"]) == (at(0), at(4))
    assert summary["wall_s"] == 4.0
    assert (summary["workers"], summary["workers_reported"]) == (2, 2)
    assert (summary["tasks"], summary["task_groups"], summary["task_prefixes"]) == (1, 1, 1)


def recorded(without: type | tuple[type, ...], more: list[Record] | None = None) -> list[Record]:
    """The complete run without some types of rows, and with some more rows."""
    return [*(row for row in complete_run() if not isinstance(row, without)), *(more or ())]


def summaries(*runs: list[Record]) -> list[dict[str, Any]]:
    """A row for each of these runs, which one dataset holds in directories of their own."""
    for number, rows in enumerate(runs):
        for row in rows:
            row.origin = f"/runs/{number:02}/rows.csv"
    return run_summary_view(dataset(*chain(*runs))).sort("run").collect().to_dicts()


def test_what_a_record_lacks_is_said_in_a_sentence():
    lacking = [
        ([r.WorkerEvent(time=at(0), worker="tcp://10.0.0.3:1", action="add")], (),
         "1 of 3 registered workers reported no events: tcp://10.0.0.3:1; "
         "silence there is not idleness"),
        ([r.LogEvent(time=None, message="data failure: {", kind="data_failure")], (),
         "1 event was lost in the consumer"),
        ([], (r.WorkerEvent,),
         "no worker registration is recorded: workers without events are unknown"),
        ([], (r.TaskTransition,),
         "no scheduler transition is recorded: states of tasks, their threads and the sizes of "
         "results are unknown; workers recorded the executions, and kinds of tasks are derived "
         "from keys"),
        ([], (r.Transfer,),
         "no transfer is recorded: it is unknown how much data moved"),
        ([transfer(1, "incoming", *ends, x=1) for ends in ((A, B), (B, A))], (r.WorkerTransition,),
         "no worker transition is recorded: the executions and their times are the scheduler's"),
        ([], (r.GraphTask,),
         "no graph is recorded: dependencies and clients of tasks are unknown"),
        ([], (r.LogEvent,),
         "no log of Dask is recorded: memory warnings and deaths of workers are unknown"),
        # the worker's record begins after this execution
        ([ran("x", 0.5, A, 0.1, 0.4)], (),
         "only the scheduler recorded 1 execution of workers that recorded others: records of "
         "workers may begin late, or lack events"),
        ([worker("x", 2, "a>b", "0")], (),
         "1 worker reported without registration: 0"),
        ([scheduler("y", 1, "waiting>processing")], (),
         "1 task reached none of memory, erred and released: the record may end before the run "
         "did"),
        ([r.GraphTask(time=at(0), client="c", key=k, dependencies=[], requested=False, graph=1)
          for k in "xyz"],
         (), "2 of 3 tasks in the graphs have no scheduler transition"),
    ]  # fmt: skip
    found = summaries(*(recorded(without, more) for more, without, _ in lacking))

    assert [row["completeness_notes"] for row in found] == [[note] for *_, note in lacking]
    assert not any(row["complete"] for row in found)


@pytest.mark.slow
def test_a_directory_named_for_more_workers_than_registered_is_noted():
    run = "/runs/D2024-05-06_07:00:00_R1_W8"
    summary = one(run_summary_view(dataset(*complete_run(), run=run)))
    assert summary["completeness_notes"] == [
        "the directory's name says 8 workers, but 2 registered"
    ]


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
    (summary,) = summaries(recorded((r.WorkerTransition, r.Transfer)))
    said = "the scheduler recorded executions on 1 worker without events"
    assert said in summary["completeness_notes"]


def test_what_a_missing_record_would_have_is_null_and_not_0():
    unknown = {
        r.Transfer: ("transfers", "transfer_copies", "bytes_sent", "bytes_received",
                     "bytes_to_clients", "bytes_moved"),
        r.GraphTask: ("graphs", "graph_tasks", "clients"),
        r.TaskTransition: ("scheduler_transitions", "task_groups", "unfinished_tasks"),
        r.WorkerTransition: ("worker_transitions",),
        r.WorkerEvent: ("workers", "silent_workers", "unregistered_workers"),
    }  # fmt: skip

    found = summaries(*map(recorded, unknown))

    for summary, names in zip(found, unknown.values(), strict=True):
        assert {name for name in names if summary[name] is not None} == set()


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


def test_an_event_that_several_files_of_a_run_hold_counts_once():
    # the scheduler records the first transition twice, at the same time
    one_file, other = ([scheduler("x", 1, "released>waiting"), *complete_run()] for _ in range(2))
    for row in other:
        row.origin = "/runs/R1/other.csv"
    data = dataset(*one_file, *other, run="/runs/R1")

    summary, task = one(run_summary_view(data)), one(tasks(data))

    assert (summary["scheduler_transitions"], summary["worker_transitions"]) == (4, 3)
    assert (summary["bytes_sent"], task["executions"]) == (5, 1)
    assert repeated_events(data, "/runs/R1") == 4 + 3 + summary["transfers"]
