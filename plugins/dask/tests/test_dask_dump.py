"""Cluster dumps: each entry of their logs is a row, and nothing in them is run."""

import gzip
import json
import pickle
import pickletools
from itertools import cycle
from pathlib import Path
from typing import Any

import msgpack
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from night import NIGHT

from harvest import collect
from harvest_dask.records.captures.dump import pickled_class
from harvest_dask.records.captures.source import DaskSource
from harvest_dask.records.literals import text_of_literal

T = 1_700_000_000.5
WORKER = "tcp://10.0.0.2:4001"
TUPLE = ["load-1f", 0]
"""A key that is a tuple: dumps have lists."""


class KilledWorker(Exception):
    """Named as Dask's."""


def state() -> dict[str, Any]:
    """A dump as distributed 2026.8 writes it, of what is read of it."""
    failure = {"cls": "ExecuteFailureEvent", "key": "bad", "handled": T + 3, "start": T + 2}
    failure |= {"stop": T + 3, "stimulus_id": "task-erred-7", "exception_text": "KeyError('x')"}
    sent = {"cls": "RescheduleEvent", "key": "sent", "handled": T, "stimulus_id": "reschedule-8"}
    moved = {"start": T, "stop": T + 1, "middle": T + 0.5, "duration": 1.0, "total": 80}
    moved |= {"bandwidth": 80.0, "who": "tcp://10.0.0.3:1", "keys": {"['load-1f', 0]": 80}}
    tasks = [
        {"key": TUPLE, "state": "memory", "dependencies": [], "who_wants": []},
        {"key": "bad", "state": "erred", "dependencies": ["<TaskState ('load-1f', 0) memory>"],
         "who_wants": ["<Client 'c'>"], "exception": "<Serialized>", "exception_text": None},
        {"key": "given-up", "state": "erred", "dependencies": [], "who_wants": [],
         "exception": repr(pickle.dumps(KilledWorker("given-up"))), "exception_text": None},
    ]  # fmt: skip
    return {
        "scheduler": {
            "address": "tcp://10.0.0.1:8786",
            "id": "Scheduler-1",
            "clients": {"fire-and-forget": {}, "Client-9": {}},
            "events": {"all": [[T, {"action": "add-worker"}]], "warn": "<Topic object>"},
            "transition_log": [
                [TUPLE, "waiting", "processing", {}, "update-graph-1", T],
                ["bad", "processing", "erred", {"after": "erred"}, "task-erred-7", T + 3],
                ["given-up", "processing", "erred", {}, "handle-worker-cleanup-2", T + 4],
                # before 2022, without a stimulus; and what no version has
                ["old", "released", "waiting", {}, T],
                "something else",
            ],
            "tasks": {str(task["key"]): task for task in tasks},
            "workers": {WORKER: {"name": 0, "host": "10.0.0.2", "nthreads": 4}},
            "extensions": {"amm": "<object>"},
        },
        "workers": {
            WORKER: {
                "id": "Worker-1",
                "log": [
                    [TUPLE, "compute-task", "released", "compute-task-1", T],
                    [TUPLE, "ready", "executing", "executing", {}, "compute-task-1", T + 1],
                ],
                "stimulus_log": [failure, sent],
                "transfer_incoming_log": [moved],
                "logs": [
                    [
                        "ERROR",
                        "2024-05-06 07:00:01,000 - distributed.worker - ERROR - second\nline",
                    ],
                    ["INFO", "first"],
                ],
                "tasks": {},
            },
            "tcp://10.0.0.9:1": "OSError('no answer')",
        },
        "versions": {"scheduler": {"packages": {"dask": "2026.8.0", "lz4": None}}, "workers": {}},
    }


def written(path: Path, content: dict[str, Any] | bytes) -> Path:
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif path.suffix == ".yaml":
        path.write_text(yaml.safe_dump(content))
    else:
        packed = msgpack.packb(content)
        path.write_bytes(gzip.compress(packed) if path.suffix == ".gz" else packed)
    return path


NAMES = ["state.msgpack.gz", "state.msgpack", "state.yaml"]


@pytest.mark.parametrize("name", NAMES)
def test_a_dump_is_recognised_by_its_beginning(tmp_path, name):
    found = DaskSource.detect(written(tmp_path / name, state()))
    assert found is not None
    assert "cluster dump" in found.reason


@pytest.mark.parametrize(
    "content",
    [b"", b"\x1f\x8b", gzip.compress(b"other"), b"scheduler: tcp://n:1\n", msgpack.packb({"a": 1})],
    ids=["empty", "cut", "packed", "yaml", "msgpack"],
)
def test_other_files_are_no_dumps(tmp_path, content):
    assert DaskSource.detect(written(tmp_path / "other", content)) is None


