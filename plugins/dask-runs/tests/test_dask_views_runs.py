"""The views over whole runs, checked against a plain reading of the CSVs."""

import ast
import itertools
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from dask_rows import RUNS, moment, path_of, read

import harvest
from harvest.cli import main
from harvest_dask_runs import TaskHandler
from harvest_dask_runs.memory import Harvested

mofka = pytest.importorskip(
    "harvest_mofka_dask.source", reason="runs are read by the plugin mofka-dask"
)


def in_memory(run: Path) -> Harvested:
    return Harvested.of([harvest.collect(mofka.MofkaDaskSource(str(run)))])


def spans(rows: list[dict[str, str]]) -> dict[str, float]:
    """Seconds per state, from one task's transitions."""
    ordered = sorted(rows, key=lambda row: float(row["time"]))
    found: dict[str, float] = {}
    for row, after in itertools.pairwise(ordered):
        spent = (moment(after["time"]) - moment(row["time"])).total_seconds()
        found[row["finish"]] = found.get(row["finish"], 0.0) + spent
    return found


def unique_transfers(run: Path) -> list[dict[str, str]]:
    seen = {}
    for row in read(run, "worker_transfer.csv"):
        same = tuple(sorted((k, v) for k, v in row.items() if k not in ("", "time")))
        seen.setdefault(same, row)
    return list(seen.values())


@pytest.fixture(
    scope="module", params=["example", "R1", pytest.param("R6", marks=pytest.mark.slow)]
)
def run(request) -> Path:
    return path_of(request.param)


@pytest.fixture(scope="module")
def found(run):
    harvested = in_memory(run)
    assert harvested.rejects == ()
    return harvested


@pytest.fixture(scope="module")
def tasks(found):
    return {row["key"]: row for row in found.tasks().to_dicts()}


@pytest.fixture(scope="module")
def summary(found):
    (row,) = found.summary().to_dicts()
    return row


def silent_workers(run: Path) -> set[str]:
    """Those that registered and of which no row of their own is recorded."""
    rows = [*read(run, "worker_transition.csv"), *read(run, "worker_transfer.csv")]
    return {row["worker"] for row in read(run, "worker.csv")} - {row["called_from"] for row in rows}


def by_key(rows):
    grouped = defaultdict(list)
    for row in rows:
        grouped[row["key"]].append(row)
    return grouped


def test_time_in_scheduler_states(run, tasks):
    for key, rows in by_key(read(run, "scheduler_transition.csv")).items():
        got = {s["state"]: s["seconds"] for s in tasks[key]["scheduler_states"]}
        assert got == pytest.approx(spans(rows), abs=1e-9)


def test_time_in_worker_states(run, tasks):
    expected = defaultdict(dict)
    per = defaultdict(list)
    for row in read(run, "worker_transition.csv"):
        per[row["key"], row["called_from"]].append(row)
    for (key, worker), rows in per.items():
        for state, seconds in spans(rows).items():
            expected[key][worker, state] = seconds
    for key, task in tasks.items():
        said = task["worker_states"] or []
        got = {(s["worker"], s["state"]): s["seconds"] for s in said}
        assert got == pytest.approx(expected[key], abs=1e-9)


def test_executions_and_results(run, tasks):
    # a worker that recorded nothing may have executed any of them
    unseen = None if silent_workers(run) else 0
    for key, rows in by_key(read(run, "scheduler_transition.csv")).items():
        done = [row for row in rows if (row["start"], row["finish"]) == ("processing", "memory")]
        task = tasks[key]
        assert task["executions"] == (len(done) or unseen)
        if done:
            last = done[-1]
            assert task["executed_on"] == last["worker"]
            assert (task["began"], task["ended"]) == (moment(last["begins"]), moment(last["ends"]))
            assert task["duration_s"] == float(last["duration"])
            assert task["size_bytes"] == int(float(last["size"]))
            assert task["threads"] == list(dict.fromkeys(int(float(r["thread"])) for r in done))
        assert task["last_state"] == rows[-1]["finish"]


def test_bytes_of_each_key(run, tasks):
    moved = Counter()
    for row in unique_transfers(run):
        for key, size in ast.literal_eval(row["keys"]).items():
            moved[str(key), row["type"].partition("_")[0]] += size
            moved[str(key), "count"] += 1
    for key, task in tasks.items():
        assert task["bytes_received"] == moved[key, "incoming"]
        assert task["bytes_sent"] == moved[key, "outgoing"]
        assert task["transfers"] == moved[key, "count"]


def test_dependencies(run, tasks):
    needs, asked = defaultdict(set), set()
    for row in read(run, "graph.csv"):
        text = row["dependencies"].replace("set()", "[]")
        for key, some in ast.literal_eval(text).items():
            needs[str(key)] |= {str(other) for other in some}
        asked |= {str(key) for key in ast.literal_eval(row["keys"])}
    dependents = Counter(other for some in needs.values() for other in some)
    for key, task in tasks.items():
        assert task["dependencies"] == sorted(needs[key])
        assert task["dependents"] == dependents[key]
        assert task["requested"] == (key in asked)


def test_events_are_complete_and_ordered(run, tasks):
    expected = Counter()
    for name, source in (
        ("scheduler_transition.csv", "scheduler"),
        ("worker_transition.csv", "worker"),
    ):
        for row in read(run, name):
            what = f"{row['start']} -> {row['finish']}"
            expected[row["key"], source, what, moment(row["time"])] += 1
    got = Counter()
    for key, task in tasks.items():
        times = [event["time"] for event in task["events"]]
        assert times == sorted(times)
        assert (task["first_time"], task["last_time"]) == (times[0], times[-1])
        for event in task["events"]:
            if event["source"] in ("scheduler", "worker"):
                got[key, event["source"], event["what"], event["time"]] += 1
    assert got == expected


