"""Rows of Dask runs written by hand, for tests of views; and runs as files leave them."""

import csv
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from scripts import run_script

import harvest
from harvest import Record, record_type
from harvest.model.arrow import table_of
from harvest_dask.records import types as r
from harvest_dask_runs.io.ties import TRACE
from harvest_dask_runs.memory import MemoryReader

T0 = datetime(2024, 5, 6, 7, 0, tzinfo=UTC)
RUN = "/runs/D2024-05-06_07:00:00_R1_W2"
A, B = "tcp://10.0.0.1:4001", "tcp://10.0.0.2:4002"


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def dataset(*rows: Record, run: str = RUN) -> MemoryReader:
    """A reader over rows; each gets the file of its type in the run's directory, and a number."""
    return MemoryReader(tables_of(rows, run))


class TracedReader(MemoryReader):
    """Tables of this plugin's types, and a trace of Darshan's."""

    def __init__(self, tables: dict[str, pa.Table], trace: list[dict[str, Any]]):
        super().__init__(tables)
        self.trace = trace

    def __contains__(self, name: object) -> bool:
        return bool(self.trace) if name == "darshan.dxt_segment" else super().__contains__(name)

    def __getitem__(self, name: str) -> pl.LazyFrame:
        if name == "darshan.dxt_segment":
            return pl.LazyFrame(self.trace, schema=TRACE)
        return super().__getitem__(name)


def tables_of(rows: Iterable[Record], run: str = RUN) -> dict[str, pa.Table]:
    """Rows as tables by record type."""
    by_type: dict[str, list[Record]] = {}
    for row in rows:
        kind = record_type(type(row))
        same = by_type.setdefault(kind.name, [])
        row.origin = row.origin or f"{run}/{kind.name}.csv"
        row.position = row.position or len(same) + 1
        same.append(row)
    return {name: table_of(record_type(type(same[0])), same) for name, same in by_type.items()}


def scheduler(key: str, seconds: float, change: str, **more: Any) -> r.TaskTransition:
    start, finish = change.split(">")
    return r.TaskTransition(
        time=at(seconds), key=key, start_state=start, finish_state=finish, **more
    )


def worker(key: str, seconds: float, change: str, address: str, **more: Any) -> r.WorkerTransition:
    start, finish = change.split(">")
    return r.WorkerTransition(
        time=at(seconds), key=key, start_state=start, finish_state=finish, worker=address, **more
    )


def transfer(seconds: float, direction: str, reporter: str, other: str | None, **keys: int) -> Any:
    incoming = direction == "incoming"
    return r.Transfer(
        start_time=at(seconds),
        end_time=at(seconds + 0.5),
        time=at(seconds + 1),
        duration_s=0.5,
        keys=[r.KeySize(key, size) for key, size in keys.items()],
        total_bytes=sum(keys.values()),
        direction=direction,
        requestor=reporter if incoming else other,
        fulfiller=other if incoming else reporter,
        worker=reporter,
    )


def ran(key: str, seconds: float, address: str, begins: float, ends: float, **more: Any) -> Any:
    return scheduler(
        key,
        seconds,
        "processing>memory",
        worker=address,
        begins=at(begins),
        ends=at(ends),
        duration_s=ends - begins,
        **more,
    )


def window(
    key: str, start: float, end: float | None = None, address: str = A, into: str = "memory"
) -> list[r.WorkerTransition]:
    """What a worker records of an execution, without an end where it is not known."""
    rows = [worker(key, start, "ready>executing", address)]
    return rows if end is None else [*rows, worker(key, end, f"executing>{into}", address)]


def attempt(
    key: str, begins: float | None, ends: float | None, thread: int = 7, **more: Any
) -> r.Execution:
    """What a captured worker records of an attempt, without times where one is not known."""
    known = None not in (begins, ends)
    times = {"begins": at(begins), "ends": at(ends), "duration_s": ends - begins} if known else {}
    return r.Execution(key=key, thread=thread, **{"worker": A, "status": "finished"} | times | more)


def operation(start: float, thread: int | None, length: int = 10, **more: Any) -> dict[str, Any]:
    """A traced read of 1 ms."""
    row = {
        "module": "DXT_POSIX", "record_id": 1, "path": "/scratch/x", "rank": 0,
        "hostname": "node1", "pid": 101, "thread": thread, "op": "read", "length": length,
        "start_time": at(start), "end_time": at(start + 0.001),
        "start_s": start, "end_s": start + 0.001, "origin": f"{RUN}/p1.darshan",
    }  # fmt: skip
    return row | more


def one(frame: pl.LazyFrame) -> dict[str, Any]:
    rows = frame.collect().to_dicts()
    assert len(rows) == 1
    return rows[0]


def read(run: Path, name: str) -> list[dict[str, str]]:
    """The rows of a CSV of a run, by Python's own reader."""
    csv.field_size_limit(10**9)
    with (run / name).open(newline="") as file:
        return list(csv.DictReader(file))


def moment(text: str) -> datetime:
    """Epoch seconds, to the nearest microsecond, by decimal arithmetic."""
    micros = int((Decimal(text) * 1_000_000).to_integral_value())
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


REPOSITORY = Path(__file__).resolve().parents[3]
RUNS = {
    "example": REPOSITORY / "examples/dask-run/D2024-05-06_07:08:09_R1_W4",
    "R1": REPOSITORY.parent / "shared/data/mofka-dask/D2024-04-19_19:01:00_R1_W8",
    "R6": REPOSITORY.parent / "shared/data/mofka-dask/D2024-04-19_19:01:02_R6_W8",
    "image": REPOSITORY.parent / "shared/data/mofka-dask/image-processing-head",
}


def made_example(folder: Path) -> Path:
    """The run that the example's scripts make, with its Darshan logs."""
    run = folder / "D2024-05-06_07:08:09_R1_W4"
    for script, where in (("make_run.py", folder), ("darshan-logs/make_logs.py", run)):
        run_script(REPOSITORY / "examples" / script, where)
    return run


def path_of(name: str) -> Path:
    """The directory of one of RUNS; skips where this checkout has no real samples."""
    if not RUNS[name].is_dir():
        pytest.skip(f"no real samples here: {RUNS[name]} is absent")
    return RUNS[name]


def harvested_run(tmp_path_factory: Any, name: str) -> harvest.Dataset:
    """One of RUNS as a dataset, a real one with its Darshan logs."""
    pytest.importorskip("harvest_mofka_dask", reason="runs are read by the plugin mofka-dask")
    path = path_of(name)
    sources = [f"mofka-dask:{path}"]
    if any(path.rglob("*.darshan")):
        pytest.importorskip("harvest_darshan")
        sources.append(f"darshan:{path}")
    out = tmp_path_factory.mktemp(name) / "out"
    assert harvest.run(sources=sources, sinks=[f"parquet:{out}"]).exit_code in (0, 3)
    return harvest.open(out)


def write_run(folder: Path, key: str = "x", worker: str = "tcp://h:1") -> Path:
    """A run of one task, from files as the coupler's consumer writes them."""
    folder.mkdir(parents=True)
    frame = pl.DataFrame(
        {
            "": [0], "key": [key], "thread": [140_000_000_000_001], "worker": [worker],
            "prefix": [key], "group": [key], "start": ["processing"], "finish": ["memory"],
            "stimulus_id": ["task-finished-1.0"], "called_from": ["tcp://s:1"],
            "begins": [100.0], "ends": [100.5], "duration": [0.5], "size": [1], "time": [100.6],
        }
    )  # fmt: skip
    frame.write_csv(folder / "scheduler_transition.csv")
    return folder
