"""Captures of small runs whose numbers are known, to compare them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import captures

import harvest

T = captures.T
WORKERS = ("tcp://10.0.0.2:4001", "tcp://10.0.0.3:4002")
DURATIONS: Mapping[str, Sequence[float]] = {
    "load": (1.0, 1.125, 1.25, 1.375, 1.5, 1.625),
    "sum": (0.25, 0.375, 0.5, 0.625),
    "save": (0.125, 0.25),
}
"""How long the tasks of each kind take: as all times here, binary fractions, which are exact."""


def slowed(prefix: str, factor: float = 2.0) -> dict[str, list[float]]:
    """The same tasks, those of one kind slower by a factor."""
    return {
        name: [seconds * (factor if name == prefix else 1.0) for seconds in each]
        for name, each in DURATIONS.items()
    }


def write(
    directory: Path,
    durations: Mapping[str, Sequence[float]] = DURATIONS,
    *,
    failed: Sequence[str] = (),
    workers: Sequence[str] = WORKERS,
    silent: Sequence[str] = (),
    since: float = 0.0,
    moved: int | None = 1_000,
    cut: bool = False,
) -> Path:
    """A run as a capture: each worker executes its share of the tasks, one after the other.

    failed: keys of tasks that fail; silent: workers that register and record nothing.
    since: how much later the run begins.
    moved: bytes of its one transfer, None for no record of any.
    cut: whether its record stops before any execution ended.
    """
    begin = T + since
    clocks = dict.fromkeys(workers, begin)
    done: list[dict[str, Any]] = []
    changes: dict[str, list[dict[str, Any]]] = {worker: [] for worker in workers}
    for prefix, each in durations.items():
        for number, seconds in enumerate(each):
            key, worker = f"{prefix}-{number}", workers[number % len(workers)]
            begins = clocks[worker]
            ends = clocks[worker] = begins + seconds
            erred = key in failed
            row = {"time": ends, "key": key, "prefix": prefix, "start_state": "processing"}
            if erred:
                row |= {"finish_state": "erred", "exception": "ValueError('no data')"}
            else:
                row |= {"finish_state": "memory", "worker": worker, "thread": 7, "size_bytes": 8}
                row |= {"begins": begins, "ends": ends}
            done.append(row)
            left = (ends, "executing", "error" if erred else "memory")
            for time, start, finish in [(begins, "ready", "executing"), *([] if cut else [left])]:
                state = {"key": key, "start_state": start, "finish_state": finish}
                changes[worker].append({"time": time, **state})
    came = [{"time": begin, "worker": w, "action": "add", "nthreads": 1} for w in workers]
    graph = {"kind": "graph", "time": begin, "client": "Client-1", "graph": 1, "requested": []}
    graph |= {"keys": [row["key"] for row in done], "dependencies": [[] for _ in done]}
    sent = {"time": begin + 1, "start_time": begin, "end_time": begin + 0.5, "duration_s": 0.5}
    sent |= {"total_bytes": moved, "direction": "outgoing", "peer": None}
    sent |= {"keys": [[done[0]["key"], moved]]}
    files = {
        "scheduler": [
            captures.start("scheduler", time=begin),
            captures.rows("worker_event", came),
            graph,
            captures.rows("scheduler_transition", [] if cut else done),
            captures.END,
        ]
    }
    for number, worker in enumerate(workers):
        if worker not in silent:
            files[f"worker{number}"] = [
                captures.start("worker", address=worker, nthreads=1, time=begin, clock_offset_s=0),
                captures.rows("worker_transition", changes[worker]),
                captures.rows("transfer", [sent] if number == 0 and moved is not None else []),
                captures.END,
            ]
    return captures.write(directory, files)


def harvested(directory: Path, *, into: str = "out") -> harvest.Dataset:
    """All captures below a directory as a dataset."""
    harvest.run([f"dask:{directory}"], f"parquet:{directory / into}", workers=1)
    return harvest.open(directory / into)
