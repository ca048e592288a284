"""Capture files made of plain Python values, as docs/explanation/dask-capture-format.md has them.

Independent of the package that captures clusters: what this writes is what the format says.
"""

import itertools
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgpack

SCHEDULER, WORKER = "tcp://10.0.0.1:8786", "tcp://10.0.0.2:4001"
T = 1_700_000_001.5
"""A time of the example."""
MARK = b'{"harvest_dask": 1, "created": 1700000000.0, "id": "cafe"}'
"""The content of capture.json."""
END = {"kind": "end", "time": 1_700_000_100.0, "reason": "closed"}


def frame(index: int, content: Any) -> bytes:
    """One frame."""
    return sealed(index, msgpack.packb(content))


def sealed(index: int, payload: bytes) -> bytes:
    """A payload behind its head."""
    head = struct.pack("<II", len(payload), index)
    checksum = zlib.crc32(payload, zlib.crc32(head))
    return b"HDC1" + head + struct.pack("<I", checksum) + payload


def frames(contents: Iterable[Any]) -> bytes:
    """A whole file."""
    return b"".join(frame(index, content) for index, content in enumerate(contents, 1))


def start(role: str = "worker", **more: Any) -> dict[str, Any]:
    """The first frame of a file."""
    address = {"scheduler": SCHEDULER, "worker": WORKER, "client": "Client-1"}
    known = {
        "kind": "start",
        "version": 1,
        "role": role,
        "time": 1_700_000_000.0,
        "id": f"node1-7-{role}",
        "address": address[role],
        "host": "node1",
        "pid": 7,
        "python": "3.11.9",
        "scheduler": SCHEDULER,
        "capture": "cafe",
        "clock_offset_s": 0.0 if role == "scheduler" else 0.25,
    }
    return {**known, **more}


def rows(kind: str, given: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A frame of rows; the columns are those that any row has."""
    names = list(dict.fromkeys(name for row in given for name in row))
    columns = {name: [row.get(name) for row in given] for name in names}
    return {"kind": kind, "n": len(given), "columns": columns}


def write(directory: Path, files: Mapping[str, Iterable[Any]]) -> Path:
    """A capture directory: contents of frames by name of their file, without ``.cap``."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "capture.json").write_bytes(MARK)
    for name, contents in files.items():
        (directory / f"{name}.cap").write_bytes(frames(contents))
    return directory


def moment(seconds: float) -> datetime:
    """Epoch seconds as a time."""
    return datetime.fromtimestamp(seconds, UTC)


def again(contents: Sequence[Any], times: int) -> Iterator[Any]:
    """The contents of a file with everything between its start and its end repeated."""
    first, *middle, last = contents
    return itertools.chain([first], *itertools.repeat(middle, times), [last])


def example() -> dict[str, list[Any]]:
    """The files of a small run, with every kind of frame, and some that no version knows."""
    begun = {"key": "('x', 0)", "prefix": "x", "group": "x", "start_state": "released"}
    begun |= {"time": T, "finish_state": "waiting", "stimulus_id": f"update-graph-{T}"}
    done = {"time": T + 1, "key": "('x', 0)", "start_state": "processing", "thread": 140_000_001}
    done |= {"finish_state": "memory", "worker": WORKER, "size_bytes": 80, "type": "int"}
    done |= {"begins": T + 0.25, "ends": T + 0.75, "stimulus_id": f"task-finished-{T + 1}"}
    graph = {"kind": "graph", "time": T, "client": "Client-1", "graph": 1, "code": "x.sum()"}
    graph |= {"requested": ["y"], "keys": ["('x', 0)", "y"], "dependencies": [[], ["('x', 0)"]]}
    graph |= {"annotations": {"priority": {"y": "10"}}, "stimulus_id": f"update-graph-{T}"}
    joined = {"time": T, "worker": WORKER, "action": "add", "name": "w0", "host": "node2"}
    joined |= {"nthreads": 2, "memory_limit": 4_000_000_000}
    warned = {"time": T, "level": "warning", "logger": "distributed.core", "message": "slow\nvery"}
    span = {"id": "s1", "name": "load", "tags": ["load"], "start": T}
    blind = {"kind": "blind", "time": T + 2, "since": T + 1, "reason": "disk full", "lost": 3}
    moved = {"time": T, "start_time": T, "end_time": T + 0.5, "total_bytes": 90}
    moved |= {"direction": "outgoing", "peer": None, "keys": [["('x', 0)", 80], ["y", 10]]}
    run = {"key": "('x', 0)", "thread": 140_000_001, "begins": T, "ends": T + 0.5}
    sample = {"time": T, "cpu_percent": 12.5, "memory_bytes": 1000, "executing": 1}
    states = [{"time": T + n / 8, "key": "('x', 0)", **change(n)} for n in range(4)]
    return {
        "scheduler-node1-7": [
            start("scheduler"),
            {"kind": "software", "packages": {"dask": "2026.8.0"}, "python": "3.11.9"},
            {"kind": "config", "values": {"distributed.worker.memory.target": "0.6"}},
            {"kind": "environment", "values": {"HOSTNAME": "node1", "DASK_TOKEN": "***"}},
            rows("worker_event", [joined]),
            rows("client_event", [{"time": T, "client": "Client-1", "action": "add"}]),
            graph,
            rows("scheduler_transition", [begun, done]),
            rows("log", [warned]),
            rows("event", [{"time": T, "topic": "stealing", "message": "[]"}]),
            rows("span", [span]),
            rows("of_the_future", [{"time": T, "what": {"is": 1}}, {"what": None}]),
            {"kind": "also_new", "time": T, "value": 7},
            blind,
            rows("log", []),
            END,
        ],
        "worker-node2-9": [
            start("worker", host="node2", pid=9, nthreads=2),
            {"kind": "clock", "time": T, "offset_s": 0.5, "round_trip_s": 0.001},
            rows("worker_transition", states),
            rows("execution", [{**run, "status": "finished"}]),
            rows("transfer", [moved]),
            rows("sample", [sample]),
        ],
        "client-node3-11": [
            start("client", host="node3", pid=11),
            {"kind": "script", "path": "/home/ann/run.py", "argv": ["run.py", "-v"]},
            END,
        ],
    }


def change(number: int) -> dict[str, str]:
    """One of the transitions of a task in a worker, in their order."""
    states = ("released", "waiting", "ready", "executing", "memory")
    return {"start_state": states[number], "finish_state": states[number + 1]}
