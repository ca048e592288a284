"""The view `dask.task_io` over a synthetic run: traced operations joined with tasks.

    python benchmarks/bench_task_io.py --segments 10000000 --tasks 1000000

A Parquet dataset of the real record types is harvested from numbers (workers with four threads
each; every thread runs one task after another, and each task reads and writes a few files within
its window).  A child process then collects each view; its time and peak memory are printed, and
the sums are checked against those of the trace.  `--keep DIR` keeps the dataset for a next call.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import harvest
from harvest import Partition, ReadContext, Source
from harvest_darshan.records import DxtSegment
from harvest_dask.records.types import TaskTransition, WorkerTransition

RUN = "/synthetic/D2024-05-06_07:08:09_R1_W1"
START = 1_714_979_289_000_000
THREADS = 4
TASK_US, GAP_US = 1_000_000, 1_000
FILES = 500
CHUNK = 50_000
"""Tasks generated at a time."""


class TaskIoNumbers(Source):
    """A run made of numbers; the location is WORKERSxTASKSxSEGMENTS (per worker, per task)."""

    name = "task-io-numbers"
    record_types = (TaskTransition, WorkerTransition, DxtSegment)

    def plan(self) -> Iterable[Partition]:
        workers, _, _ = map(int, self.location.split("x"))
        for kind in ("scheduler", "transitions"):
            yield Partition(
                id=kind, origin=f"{RUN}/{kind}.csv", options={"kind": kind}, fingerprint="1"
            )
        for worker in range(workers):
            yield Partition(
                id=f"log{worker}",
                origin=f"{RUN}/python_id{worker}.darshan",
                options={"kind": "log", "worker": worker},
                fingerprint="1",
            )

    def read(self, partition: Partition, ctx: ReadContext) -> Iterator[Any]:
        workers, tasks, segments = map(int, self.location.split("x"))
        if partition.options["kind"] == "log":
            worker = partition.options["worker"]
            for part in _tasks(worker, tasks):
                yield DxtSegment, _segments(part, worker, segments).to_arrow()
            return
        make, kind = (
            (_scheduler, TaskTransition)
            if partition.options["kind"] == "scheduler"
            else (_transitions, WorkerTransition)
        )
        for worker in range(workers):
            for part in _tasks(worker, tasks):
                yield kind, make(part).to_arrow()


def _tasks(worker: int, count: int) -> Iterator[pl.DataFrame]:
    """Tasks of a worker: key, worker, thread, begin (us); tasks of a thread follow each other."""
    for first in range(0, count, CHUNK):
        number = np.arange(first, min(first + CHUNK, count))
        lane = number % THREADS
        yield pl.DataFrame(
            {
                "number": number,
                "thread": 140_000_000_000_000 + worker * 1_000_000_000 + lane * 8_392_704,
                "begin": START + (number // THREADS) * (TASK_US + GAP_US),
            }
        ).with_columns(
            key=pl.concat_str(
                pl.lit(f"('read-block-0123456789abcdef{worker:04}', "), "number", pl.lit(")")
            ),
            worker=pl.lit(f"tcp://10.0.{worker // 250}.{worker % 250}:40001"),
        )


def _time(micros: pl.Expr) -> pl.Expr:
    return micros.cast(pl.Datetime("us")).dt.replace_time_zone("UTC")


def _scheduler(tasks: pl.DataFrame) -> pl.DataFrame:
    begin, end = pl.col("begin"), pl.col("begin") + TASK_US
    change = pl.lit("processing").alias("start_state"), pl.lit("memory").alias("finish_state")
    done = tasks.select(
        "key", "worker", "thread", *change, time=_time(end + 300), begins=_time(begin - 10_000)
    )
    sent = tasks.select(
        "key", time=_time(begin - 900), start_state=pl.lit("waiting"),
        finish_state=pl.lit("processing"),
    )  # fmt: skip
    return pl.concat([sent, done], how="diagonal")


def _transitions(tasks: pl.DataFrame) -> pl.DataFrame:
    states = ["released", "waiting", "ready", "executing", "memory", "released"]
    moments = [-800, -700, 0, TASK_US, TASK_US + 500]
    return pl.concat(
        tasks.select(
            "key", "worker", time=_time(pl.col("begin") + moment),
            start_state=pl.lit(before), finish_state=pl.lit(after),
        )
        for moment, before, after in zip(moments, states, states[1:], strict=False)
    )  # fmt: skip


def _segments(tasks: pl.DataFrame, worker: int, per_task: int) -> pl.DataFrame:
    rows = tasks.select(pl.all().repeat_by(per_task)).explode(pl.all())
    place = pl.int_range(pl.len()) % per_task
    start = pl.col("begin") + (place * 2 + 1) * (TASK_US // (2 * per_task + 2))
    file = (pl.col("number") + place % 2) % FILES
    return rows.select(
        "thread",
        module=pl.lit("DXT_POSIX"),
        record_id=(file + 2**63).cast(pl.UInt64),
        path=pl.concat_str(pl.lit("/scratch/project/input/block-"), file, pl.lit(".h5")),
        rank=pl.lit(0),
        shared_record=pl.lit(0),
        hostname=pl.lit(f"node{worker // 4:04}"),
        pid=pl.lit(10_000 + worker),
        op=pl.when(place % 2 == 0).then(pl.lit("read")).otherwise(pl.lit("write")),
        segment=pl.int_range(pl.len()),
        offset=pl.col("number") * 4096,
        length=4096 + place,
        start_time=_time(start),
        end_time=_time(start + 40),
        start_s=(start - START) / 1e6,
        end_s=(start + 40 - START) / 1e6,
        job_id=pl.lit(1),
    )


VIEW = """
import json, sys, time
import harvest, polars as pl
from pathlib import Path
began = time.perf_counter()
frame = harvest.open(sys.argv[1]).view(sys.argv[2]).collect()
took = time.perf_counter() - began
peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
sums = {n: frame[n].sum() for n in ("count", "segments", "window_segments", "bytes", "operations")
        if n in frame.columns}
