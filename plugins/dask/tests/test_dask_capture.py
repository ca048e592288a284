"""What the frames of capture files become, and which files are read."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import captures
import planning
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harvest import Collected, SourceError, collect
from harvest.plugins.registry import manager
from harvest.recipes.survey import survey
from harvest_dask.records.captures import reader
from harvest_dask.records.captures import source as live
from harvest_dask.records.captures.source import MARK, SUFFIX, DaskSource

T, WORKER, SCHEDULER = captures.T, captures.WORKER, captures.SCHEDULER


def at(seconds: float) -> datetime:
    """A moment after the example's time."""
    return datetime.fromtimestamp(T, UTC) + timedelta(seconds=seconds)


def read(tmp_path: Path, *contents: Any, role: str = "scheduler", **about: Any) -> Collected:
    """The rows of one file that begins and ends properly; its account adds up."""
    whole = [captures.start(role, **about), *contents, captures.END]
    found = collect(DaskSource(str(captures.write(tmp_path / "R1", {f"{role}-x": whole}))))
    assert found.units == found.accounted
    return found


def only(found: Collected, name: str) -> dict[str, Any]:
    """The one row of a type, without nulls and its place."""
    (row,) = found.rows(name)
    return {k: v for k, v in row.items() if v is not None and k not in ("origin", "position")}


# ---- which files are read ------------------------------------------------------------------------


def ids(location: Path) -> list[str]:
    return [partition.id for partition in DaskSource(str(location)).plan()]


def test_a_capture_has_a_partition_per_process_wherever_it_is_named(tmp_path):
    run = captures.write(tmp_path / "runs" / "R1", captures.example())
    (run / "notes.txt").write_text("of Monday")

    expected = [f"R1/{name}.cap" for name in sorted(captures.example())]
    assert ids(run) == ids(run.parent) == expected
    assert ids(run / "client-node3-11.cap") == ["R1/client-node3-11.cap"]


def test_captures_are_found_below_and_others_of_the_ending_are_left(tmp_path):
    captures.write(tmp_path / "a" / "b" / "R1", {"scheduler-x": []})
    # no mark, but files of ours beside one that is cut before its magic number
    unmarked = captures.write(tmp_path / "R2", {"worker-x": [captures.start()], "worker-y": []})
    (unmarked / "capture.json").unlink()
    packets = tmp_path / "network"
    packets.mkdir()
    (packets / "eth0.cap").write_bytes(b"\xd4\xc3\xb2\xa1 packets")

    assert ids(tmp_path) == ["R2/worker-x.cap", "R2/worker-y.cap", "a/b/R1/scheduler-x.cap"]


def test_a_location_without_captures_is_refused_with_what_to_do(tmp_path):
    with pytest.raises(SourceError, match="no such file or directory"):
        ids(tmp_path / "none")
    (tmp_path / "capture.json").write_text("{}")
    with pytest.raises(SourceError, match=r"holds no capture file .* until the capture has begun"):
        ids(tmp_path)
    with pytest.raises(SourceError, match="name its directory"):
        ids(tmp_path / "capture.json")


def test_a_capture_is_recognised_for_sure_and_by_this_source_alone(tmp_path):
    run = captures.write(tmp_path / "R1", captures.example())

    (found,) = survey(run, manager()).known
    assert found.source == "dask"
    assert found.confidence == pytest.approx(0.95)
    assert DaskSource.detect(run / "capture.json") is None
    (run / "worker-z.cap").write_bytes(b"\xd4\xc3\xb2\xa1 packets")
    assert DaskSource.detect(run / "worker-z.cap") is None


def test_another_file_that_is_named_is_rejected(tmp_path):
    path = tmp_path / "eth0.cap"
    path.write_bytes(b"\xd4\xc3\xb2\xa1 packets")
    found = collect(DaskSource(str(path)))
    assert not found.written
    (reject,) = found.rejects
    assert "do not begin with a frame's magic number" in reject.reason


# ---- rows ----------------------------------------------------------------------------------------