@pytest.mark.parametrize("name", NAMES)
def test_each_entry_of_a_dump_is_a_row(tmp_path, name):
    found = collect(DaskSource(str(written(tmp_path / name, state()))))

    def rows(kind: str, *columns: str) -> list[tuple[Any, ...]]:
        return [tuple(row[c] for c in columns) for row in found.rows(kind)]

    assert not found.rejects
    assert found.units == found.written
    assert rows("dask.task_transition", "key", "finish_state", "stimulus", "exception") == [
        ("('load-1f', 0)", "processing", "update-graph-1", None),
        ("bad", "erred", "task-erred-7", "KeyError('x')"),
        ("given-up", "erred", "handle-worker-cleanup-2", "KilledWorker"),
        ("old", "waiting", None, None),
    ]
    assert rows("dask.worker_transition", "key", "start_state", "finish_state", "worker") == [
        ("('load-1f', 0)", "ready", "executing", WORKER)
    ]
    assert rows("dask.execution", "key", "status", "duration_s") == [
        ("bad", "error", 1.0),
        ("sent", "rescheduled", None),
    ]
    (transfer,) = found.rows("dask.transfer")
    assert (transfer["fulfiller"], transfer["requestor"]) == ("tcp://10.0.0.3:1", WORKER)
    assert transfer["keys"] == [{"key": "('load-1f', 0)", "size_bytes": 80}]
    assert rows("dask.log_event", "level", "message") == [
        ("info", "first"),
        ("error", "second\nline"),
    ]
    assert sorted(rows("dask.graph_task", "key", "dependencies", "requested")) == [
        ("('load-1f', 0)", [], False),
        ("bad", ["('load-1f', 0)"], True),
        ("given-up", [], False),
    ]
    assert rows("dask.worker", "worker", "nthreads", "name") == [(WORKER, 4, "0")]
    assert rows("dask.client", "client") == [("Client-9",)]
    assert rows("run.software", "name", "version") == [("dask", "2026.8.0"), ("lz4", None)]
    # the rest is kept as text: events, what is no transition, and states
    topics = sorted(row["topic"] for row in found.rows("dask.event"))
    assert topics == sorted(
        ["all", "warn", "transition_log", "worker_log", *["stimulus"] * 2, *["task_state"] * 3]
        + ["process_state"] * 3
    )
    assert "dask.process" not in found.tables  # nobody recorded whether one ended


@pytest.mark.parametrize(
    "key", [("fused", ("load", 0)), ("a[b]", (), (1,)), "[INFO]", "[a, b]"], ids=repr
)
def test_a_key_is_spelled_alike_wherever_it_stands(tmp_path: Path, key: Any) -> None:
    """Given a key whose tuples are lists, and a list printed as text in a transfer."""
    listed = json.loads(json.dumps(key))
    dump = state()
    dump["scheduler"]["transition_log"] = [[listed, "waiting", "processing", {}, "x-1", T]]
    dump["workers"][WORKER]["transfer_incoming_log"][0]["keys"] = {str(listed): 8}

    found = collect(DaskSource(str(written(tmp_path / "state.msgpack", dump))))

    assert [row["key"] for row in found.rows("dask.task_transition")] == [str(key)]
    moved = [row["keys"] for row in found.rows("dask.transfer") if row["direction"] == "incoming"]
    assert moved == [[{"key": str(key), "size_bytes": 8}]]


def test_tags_of_python_objects_make_none(tmp_path):
    """Dumps of 2021 hold tuples; and a hostile one would call a function."""
    marker = tmp_path / "ran"
    text = f"""scheduler_info:
  address: tcp://10.0.0.1:8786
  transition_log: !!python/tuple
  - !!python/tuple [x, released, waiting, {{}}, {T}]
  - !!python/object/apply:os.system ["touch {marker}"]
worker_info: {{}}
"""
    found = collect(DaskSource(str(written(tmp_path / "old.yaml", text.encode()))))

    assert [row["key"] for row in found.rows("dask.task_transition")] == ["x"]
    (other,) = [r for r in found.rows("dask.event") if r["topic"] == "transition_log"]
    assert json.loads(other["message"]) == [f"touch {marker}"]
    assert not marker.exists()


