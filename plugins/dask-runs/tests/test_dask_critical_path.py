"""The critical path, of runs written by hand, and of real ones by a plain reading of their CSVs."""

import ast
import itertools
from collections import defaultdict
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from dask_rows import (
    RUNS,
    A,
    B,
    at,
    dataset,
    one,
    ran,
    read,
    scheduler,
    tables_of,
    transfer,
    worker,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from night import NIGHT

from harvest_dask.records import types as r
from harvest_dask_runs.critical_path import PARTS, critical_path_view
from harvest_dask_runs.memory import MemoryReader
from harvest_dask_runs.views.indicators import indicators

DIVISION = [f"path_{part}_s" for part in (
    *("computing", "moving", "spilling", "worker", "dependencies", "unrecorded"),
)]  # fmt: skip


def told(data: MemoryReader) -> list[tuple[Any, ...]]:
    """The path in short: key, part, from and to in seconds of the run, and the link."""
    return in_short(critical_path_view(data).collect())


def in_short(rows: pl.DataFrame) -> list[tuple[Any, ...]]:
    return [
        (
            row["key"],
            row["part"],
            *((row[side] - at(0)) / timedelta(seconds=1) for side in ("start", "end")),
            row["link"],
        )
        for row in rows.iter_rows(named=True)
    ]


def executed(key: str, address: str, start: float, end: float, ready: float | None = None) -> Any:
    """What a worker records of an execution."""
    yield worker(key, start if ready is None else ready, "waiting>ready", address)
    yield worker(key, start, "ready>executing", address)
    yield worker(key, end, "executing>memory", address)


def graph(seconds: float, **needs: list[str]) -> Any:
    for key, dependencies in needs.items():
        yield r.GraphTask(time=at(seconds), key=key, dependencies=dependencies, requested=False)


def test_a_task_follows_the_last_of_what_it_needs_and_waits_for_its_data():
    """c needs a (until 4) and b (until 6), whose data move from 6.5 to 7."""
    data = dataset(
        *graph(0, a=[], b=[], c=["a", "b"]),
        *executed("a", A, 1, 4),
        *executed("b", B, 1, 6),
        transfer(6.5, "incoming", A, B, b=100),
        *executed("c", A, 7.25, 9, ready=7),
    )

    assert told(data) == [
        ("b", "computing", 1, 6, None),
        ("c", "nothing recorded", 6, 6.5, "dependency"),
        ("c", "moving", 6.5, 7, "dependency"),
        ("c", "waiting for a worker", 7, 7.25, "dependency"),
        ("c", "computing", 7.25, 9, "dependency"),
    ]
    row = one(indicators(data))
    assert [row[name] for name in DIVISION] == [6.75, 0.5, None, 0.25, 0, 0.5]
    assert (row["path_tasks"], row["path_prefix"], row["path_prefix_s"]) == (2, "b", 5)


def test_a_task_that_was_ready_follows_the_one_that_had_its_thread():
    """c is ready at 2, but its thread has b until 5; a, which it needs, ended at 2."""
    data = dataset(
        *graph(0, a=[], b=[], c=["a"]),
        *executed("a", A, 0, 2),
        *executed("b", A, 1, 5),
        *executed("c", A, 5, 6, ready=2.1),
        *(ran(key, end, A, begin, end, thread=thread) for key, begin, end, thread in (
            ("a", 0, 2, 1), ("b", 1, 5, 2), ("c", 5, 6, 2),
        )),
    )  # fmt: skip

    assert told(data) == [
        ("b", "nothing recorded", 0, 1, None),
        ("b", "computing", 1, 5, None),
        ("c", "computing", 5, 6, "thread"),
    ]


def test_a_task_of_a_later_graph_follows_what_its_client_had_waited_for():
    data = dataset(
        *graph(0, a=[]),
        *graph(5, b=["a"]),
        *executed("a", A, 1, 3),
        scheduler("b", 5, "released>waiting"),
        scheduler("b", 5.5, "waiting>processing", stimulus_id="update-graph-5"),
        *executed("b", A, 7, 8, ready=6.5),
    )

    assert told(data) == [
        ("a", "computing", 1, 3, None),
        ("b", "nothing recorded", 3, 5, "client"),
        ("b", "waiting for dependencies", 5, 5.5, "client"),
        ("b", "waiting for a worker", 5.5, 7, "client"),
        ("b", "computing", 7, 8, "client"),
    ]


def test_without_a_graph_the_scheduler_says_whose_end_released_a_task():
    done = {"stimulus_id": "task-finished-4"}
    data = dataset(
        scheduler("a", 0, "released>waiting"),
        scheduler("b", 0, "released>waiting"),
        scheduler("c", 0, "released>waiting"),
        ran("a", 4, A, 1, 4, **done),
        ran("b", 5, B, 1, 4.5),
        scheduler("c", 4.25, "waiting>processing", **done),
        ran("c", 9, A, 5, 9),
    )

    assert told(data) == [
        ("a", "computing", 1, 4, None),
        ("c", "waiting for dependencies", 4, 4.25, "dependency"),
        ("c", "waiting for a worker", 4.25, 5, "dependency"),
        ("c", "computing", 5, 9, "dependency"),
    ]


def test_what_ended_later_by_another_clock_held_its_dependent_until_that_began():
    data = dataset(*graph(0, a=[], b=["a"]), *executed("a", A, 0, 3), *executed("b", B, 2, 5))

    assert told(data) == [("a", "computing", 0, 2, None), ("b", "computing", 2, 5, "dependency")]


@pytest.mark.slow
def test_a_worker_that_spills_is_said_where_samples_show_it():
    def sample(seconds: float, spilled: int) -> Any:
        more = {"address": A, "role": "worker", "spill_bytes": spilled}
        return r.WorkerSample(time=at(seconds), **more)

    data = dataset(
        *graph(0, a=[], b=["a"]),
        *executed("a", A, 0, 2),
        *(sample(*it) for it in ((2.5, 0), (3, 10), (4, 10))),
        *executed("b", A, 4, 5, ready=2),
    )

    assert [row[:4] for row in told(data)[1:4]] == [
        ("b", "waiting for a worker", 2, 2.5),
        ("b", "spilling", 2.5, 3),
        ("b", "waiting for a worker", 3, 4),
    ]
    assert one(indicators(data))["path_spilling_s"] == 0.5


def test_runs_do_not_mix_and_a_run_without_an_end_has_no_path():
    first = tables_of([*graph(0, a=[]), *executed("a", A, 0, 2)], "/runs/R1")
    second = tables_of(
        [*graph(0, a=[]), *executed("a", A, 1, 5), worker("z", 0, "ready>executing", A)], "/runs/R2"
    )
    third = tables_of([worker("a", 0, "ready>executing", A)], "/runs/R3")
    names = {name for run in (first, second, third) for name in run}
    tables = {
        name: pa.concat_tables([run[name] for run in (first, second, third) if name in run])
        for name in names
    }
    rows = critical_path_view(MemoryReader(tables)).collect()

    assert rows.select("run", "step", "seconds").rows() == [("/runs/R1", 1, 2), ("/runs/R2", 1, 4)]
    judged = indicators(MemoryReader(tables)).collect()
    assert judged["path_computing_s"].to_list() == [2, 4, None]
    assert judged["path_tasks"].to_list() == [1, 1, None]


# ---- real runs, by a plain reading


class Plain:
    """A run's CSVs, in whole microseconds."""

    def __init__(self, run: Path):
        self.run = run
        self.scheduler, self.worker, self.transfers, self.graphs = map(
            self._rows, ("scheduler_transition", "worker_transition", "worker_transfer", "graph")
        )
        self.needs: dict[str, set[str]] = defaultdict(set)
        self.sent: dict[str, int] = {}
        for row in self.graphs:
            dependencies = ast.literal_eval(row["dependencies"].replace("set()", "()"))
            for key, needed in dependencies.items():
                self.needs[str(key)] |= {str(each) for each in needed}
                self.sent[str(key)] = min(self.sent.get(str(key), 2**62), _micros(row["time"]))
        self.executions = self._executions()

    def _rows(self, name: str) -> list[dict[str, str]]:
        there = (self.run / f"{name}.csv").exists()
        return read(self.run, f"{name}.csv") if there else []

    def _executions(self) -> list[dict[str, Any]]:
        """From entering ``executing`` to leaving it, with the thread that the scheduler has."""
        threads = {
            (row["worker"], row["key"]): row["thread"]
            for row in self.scheduler
            if (row["start"], row["finish"]) == ("processing", "memory")
        }
        begun: dict[tuple[str, str], int] = {}
        found = []
        for row in sorted(self.worker, key=lambda row: float(row["time"])):
            one, now = (row["called_from"], row["key"]), _micros(row["time"])
            if row["finish"] == "executing":
                begun[one] = now
            elif row["start"] == "executing":
                found.append({"worker": one[0], "key": one[1], "thread": threads.get(one),
                              "start": begun.pop(one), "end": now})  # fmt: skip
        return found

    def before(self, task: dict[str, Any]) -> tuple[dict[str, Any] | None, str | None]:
        """What a task followed, and how."""
        earlier = [e for e in self.executions if e["start"] < task["start"]]
        needed = [e for e in earlier if e["key"] in self.needs[task["key"]]]
        due = [
            _micros(row["time"])
            for row in (*self.scheduler, *self.worker)
            if row["key"] == task["key"]
            and (row["finish"] == "queued" or (row["finish"] == "ready"
                 and row["called_from"] == task["worker"]))
            and _micros(row["time"]) <= task["start"]
        ]  # fmt: skip
        last = max(needed, key=lambda e: e["end"], default=None)
        there = min(last["end"], task["start"]) if last else None
        sent = self.sent[task["key"]]
        since = min(due) if due else max(there or 0, sent)
        same = [
            e for e in earlier
            if (e["worker"], e["thread"]) == (task["worker"], task["thread"])
            and e["end"] <= task["start"]
        ]  # fmt: skip
        freed = max(same, key=lambda e: e["end"], default=None)
        if freed and freed["end"] > since:
            return freed, "thread"
        if last and there is not None and there >= sent:
            return last, "dependency"
        ended = [e for e in earlier if e["end"] <= min(sent, task["start"])]
        if ended and sent > min(e["start"] for e in self.executions):
            return max(ended, key=lambda e: e["end"]), "client"
        ended = [e for e in earlier if e["end"] <= since]
        return (max(ended, key=lambda e: e["end"]), "time") if ended else (None, None)

    def waited(self, task: dict[str, Any], moment: float) -> str:
        """What a task waited for at a moment."""
        key, home = task["key"], task["worker"]
        for row in self.transfers:
            goes = row["called_from"] if row["type"] == "incoming_transfer" else row["who"]
            moved = ast.literal_eval(row["keys"])
            if goes == home and {str(k) for k in moved} & self.needs[key] and (
                _micros(row["start"]) <= moment <= _micros(row["stop"])
            ):  # fmt: skip
                return "moving"
        at_worker = self._state(self.worker, key, moment, home)
        by_scheduler = self._state(self.scheduler, key, moment)
        if at_worker == "waiting":
            return "waiting for dependencies"
        if at_worker == "ready" or by_scheduler in ("queued", "no-worker", "processing"):
            return "waiting for a worker"
        return "waiting for dependencies" if by_scheduler == "waiting" else "nothing recorded"

    @staticmethod
    def _state(rows: Any, key: str, moment: float, home: str | None = None) -> str | None:
        state = None
        for row in rows:
            mine = row["key"] == key and home in (None, row["called_from"])
            if mine and _micros(row["time"]) <= moment:
                state = row["finish"]
        return state

    def path(self) -> list[tuple[str, str, int, int, str | None]]:
        """key, part, start, end and link, from the first to the last."""
        chain: list[tuple[dict[str, Any], str | None]] = []
        task = max(self.executions, key=lambda e: e["end"], default=None)
        while task:
            before, link = self.before(task)
            chain.insert(0, (task, link))
            task = before
        times = {_micros(row["time"]) for row in (*self.scheduler, *self.worker)}
        times |= {_micros(row[side]) for row in self.transfers for side in ("start", "stop")}
        told: list[tuple[str, str, int, int, str | None]] = []
        now = min((e["start"] for e in self.executions), default=0)
        for place, (task, link) in enumerate(chain):
            cuts = sorted({now, task["start"], *(t for t in times if now < t < task["start"])})
            for begin, end in itertools.pairwise(cuts):
                part = self.waited(task, (begin + end) / 2)
                if told and told[-1][:2] == (task["key"], part):
                    told[-1] = (*told[-1][:3], end, link)
                else:
                    told.append((task["key"], part, begin, end, link))
            until = [e["start"] for e, _ in chain[place + 1 : place + 2]]
            now = min([task["end"], *until])
            told.append((task["key"], "computing", task["start"], now, link))
        return told


def _micros(text: str) -> int:
    return round(Decimal(text) * 10**6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["R1", "image", pytest.param("R6", marks=pytest.mark.slow)])
def test_a_real_run_is_as_a_plain_reading_has_it(name, run_of):
    data, plain = run_of(name), Plain(RUNS[name])
    expected = plain.path()

    rows = data.view("dask.critical_path").collect()
    epoch = rows.with_columns(pl.col("start", "end").dt.epoch("us"))

    assert epoch.select("key", "part", "start", "end", "link").rows() == expected
    row = one(data.view("dask.indicators"))
    sums = dict.fromkeys(PARTS, 0)
    for _, part, start, end, _ in expected:
        sums[part] += end - start
    if not expected:  # no execution of the head of a run was seen to end
        assert [row[name] for name in DIVISION] == [None] * len(DIVISION)
        return
    parts = [None if row[name] is None else round(row[name] * 1e6) for name in DIVISION]
    assert parts == [None if part == "spilling" else sums[part] for part in PARTS]
    span = max(e["end"] for e in plain.executions) - min(e["start"] for e in plain.executions)
    assert sum(part or 0 for part in parts) == span == round(row["span_s"] * 1e6)


# ---- any run


TASKS = st.lists(
    st.tuples(
        st.integers(0, 30),  # ready
        st.integers(0, 5),  # until executed
        st.integers(0, 8),  # executed
        st.sampled_from([A, B]),
        st.lists(st.integers(0, 11), max_size=3),  # needs
        st.booleans(),  # whether the scheduler recorded it
    ),
    min_size=1,
    max_size=12,
)


@pytest.mark.slow
@settings(max_examples=50 if NIGHT else 2)  # the first one is the simplest
@given(st.lists(TASKS, min_size=10, max_size=10))
def test_whatever_is_recorded_the_path_covers_the_time_of_the_run_once(runs):
    data = dataset(*(row for number, drawn in enumerate(runs) for row in recorded(number, drawn)))

    paths = critical_path_view(data).collect().partition_by("run", as_dict=True)
    rows = indicators(data).collect().rows_by_key("run", named=True, unique=True)

    for number, drawn in enumerate(runs):
        path, row = in_short(paths[f"/r{number}",]), rows[f"/r{number}"]
        begins = [ready + wait for ready, wait, *_ in drawn]
        ends = [ready + wait + lasts for ready, wait, lasts, *_ in drawn]
        assert (path[0][2], path[-1][3]) == (min(begins), max(ends))
        assert [row[2] for row in path[1:]] == [row[3] for row in path[:-1]]
        assert sum(row[name] or 0 for name in DIVISION) == max(ends) - min(begins)
        assert (row["span_s"] or 0) == max(ends) - min(begins)
        # each task follows one that began no later, and is there once
        keys = [row[0] for row in path if row[1] == "computing"]
        assert len(set(keys)) == len(keys) == row["path_tasks"]


def recorded(run: int, drawn: list[tuple[Any, ...]]) -> Any:
    """The rows of a run in a directory of its own."""
    for number, (ready, wait, lasts, address, needs, scheduled) in enumerate(drawn):
        key, start = f"t{number}-1", ready + wait
        rows = [*executed(key, address, start, start + lasts, ready=ready)]
        rows += graph(0, **{key: [f"t{n}-1" for n in needs if n < number]})
        rows += [ran(key, start + lasts, address, start, start + lasts, thread=1)] * scheduled
        for row in rows:
            row.origin = f"/r{run}/rows.csv"
            yield row