def test_a_transition_of_the_scheduler(tmp_path):
    row = {
        "time": T + 1, "key": "('x', 0)", "prefix": "x", "group": "x-1",
        "start_state": "Processing", "finish_state": "memory", "worker": WORKER,
        "stimulus_id": "task-finished-1700000002.5", "thread": 140_000_001, "size_bytes": 80,
        "begins": T, "ends": T + 0.75, "type": "builtins.int", "run_id": 3, "exception": None,
        "client": None, "cause": None, "colour": "red",
    }  # fmt: skip
    found = read(tmp_path, captures.rows("scheduler_transition", [row]))
    assert only(found, "dask.task_transition") == {
        "time": at(1), "key": "('x', 0)", "prefix": "x", "group": "x-1",
        "start_state": "processing", "finish_state": "memory", "scheduler": SCHEDULER,
        "stimulus": "task-finished", "stimulus_id": "task-finished-1700000002.5", "worker": WORKER,
        "thread": 140_000_001, "begins": at(0), "ends": at(0.75), "duration_s": 0.75,
        "size_bytes": 80, "result_type": "builtins.int", "run_id": 3,
        "extra": [("colour", "red")],
    }  # fmt: skip


def test_rows_of_workers_carry_the_address_of_their_file(tmp_path):
    change = {"time": T, "key": "x", "start_state": "ready", "finish_state": "executing"}
    run = {"key": "x", "thread": 7, "begins": T, "ends": T + 0.5, "status": "error"}
    sample = {"time": T, "cpu_percent": 50, "memory_bytes": 9, "read_bytes_disk": 4, "fds": 8}
    sample |= {"spills": 2, "spill_bytes": 7, "unspills": 1, "unspill_bytes": 3}
    found = read(
        tmp_path,
        captures.rows("worker_transition", [{**change, "stimulus_id": f"compute-task-{T}"}]),
        captures.rows("execution", [run]),
        captures.rows("sample", [sample]),
        role="worker",
        address="tls://n7:1",
    )
    assert only(found, "dask.worker_transition") == {
        "time": at(0), "key": "x", "start_state": "ready", "finish_state": "executing",
        "worker": "tls://n7:1", "stimulus": "compute-task", "stimulus_id": f"compute-task-{T}",
    }  # fmt: skip
    assert only(found, "dask.execution") == {
        "begins": at(0), "ends": at(0.5), "duration_s": 0.5, "key": "x", "worker": "tls://n7:1",
        "thread": 7, "status": "error",
    }  # fmt: skip
    assert only(found, "dask.worker_sample") == {
        "time": at(0), "role": "worker", "address": "tls://n7:1", "cpu_percent": 50.0,
        "memory_bytes": 9, "disk_read_bytes": 4, "fds": 8,
        "spills": 2, "spill_bytes": 7, "unspills": 1, "unspill_bytes": 3,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("direction", "peer", "requestor", "fulfiller"),
    [
        ("incoming", "tcp://b:2", WORKER, "tcp://b:2"),
        ("outgoing", "tcp://b:2", "tcp://b:2", WORKER),
        ("outgoing", None, None, WORKER),
    ],
)
def test_a_transfer_names_who_asked_and_who_gave(tmp_path, direction, peer, requestor, fulfiller):
    moved = {"start_time": T, "end_time": T + 1, "direction": direction, "peer": peer}
    moved["keys"] = [["x", 4], ["('y', 1)", None]]
    (row,) = read(tmp_path, captures.rows("transfer", [moved]), role="worker").rows("dask.transfer")

    assert (row["requestor"], row["fulfiller"], row["worker"]) == (requestor, fulfiller, WORKER)
    assert row["keys"] == [
        {"key": "x", "size_bytes": 4},
        {"key": "('y', 1)", "size_bytes": None},
    ]
    assert row["copies"] == 1


def test_a_graph_gives_its_tasks_their_annotations_and_its_code(tmp_path):
    graph = {
        "kind": "graph", "time": T, "client": "Client-1", "graph": 4, "code": "x + y",
        "stimulus_id": "update-graph-1", "keys": ["b", "a"], "dependencies": [["a", "a"], []],
        "requested": ["b", "gone"], "annotations": {"priority": {"a": "1"}, "note": {"a": "hi"}},
        "new": 1,
    }  # fmt: skip
    found = read(tmp_path, graph)
    known = ("key", "dependencies", "requested", "annotations")
    assert [tuple(row[name] for name in known) for row in found.rows("dask.graph_task")] == [
        ("b", ["a"], True, None),
        ("a", [], False, [("priority", "1"), ("note", "hi")]),
        ("gone", [], True, None),
    ]
    assert {row["graph"] for row in found.rows("dask.graph_task")} == {4}
    assert {str(row["extra"]) for row in found.rows("dask.graph_task")} == {"[('new', '1')]"}
    assert only(found, "dask.event")["message"] == "x + y"