def test_workers(run, found):
    rows = {row["worker"]: row for row in found.workers().to_dicts()}
    registered = {row["worker"]: moment(row["time"]) for row in read(run, "worker.csv")}
    transitions = Counter(row["called_from"] for row in read(run, "worker_transition.csv"))
    transfers = Counter(row["called_from"] for row in unique_transfers(run))
    busy, executed = Counter(), Counter()
    for row in read(run, "scheduler_transition.csv"):
        if row["worker"]:
            executed[row["worker"]] += 1
            busy[row["worker"]] += float(row["duration"])
    moved = Counter()
    for row in unique_transfers(run):
        moved[row["called_from"], row["type"]] += int(float(row["total"]))
    silent = silent_workers(run)

    assert set(rows) == set(registered)
    for worker, row in rows.items():
        assert row["registered_time"] == registered[worker]
        assert row["removed_time"] > row["registered_time"]  # from the scheduler's log
        assert row["reported"] == (worker not in silent)
        recorded = {
            "transitions": transitions[worker],
            "transfers": transfers[worker],
            "bytes_received": moved[worker, "incoming_transfer"],
            "bytes_sent": moved[worker, "outgoing_transfer"],
        }
        for name, value in recorded.items():
            assert row[name] == (None if worker in silent else value)
        if executed[worker] or worker not in silent:
            assert row["executed"] == executed[worker]
            assert row["busy_s"] == pytest.approx(busy[worker])
            assert row["occupied_s"] <= row["busy_s"] + 1e-6
        else:
            assert row["executed"] is row["busy_s"] is row["occupied_s"] is None


def test_the_run_at_a_glance(run, summary):
    scheduler = read(run, "scheduler_transition.csv")
    workers = read(run, "worker_transition.csv")
    transfers = read(run, "worker_transfer.csv")
    others = [read(run, f"{name}.csv") for name in ("worker", "client", "graph")]
    times = [
        float(row["time"]) for rows in (scheduler, workers, transfers, *others) for row in rows
    ]
    times += [float(row[name]) for row in transfers for name in ("start", "stop")]
    registered = {row["worker"] for row in others[0]}
    said = {row["called_from"] for row in (*workers, *transfers)}

    assert summary["run"] == str(run)
    assert summary["first_time"] == moment(repr(min(times)))
    assert summary["wall_s"] == pytest.approx(max(times) - min(times), abs=2e-6)
    assert summary["tasks"] == len({row["key"] for row in scheduler})
    assert summary["task_groups"] == len({row["group"] for row in scheduler})
    assert summary["task_prefixes"] == len({row["prefix"] for row in scheduler})
    assert summary["scheduler_transitions"] == len(scheduler)
    assert summary["worker_transitions"] == len(workers)
    assert summary["transfers"] == len(unique_transfers(run))
    assert summary["transfer_copies"] == len(transfers)
    assert summary["workers"] == len(registered)
    assert summary["workers_reported"] == len(said)
    assert summary["silent_workers"] == sorted(registered - said)
    assert summary["clients"] == len({row["client"] for row in others[1]})
    assert summary["graphs"] == len(others[2])
    assert summary["unfinished_tasks"] == 0


def test_bytes_moved(run, summary):
    said = Counter()
    for row in unique_transfers(run):
        incoming = row["type"] == "incoming_transfer"
        pair = (row["called_from"], row["who"]) if incoming else (row["who"], row["called_from"])
        said[pair, incoming] += int(float(row["total"]))
    pairs = {pair for pair, _ in said}
    assert summary["bytes_moved"] == sum(max(said[p, True], said[p, False]) for p in pairs)
    assert summary["bytes_to_clients"] == sum(said[p, False] for p in pairs if not p[0])


@pytest.mark.slow
def test_a_dataset_gives_what_memory_gives(tmp_path):
    # given the example run, harvested into Parquet files
    pytest.importorskip("harvest_parquet", reason="the parquet plugin is not installed")
    run, out = RUNS["example"], tmp_path / "out"
    harvest.run([f"mofka-dask:{run}"], f"parquet:{out}", workers=1)
    dataset, memory = harvest.open(out), in_memory(run)

    # then the views are the same rows, by either engine of polars
    for name, frame in {
        "dask.tasks": memory.tasks(),
        "dask.workers": memory.workers(),
        "dask.run_summary": memory.summary(),
    }.items():
        for engine in ("in-memory", "streaming"):
            assert dataset.view(name, run=run.name).collect(engine=engine).equals(frame)
    assert TaskHandler.from_dataset(out).frame.equals(memory.tasks())


@pytest.mark.slow
def test_text_of_a_view(tmp_path):
    pytest.importorskip("harvest_parquet", reason="the parquet plugin is not installed")
    out, text = tmp_path / "out", tmp_path / "tasks.txt"
    harvest.run([f"mofka-dask:{RUNS['example']}"], f"parquet:{out}", workers=1)
    with pytest.raises(SystemExit) as left:
        main(["view", "dask.tasks", str(out), "-o", str(text)])
    assert not left.value.code
    blocks = text.read_text().strip().split("\n\n")
    assert len(blocks) == 58
    assert all(block.startswith("Task ") for block in blocks)
