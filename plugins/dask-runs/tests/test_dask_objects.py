"""Tasks as objects, and as text."""

import copy
import pickle
import re
from datetime import datetime, timedelta
from pathlib import Path

import attrs
import polars as pl
import pytest
from dask_rows import at

import harvest
from harvest import UsageError
from harvest_dask_runs import (
    EventSource,
    GraphEvent,
    SchedulerEvent,
    Task,
    TaskHandler,
    TaskState,
    TransferEvent,
    WorkerEvent,
)
from harvest_dask_runs.memory import Harvested

RUN = Path(__file__).resolve().parents[3] / "examples/dask-run/D2024-05-06_07:08:09_R1_W4"


def scheduler(seconds: float, start: str, finish: str, **more) -> SchedulerEvent:
    states = {"start_state": TaskState(start), "finish_state": TaskState(finish)}
    return SchedulerEvent(time=at(seconds), **states, **more)


def by_worker(seconds: float, start: str, finish: str) -> WorkerEvent:
    states = {"start_state": TaskState(start), "finish_state": TaskState(finish)}
    return WorkerEvent(time=at(seconds), worker="w1", **states)


@pytest.fixture(scope="module")
def found() -> Harvested:
    reader = pytest.importorskip("harvest_mofka_dask.source", reason="it reads the example")
    return Harvested.of([harvest.collect(reader.MofkaDaskSource(str(RUN)))])


@pytest.fixture(scope="module")
def example(found) -> TaskHandler:
    return TaskHandler.from_harvested(found)


# ---- states -------------------------------------------------------------------------------------


def test_a_known_state_is_a_member():
    assert TaskState("long-running") is TaskState.LONG_RUNNING
    assert TaskState.LONG_RUNNING == "long-running"
    assert TaskState.LONG_RUNNING.known


@pytest.mark.parametrize("word", ["executing", "teleporting", "", "\n ü\x00"])
def test_any_state_is_accepted_and_kept(word):
    state = TaskState(word)
    assert state == word
    assert hash(state) == hash(word)
    assert str(state) == word
    assert state == TaskState(word)
    assert pickle.loads(pickle.dumps(state)) == copy.deepcopy(state) == state
    assert state.known == (word in [member.value for member in TaskState])


def test_a_state_is_text():
    with pytest.raises(ValueError, match="3"):
        TaskState(3)


# ---- a task -------------------------------------------------------------------------------------


def test_a_task_knows_its_times_and_states():
    task = Task(
        key="x",
        events=(
            GraphEvent(time=at(0), client="c", requested=True),
            scheduler(0, "released", "waiting"),
            scheduler(1, "waiting", "processing"),
            by_worker(2, "ready", "executing"),
            by_worker(5, "executing", "memory"),
            scheduler(5.5, "processing", "memory", worker="w1", thread=7, size_bytes=3),
            TransferEvent(time=at(6), direction="outgoing", worker="w1", requestor="w2"),
            scheduler(8, "memory", "waiting"),
            scheduler(9, "waiting", "odd"),
        ),
    )
    assert (task.first_time, task.last_time) == (at(0), at(9))
    assert task.duration == timedelta(seconds=9)
    assert task.workers == ["w1"]
    assert task.threads == [7]
    assert task.states == ["released", "waiting", "processing", "memory", "waiting", "odd"]
    assert task.last_state == "odd"
    assert task.time_in_state() == {"waiting": 2.0, "processing": 4.5, "memory": 2.5}
    assert task.time_in_state("w1") == {TaskState.EXECUTING: 3.0}
    assert task.time_in_state("w2") == {}
    assert task.execution is not None
    assert task.execution.size_bytes == 3
    assert [event.source for event in task.events][:2] == [
        EventSource.GRAPH,
        EventSource.SCHEDULER,
    ]


def test_a_task_without_events_knows_nothing():
    task = Task(key="x")
    assert (task.first_time, task.last_time, task.duration) == (None, None, None)
    assert (task.states, task.workers, task.last_state, task.execution) == ([], [], None, None)
    assert task.to_text() == "Task x\n  events (0)\n"


# ---- a handler ----------------------------------------------------------------------------------


def test_tasks_are_found_by_key(example):
    key = example.keys()[0]
    assert key in example
    assert example[key].key == key
    assert example.get(key) == example[key]
    assert example.get(key, run=RUN.name) == example[key]
    assert example.get(key, run="another") is None
    assert "no such key" not in example
    assert example.get("no such key") is None
    with pytest.raises(KeyError, match="no such key"):
        example["no such key"]