def test_annotations_of_other_keys_are_kept_beside(tmp_path):
    graph = {"kind": "graph", "time": T, "keys": ["a"], "dependencies": [[]], "requested": []}
    (row,) = read(
        tmp_path, {**graph, "annotations": {"note": {"gone": "hi"}, "priority": {}}}
    ).rows("dask.graph_task")
    assert row["annotations"] is None
    assert row["extra"] == [("annotations", '{"note": {"gone": "hi"}}')]


def test_graphs_without_a_number_are_counted(tmp_path):
    graph = {"kind": "graph", "time": T, "keys": ["a"], "dependencies": [[]], "requested": []}
    found = read(tmp_path, graph, {**graph, "graph": 5}, graph)
    assert [row["graph"] for row in found.rows("dask.graph_task")] == [1, 5, 6]


def test_a_worker_that_came_with_its_threads_and_one_that_was_lost(tmp_path):
    came = {"time": T, "worker": WORKER, "action": "add", "name": 0, "nthreads": 2}
    gone = {"time": T + 1, "worker": WORKER, "action": "remove", "reason": "lost"}
    one, other = read(tmp_path, captures.rows("worker_event", [came, gone])).rows("dask.worker")
    assert (one["name"], one["nthreads"], one["reason"]) == ("0", 2, None)
    assert (other["name"], other["nthreads"], other["reason"]) == (None, None, "lost")


def test_a_line_of_a_log_is_classified_as_in_a_log_file(tmp_path):
    line = {"time": T, "level": "INFO", "source": "scheduler", "logger": "distributed.scheduler"}
    line["message"] = f"Register worker addr: {WORKER} name: w0\nand more"
    row = only(read(tmp_path, captures.rows("log", [line])), "dask.log_event")
    assert (row["kind"], row["level"], row["worker"]) == ("registration", "info", WORKER)
    assert dict(row["fields"]) == {"logger": "distributed.scheduler", "name": "w0"}
    assert row["message"].endswith("\nand more")


def test_what_has_no_type_becomes_an_event_with_its_values(tmp_path):
    found = read(
        tmp_path,
        captures.rows("span", [{"id": "s", "name": "load", "tags": ["a"], "start": T}]),
        captures.rows("quantum", [{"time": T + 1, "spin": 0.5}, {"spin": None}]),
        {"kind": "weather", "rain": [1, 2], "time": "noon"},
        captures.rows("quantum", [{"flavour": b"\xff"}]),
    )
    shown = [
        (row["topic"], row["time"], row["message"], dict(row["fields"] or ()), row["position"])
        for row in found.rows("dask.event")
    ]
    assert sorted(shown, key=lambda row: row[-1]) == [
        ("span", at(0), "load", {"id": "s", "tags": '["a"]'}, 1),
        ("quantum", at(1), None, {"spin": "0.5"}, 2),
        ("quantum", None, None, {}, 3),
        ("weather", None, None, {"rain": "[1, 2]", "time": "noon"}, 4),
        ("quantum", None, None, {"flavour": "\"b'\\\\xff'\""}, 5),
    ]


def test_settings_packages_and_environment_name_their_process(tmp_path):
    found = read(
        tmp_path,
        {"kind": "software", "packages": {"dask": "2026.8.0"}, "python": "3.11.9"},
        {"kind": "config", "values": {"a.b": "1", "a.c": None}},
        {"kind": "environment", "values": {"DASK_TOKEN": "***"}},
        id="node1-7-cafe",
    )
    packages = found.rows("run.software")
    assert {row["name"]: row["version"] for row in packages} == {
        "dask": "2026.8.0",
        "python": "3.11.9",
    }
    settings = found.rows("run.config")
    assert [(row["file"], row["key"], row["value"]) for row in settings] == [
        ("scheduler-x.cap", "a.b", "1"),
        ("scheduler-x.cap", "a.c", None),
    ]
    (variable,) = found.rows("run.environment")
    assert (variable["name"], variable["value"]) == ("DASK_TOKEN", "***")
    assert {r["process"] for r in (*packages, *settings, variable)} == {"node1-7-cafe"}
    assert only(found, "run.node") == {"role": "scheduler", "host": "node1"}