def bomb() -> bytes:
    """A few lines that stand for ten thousand million values."""
    lines = ["scheduler:", "  address: &a0 [x]"]
    lines += [f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 11)]
    return "\n".join(lines).encode()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("cut.msgpack.gz", gzip.compress(msgpack.packb(state()))[:-40]),
        ("cut.msgpack", msgpack.packb(state())[:-40]),
        ("cut.yaml", yaml.safe_dump(state()).encode()[:700] + b"\n  'x"),
        ("bomb.yaml", bomb()),
        ("itself.yaml", b"scheduler:\n  address: &a\n    b: *a\n"),
        ("deep.msgpack", b"\x81\xa9scheduler\x81\xa1a" + b"\x91" * 900 + b"\x01"),
    ],
    ids=["packed", "msgpack", "yaml", "bomb", "itself", "deep"],
)
def test_a_dump_that_cannot_be_read_is_refused_with_what_to_do(tmp_path, name, content):
    found = collect(DaskSource(str(written(tmp_path / name, content))))

    (reject,) = found.rejects
    assert reject.reason.startswith("the cluster dump cannot be read")
    assert "write or copy it again" in reject.reason


ANYTHING = st.recursive(
    st.none() | st.integers(-9, 9) | st.text(max_size=3) | st.just(T),
    lambda inner: (
        st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.data())
def test_whatever_stands_in_a_dump_is_a_row_or_a_reject(tmp_path_factory, data):
    """Given a dump in which some parts are anything at all."""
    dump = state()
    for part in (dump["scheduler"], dump["workers"][WORKER], dump):
        for name in data.draw(st.lists(st.sampled_from(sorted(part)), max_size=2, unique=True)):
            part[name] = data.draw(ANYTHING)
    if not isinstance(dump["scheduler"], dict):
        dump["scheduler"] = {"transition_log": [dump["scheduler"]]}
    path = tmp_path_factory.mktemp("any") / "state.msgpack"

    found = collect(DaskSource(str(written(path, dump))))

    assert found.units == found.accounted


class Odd(Exception):
    """An exception of which nobody knows the class where the pickle is read."""


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("raised", [KeyError("x"), Odd("a", 1), KilledWorker()])
def test_the_class_of_a_pickled_exception_is_read_from_its_opcodes(raised, protocol):
    assert pickled_class(pickle.dumps(raised, protocol)) == type(raised).__name__


def test_what_only_helps_to_make_an_exception_is_not_its_class():
    """As tblib pickles exceptions with their tracebacks."""
    pickled = b"\x80\x04\x8c\x16tblib.pickling_support\x8c\x12unpickle_exception\x93"
    pickled += b"(\x8c\x08builtins\x8c\x08KeyError\x93tR."
    assert [op.name for op, *_ in pickletools.genops(pickled)].count("STACK_GLOBAL") == 2
    assert pickled_class(pickled) == "KeyError"


@given(st.one_of(st.binary(max_size=200), st.binary(max_size=200).map(lambda b: b"\x80\x04" + b)))
def test_no_bytes_do_harm(content):
    assert isinstance(pickled_class(content), str | None)


@given(st.text())
def test_the_text_of_a_literal_is_what_python_printed(text):
    try:
        text.encode()
    except UnicodeEncodeError:
        assert text_of_literal(repr(text)).encode()
    else:
        assert text_of_literal(repr(text)) == text


def places_in(value: Any) -> list[tuple[Any, Any]]:
    """Each place of a single value: its container, and its key there."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    found: list[tuple[Any, Any]] = []
    for key in keys:
        inner = value[key]
        found += places_in(inner) if isinstance(inner, dict | list) else [(value, key)]
    return found


def test_a_number_above_all_floats_costs_its_row_alone(tmp_path: Path) -> None:
    path, made = tmp_path / "dump.yaml", state()
    made["workers"][WORKER]["transfer_incoming_log"][0]["bandwidth"] = 10**400
    path.write_text(yaml.safe_dump(made))
    (reject,) = collect(DaskSource(str(path))).rejects
    assert "column 'bandwidth' is 1000" in reject.reason


@pytest.mark.slow
def test_no_text_of_an_object_or_a_list_is_a_value(tmp_path: Path) -> None:
    # given a dump in which one value after the other is an object or a list
    path, made = tmp_path / "dump.msgpack", state()
    foreign = cycle([{"planted": 4711}, ["planted", {"x": 1}]])
    for (container, key), planted in zip(
        places_in(made)[:: 1 if NIGHT else 3], foreign, strict=False
    ):
        before, container[key] = container[key], planted
        written(path, made)
        container[key] = before
        found = collect(DaskSource(str(path)))
        # then it is a reject, or stands where what has no column of its own is kept
        assert found.units == found.accounted
        for kind in found.tables:
            for row in found.rows(kind):
                # the message of an event is all that was said, as JSON
                free = ("extra", "fields", *(["message"] if "topic" in row else []))
                held = {n: v for n, v in row.items() if n not in free}
                assert "planted" not in str(held), f"{key!r} became {held} of {kind}"