def test_a_handler_gives_tasks_and_pairs_of_key_and_task_as_a_mapping_does(example):
    tasks = list(example)
    assert list(example.values()) == tasks
    assert list(example.items()) == [(task.key, task) for task in tasks]


def test_objects_say_what_the_view_says(example):
    # given the rows of the view, each column computed by polars
    for row in example.frame.iter_rows(named=True):
        task = Task.from_row(row)
        assert (task.first_time, task.last_time) == (row["first_time"], row["last_time"])
        assert task.workers == row["workers"]
        assert task.threads == row["threads"]
        assert task.last_state == row["last_state"]
        assert task.time_in_state() == pytest.approx(
            {s["state"]: s["seconds"] for s in row["scheduler_states"]}
        )
        for worker in task.workers:
            expected = [s for s in row["worker_states"] or [] if s["worker"] == worker]
            assert task.time_in_state(worker) == pytest.approx(
                {s["state"]: s["seconds"] for s in expected}
            )
        execution = task.execution
        assert (execution.ends if execution else None) == row["ended"]
        assert (execution.size_bytes if execution else None) == row["size_bytes"]


def test_events_survive_the_way_through_objects(example):
    for row in example.frame.iter_rows(named=True):
        for event, expected in zip(Task.from_row(row).events, row["events"], strict=True):
            same = {**attrs.asdict(event), "source": event.source, "what": event.what}
            assert {**dict.fromkeys(expected), **same} == expected


def test_tasks_sort_by_their_first_event(example):
    times = [task.first_time for task in example.sorted(reverse=True)]
    assert times == sorted(times, reverse=True)
    assert [task.key for task in example.sorted()] == example.keys()


def test_a_run_is_chosen_from_a_dataset(found):
    reader = found.reader
    assert len(TaskHandler.from_dataset(reader)) == 58
    assert len(TaskHandler.from_dataset(reader, run=RUN.name)) == 58
    with pytest.raises(UsageError, match="holds no run 'another'"):
        TaskHandler.from_dataset(reader, run="another")


# ---- text and files -----------------------------------------------------------------------------


def test_the_text_of_a_task_holds_every_event_in_order(example):
    for task in example:
        lines = task.to_text().splitlines()
        assert lines[0] == f"Task {task.key}"
        # only a single long word, such as a path, may stick out
        assert all(len(line) <= 100 or " " not in line[46:].strip() for line in lines)
        listed = [line for line in lines if re.match(r"    \d{4}-\d\d-\d\dT", line)]
        assert len(listed) == len(task.events)
        for line, event in zip(listed, task.events, strict=True):
            time, source, rest = line.split(maxsplit=2)
            assert datetime.fromisoformat(time) == event.time
            assert source == event.source
            assert rest.startswith(event.what)


def test_many_dependencies_are_listed_in_part():
    task = Task(key="x", dependencies=tuple(f"k{n}" for n in range(1000)))
    assert "k11, and 988 more" in task.to_text()


def test_terminal_escapes_in_names_are_shown_as_text():
    hostile = "evil\x1b[2J\x1b]0;owned\x07\r\n\u202egnp.exe\u2028"
    task = Task(key=hostile, group=hostile, prefix="p", client=hostile, run=hostile)
    text = task.to_text()
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2028]", text)
    assert r"Task evil\x1b[2J\x1b]0;owned\x07\r\n\u202egnp.exe\u2028" in text


def test_tasks_are_written_in_three_formats(example, tmp_path):
    for name in ("tasks.txt", "tasks.jsonl", "tasks.parquet"):
        example.write(tmp_path / name)
    assert (tmp_path / "tasks.txt").read_text() == example.to_text()
    lines = pl.read_ndjson(tmp_path / "tasks.jsonl")
    assert lines["key"].to_list() == example.keys()
    assert lines["events"].list.len().to_list() == [len(task.events) for task in example]
    assert pl.read_parquet(tmp_path / "tasks.parquet").equals(example.frame)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "tasks.jsonl",
        "tasks.parquet",
        "tasks.txt",
    ]


def test_another_suffix_is_refused(example, tmp_path):
    with pytest.raises(UsageError, match=r"\.txt, \.jsonl or \.parquet"):
        example.write(tmp_path / "tasks.xlsx")