def test_a_process_is_one_row_with_its_last_clock_and_its_script(tmp_path):
    found = read(
        tmp_path,
        {"kind": "script", "path": "/a.py", "sha256": "ab", "size_bytes": 5, "argv": ["a.py", "1"],
         "notebook": False, "editor": "vi"},
        {"kind": "clock", "time": T, "offset_s": 0.5, "round_trip_s": 0.002},
        {"kind": "clock", "time": T + 1, "offset_s": -0.25, "round_trip_s": 0.001},
        role="client",
        resources={"GPU": 1.0},
        colour="red",
    )  # fmt: skip
    assert only(found, "dask.process") == {
        "role": "client", "process": "node1-7-client", "address": "Client-1", "host": "node1",
        "pid": 7, "python": "3.11.9", "scheduler": SCHEDULER, "capture": "cafe",
        "start_time": at(-1.5), "end_time": at(98.5), "last_time": at(98.5), "reason": "closed",
        "clock_offset_s": -0.25, "clock_round_trip_s": 0.001, "resources": [("GPU", "1.0")],
        "frames": 5, "cut_bytes": 0, "script": "/a.py", "script_sha256": "ab",
        "script_size_bytes": 5, "script_arguments": ["a.py", "1"], "notebook": False,
        "extra": [("start.colour", "red"), ("script.editor", "vi")],
    }  # fmt: skip
    assert len(found.rows("dask.event")) == 2
    assert found.folded[reader.ABOUT] == 3
    assert not found.notes


@pytest.mark.parametrize("odd", [{"argv": ["a.py", None]}, {"argv": "a.py"}, {"notebook": "no"}])
def test_a_script_that_does_not_fit_costs_the_row_of_its_process_alone(tmp_path, odd):
    found = read(tmp_path, {"kind": "script", "path": "/a.py", **odd}, role="client")
    (reject,) = found.rejects
    assert reject.record_type == "dask.process"
    assert not found.rows("dask.process")


def test_a_resource_without_an_amount_costs_the_row_of_its_process_alone(tmp_path):
    (reject,) = read(tmp_path, role="worker", resources={"GPU": None}).rejects
    assert "column 'resources' is {'GPU': None}, not a dict without null" in reject.reason


def test_a_spell_in_which_nothing_could_be_recorded_is_a_row_and_a_note(tmp_path):
    blind = {"kind": "blind", "time": T + 2, "since": T, "reason": "disk full", "lost": 1200}
    found = read(tmp_path, blind, {**blind, "lost": None, "process": "tcp://b:2"}, role="worker")
    own, other = found.rows("dask.log_event")
    assert (own["time"], own["kind"], own["worker"], own["level"]) == (
        at(2), "blind", WORKER, "warning",
    )  # fmt: skip
    assert "(disk full); 1200 rows are lost" in own["message"]
    assert other["worker"] == "tcp://b:2"
    (note,) = found.notes
    assert "2 spells in which nothing could be recorded; at least 1,200 rows" in note


def test_a_version_that_is_not_known_is_noted(tmp_path):
    found = read(tmp_path, version=2)
    (note,) = found.notes
    assert "version 2 of the format, not 1" in note
    assert only(found, "dask.process")["extra"] == [("version", "2")]


# ---- values that do not fit ----------------------------------------------------------------------

ROW = {"time": T, "key": "x", "start_state": "ready", "finish_state": "memory"}


@pytest.mark.parametrize(
    ("kind", "column", "value", "expected"),
    [
        ("scheduler_transition", "time", None, "column 'time' is empty"),
        ("scheduler_transition", "time", -1.0, "column 'time' is -1.0, not a time"),
        ("scheduler_transition", "key", b"x", "column 'key' is b'x', not a text"),
        ("scheduler_transition", "thread", 1.5, "column 'thread' is 1.5, not a whole number"),
        ("scheduler_transition", "thread", 2**63, "is 9223372036854775808, not a whole number"),
        ("scheduler_transition", "size_bytes", "9", "is '9', not a whole number"),
        ("scheduler_transition", "begins", 1e12, "is 1000000000000.0, not a time"),
        ("transfer", "direction", "up", "is 'up', not incoming or outgoing"),
        ("transfer", "direction", None, "column 'direction' is empty"),
        ("transfer", "bandwidth", "fast", "is 'fast', not a number"),
        ("transfer", "keys", "ab", "is 'ab', not a list of pairs"),
        ("transfer", "keys", [["x", 1.5]], "is (('x', 1.5),), not a list of pairs"),
        ("transfer", "keys", [[None, 1]], "is ((None, 1),), not a list of pairs"),
    ],
)
def test_a_value_that_does_not_fit_costs_its_row_alone(tmp_path, kind, column, value, expected):
    good = {**ROW, "direction": "incoming", "keys": [["x", 1]]}
    found = read(tmp_path, captures.rows(kind, [good, {**good, column: value}, good]))

    (reject,) = found.rejects
    assert reject.reason.startswith(f"row 2 of frame 2 ({kind}): ")
    assert expected in reject.reason
    assert reject.position == 2
    assert json.loads(reject.raw)["start_state"] == "ready"
    (name,) = (n for n in found.tables if n in ("dask.task_transition", "dask.transfer"))
    # the positions of the others are those that they have anyway
    assert [row["position"] for row in found.rows(name)] == [1, 3]


