"""A capture holds what Dask's own logs hold: all of it, each event once."""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import cap_reader as cap
import dask
import dask_work as work
import pytest
from distributed import Client, get_worker, wait

from harvest_dask import capture

pytestmark = pytest.mark.slow


@dataclass
class Run:
    """A captured run, and what Dask's logs say of it."""

    directory: Path
    scheduler: list[tuple[str, str, str, str]]
    workers: dict[str, list[tuple[str, str, str, str]]]
    transfers: dict[str, list[tuple[str, str, int, Any]]]
    annotated: list[str]
    frames: list[dict[str, Any]] = field(default_factory=list)
    by_worker: dict[str, list[dict[str, Any]]] = field(default_factory=dict)


@pytest.fixture(scope="module", params=[None, "scheduler"], ids=["files", "via scheduler"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A run with everything that can happen to tasks, captured in either way."""
    folder = tmp_path_factory.mktemp("capture")
    directory = folder / "R1"
    with work.cluster(2, work.HERE) as client:
        with capture(client, directory, via=request.param):
            held, annotated = _work(client, folder)
        yield _look(client, directory, annotated)
        del held


def _work(client: Client, folder: Path) -> tuple[list[Any], list[str]]:
    """Each way that a task can go; what is returned keeps Dask from forgetting the tasks."""
    one, two = client.scheduler_info()["workers"]
    left = client.map(work.increment, range(10), workers=one)
    right = client.map(work.increment, range(10, 20), workers=two)
    total = client.submit(work.add, *left, *right, workers=one)
    failed = client.submit(work.fail, 3)
    after = client.submit(work.increment, failed)
    retried = client.submit(work.fail_once, str(folder / "a"), retries=2)
    again = client.submit(work.go_elsewhere_once, str(folder / "b"))
    long = client.submit(work.submit_from_task, 5)
    actor = client.submit(work.Counter, actor=True)
    with dask.annotate(project="fusion", priority=3):
        noted = client.submit(work.increment, 77)
    table = client.get({("t", 0): (work.increment, 1), ("t", 1): (work.increment, ("t", 0))},
                       [("t", 0), ("t", 1)], sync=False)  # fmt: skip
    held = [*left, *right, total, failed, after, retried, again, long, actor, noted, *table]
    wait(held)
    assert actor.result().count().result() == 1
    blocked = [client.submit(work.spend, 0.3, pure=False) for _ in range(6)]
    work.until(lambda: any(client.processing().values()))
    client.cancel(blocked)
    work.until(lambda: not any(client.processing().values()))
    work.until(lambda: not any(client.run(_executing).values()))
    return held, [noted.key]


def _executing(dask_worker: Any) -> int:
    return dask_worker.state.executing_count + dask_worker.state.in_flight_tasks_count


def _look(client: Client, directory: Path, annotated: list[str]) -> Run:
    run = Run(
        directory,
        scheduler=client.run_on_scheduler(work.scheduler_log),
        workers=client.run(_worker_log),
        transfers=client.run(_transfer_logs),
        annotated=annotated,
    )
    (path,) = cap.files(directory, "scheduler")
    run.frames, cut = cap.read_frames(path)
    assert cut == 0
    for path in cap.files(directory, "worker"):
        frames, cut = cap.read_frames(path)
        assert cut == 0
        run.by_worker[frames[0]["address"]] = frames
    return run


def _worker_log(dask_worker: Any) -> list[tuple[str, str, str, str]]:
    """Transitions as the worker's state machine logs them, among other entries."""
    return [
        (str(entry[0]), entry[1], entry[2], entry[5])
        for entry in dask_worker.state.log
        if len(entry) == 7 and isinstance(entry[4], dict)
    ]


def _transfer_logs(dask_worker: Any) -> list[tuple[str, str, int, Any]]:
    logs = {
        "incoming": dask_worker.transfer_incoming_log,
        "outgoing": dask_worker.transfer_outgoing_log,
    }
    return [
        (way, e["who"], e["total"], sorted([str(k), n] for k, n in e["keys"].items()))
        for way, log in logs.items()
        for e in log
    ]


def test_the_scheduler_writes_each_of_its_transitions_once(run: Run) -> None:
    rows = cap.rows(run.frames, "scheduler_transition")
    found = [(r["key"], r["start_state"], r["finish_state"], r["stimulus_id"]) for r in rows]
    assert Counter(found) == Counter(run.scheduler)
    assert found == run.scheduler


def test_workers_write_each_of_their_transitions_once(run: Run) -> None:
    assert set(run.by_worker) == set(run.workers)
    for address, expected in run.workers.items():
        rows = cap.rows(run.by_worker[address], "worker_transition")
        found = [(r["key"], r["start_state"], r["finish_state"], r["stimulus_id"]) for r in rows]
        assert Counter(found) == Counter(expected)


def test_transfers_are_those_of_both_logs(run: Run) -> None:
    assert any(run.transfers.values())
    for address, expected in run.transfers.items():
        rows = cap.rows(run.by_worker[address], "transfer")
        found = [(r["direction"], r["peer"], r["total_bytes"], sorted(r["keys"])) for r in rows]
        assert sorted(found, key=str) == sorted(map(tuple, expected), key=str)
        assert all(r["start_time"] <= r["end_time"] <= r["time"] for r in rows)


def test_each_attempt_is_an_execution(run: Run) -> None:
    """Also those of which the scheduler does not say when they ran."""
    for address, log in run.workers.items():
        begun = Counter(key for key, _, finish, _ in log if finish == "executing")
        rows = cap.rows(run.by_worker[address], "execution")
        assert Counter(r["key"] for r in rows) == begun
        assert all(r["begins"] <= r["ends"] for r in rows if r["status"] != "rescheduled")
    every = [r for frames in run.by_worker.values() for r in cap.rows(frames, "execution")]
    assert Counter(r["status"] for r in every if r["key"].startswith("fail_once")) == {
        "error": 1,
        "finished": 1,
    }
    assert Counter(r["status"] for r in every if r["key"].startswith("go_elsewhere")) == {
        "rescheduled": 1,
        "finished": 1,
    }


def test_a_delay_that_changes_meanwhile_moves_no_execution(tmp_path: Path) -> None:
    def task() -> tuple[float, float]:
        began = time.time()
        get_worker().scheduler_delay -= 1000.0  # as by a heartbeat that waited
        return began, time.time()

    with work.cluster(1, work.HERE) as client, capture(client, tmp_path / "R1"):
        began, ended = client.submit(task).result()
    frames, _ = cap.read_frames(cap.files(tmp_path / "R1", "worker")[0])
    (row,) = cap.rows(frames, "execution")
    assert row["begins"] <= began <= ended <= row["ends"] < ended + 100


def test_graphs_name_keys_dependencies_and_annotations(run: Run) -> None:
    graphs = cap.of_kind(run.frames, "graph")
    needs = {k: d for g in graphs for k, d in zip(g["keys"], g["dependencies"], strict=True)}
    assert needs["('t', 1)"] == ["('t', 0)"]
    (total,) = (key for key in needs if key.startswith("add-"))
    assert len(needs[total]) == 20
    (noted,) = run.annotated
    (graph,) = (g for g in graphs if noted in g["keys"])
    assert graph["annotations"] == {"project": {noted: "fusion"}, "priority": {noted: "3"}}
    assert graph["requested"] == [noted]


def test_an_erred_task_has_its_exception_and_the_next_one_its_cause(run: Run) -> None:
    rows = cap.rows(run.frames, "scheduler_transition")
    erred = {r["key"]: r for r in rows if r["finish_state"] == "erred"}
    (failed,) = (key for key in erred if key.startswith("fail-"))
    assert "no 3 today" in erred[failed]["exception"]
    (after,) = (key for key in erred if key.startswith("increment-"))
    assert erred[after]["cause"] == failed


def test_every_process_says_what_it_is_and_how_it_ended(run: Run) -> None:
    paths = sorted(run.directory.glob("*.cap"))
    assert [p.name.partition("-")[0] for p in paths] == ["client", "scheduler", "worker", "worker"]
    for path in paths:
        frames, _ = cap.read_frames(path)
        first, last = frames[0], frames[-1]
        assert path.name == f"{first['role']}-{first['id']}.cap"
        assert (first["kind"], last["kind"]) == ("start", "end")
        assert last["reason"] == "the capture ends"
        assert abs(first["clock_offset_s"]) < 1.0  # one machine, one clock
        (software,) = cap.of_kind(frames, "software")
        assert software["packages"]["distributed"] == version("distributed")
        (config,) = cap.of_kind(frames, "config")
        assert config["values"]["distributed.admin.low-level-log-length"] == "1000000"