lost = frame["key"].null_count() if "key" in frame.columns else 0
print(json.dumps([took, peak, frame.height, sums, lost]))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--segments", type=int, default=10_000_000)
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=50)
    parser.add_argument("--keep", type=Path, help="keep the dataset here, or use it again")
    parser.add_argument(
        "--views",
        default="dask.task_io,dask.task_io_coverage,dask.workers_processes,io.files,io.timeline",
    )
    options = parser.parse_args()
    per_worker = options.tasks // options.workers
    per_task = options.segments // options.tasks
    with tempfile.TemporaryDirectory() as folder:
        out = options.keep or Path(folder) / "out"
        if not out.exists():
            generate(out, f"{options.workers}x{per_worker}x{per_task}")
        tasks = options.workers * per_worker
        count = tasks * per_task
        size = tasks * sum(4096 + place for place in range(per_task))
        print(f"{count:,} operations, {tasks:,} tasks, polars {pl.__version__}")
        for view in options.views.split(","):
            done = subprocess.run(
                [sys.executable, "-c", VIEW, str(out), view],
                check=True, capture_output=True, text=True,
            )  # fmt: skip
            took, peak, rows, sums, lost = json.loads(done.stdout)
            print(f"{view}: {took:.1f} s, peak {peak:,.0f} MB, {rows:,} rows")
            expected = {"bytes": size, "count": count, "segments": count, "operations": count,
                        "window_segments": count}  # fmt: skip
            wrong = {name: got for name, got in sums.items() if got != expected[name]}
            if wrong or lost:
                sys.exit(f"{view}: sums are wrong: {wrong}, {lost} rows without a task")


def generate(out: Path, location: str) -> None:
    """Harvest the numbers into a Parquet dataset."""
    from harvest.plugins.registry import PluginManager

    sys.path.insert(0, str(Path(__file__).parent))
    point = EntryPoint("task-io-numbers", "bench_task_io:TaskIoNumbers", "harvest")
    plugins = PluginManager([*entry_points(group="harvest"), point])
    harvest.run(f"task-io-numbers:{location}", f"parquet:{out}", workers=1, plugins=plugins)


if __name__ == "__main__":
    main()