@pytest.mark.parametrize("empty", ["", {}, []])
def test_a_transfer_whose_list_of_keys_is_empty_in_any_way_has_no_keys(tmp_path, empty):
    moved = {"time": T, "direction": "incoming", "keys": [["x", 1]]}
    found = read(tmp_path, captures.rows("transfer", [moved, {**moved, "keys": empty}]))
    assert not found.rejects
    assert [row["keys"] for row in found.rows("dask.transfer")] == [
        [{"key": "x", "size_bytes": 1}],
        [],
    ]


def test_whole_numbers_written_as_floats_are_taken(tmp_path):
    rows = [{**ROW, "size_bytes": 7.0}, {**ROW, "size_bytes": None}, {**ROW, "size_bytes": 8}]
    found = read(tmp_path, captures.rows("scheduler_transition", rows))
    assert [r["size_bytes"] for r in found.rows("dask.task_transition")] == [7, None, 8]


def test_frames_with_different_columns_make_one_table(tmp_path):
    found = read(
        tmp_path,
        captures.rows("scheduler_transition", [ROW]),
        captures.rows("scheduler_transition", [{**ROW, "worker": WORKER, "colour": "red"}]),
        {**captures.rows("scheduler_transition", [ROW]), "shape": "round"},
    )
    rows = found.rows("dask.task_transition")
    assert [row["worker"] for row in rows] == [None, WORKER, None]
    assert [row["extra"] for row in rows] == [None, [("colour", "red")], [("shape", "round")]]


def test_many_rows_come_as_several_tables(tmp_path, monkeypatch):
    # given more rows than are gathered
    monkeypatch.setattr(reader, "GATHERED_ROWS", 10)
    contents = [captures.rows("scheduler_transition", [ROW] * 4) for _ in range(7)]
    run = captures.write(tmp_path / "R1", {"scheduler-x": contents})
    (partition,) = DaskSource(str(run)).plan()

    # when they are read
    seen: list[pa.Table] = []
    from harvest import ReadContext

    for cls, table in DaskSource(str(run)).read(partition, ReadContext("x", tmp_path)):
        if cls.__name__ == "TaskTransition":
            seen.append(table)

    # then a table has what three frames hold, and all are there
    assert [table.num_rows for table in seen] == [12, 12, 4]
    assert pa.concat_tables(seen)["position"].to_pylist() == list(range(1, 29))


CHANGES = st.dictionaries(
    st.sampled_from(
        [
            f"{at}{name}"
            for at in ("", "R1/", "R1/b/", "R1/.b/", "R2/")
            for name in (MARK, f"w{SUFFIX}", f"s{SUFFIX}", "notes")
        ]
    ),
    st.sampled_from(["text", "", None]),
)


@given(first=CHANGES, second=CHANGES)
def test_partitions_of_changed_files_are_those_of_a_new_plan(tmp_path_factory, first, second):
    root = tmp_path_factory.mktemp("captures")
    planning.change(root, first)
    some = planning.require_changes_planned(DaskSource(str(root)), root, second)
    assert some == all("/" in name for name in second)  # else all runs may be called otherwise


def test_files_of_one_capture_are_planned_without_listing_others(tmp_path, monkeypatch):
    runs = [captures.write(tmp_path / name, {"worker-x": [[ROW]]}) for name in ("R1", "R2")]
    plan = list(DaskSource(str(tmp_path)).plan())
    monkeypatch.setattr(live, "walk_files", None)

    given = DaskSource(str(tmp_path)).plan_files([runs[0] / "gone"])

    assert given == [partition for partition in plan if partition.path.parent == runs[0]]
    assert DaskSource(str(runs[0])).plan_files([runs[0] / "gone"]) is None
