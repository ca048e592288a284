"""What capturing a Dask cluster costs the computation.

    python benchmarks/bench_dask_capture.py                      # 2,000 tasks, 3 rounds
    python benchmarks/bench_dask_capture.py --tasks 100000 --rounds 5
    python benchmarks/bench_dask_capture.py --events 1000000       # memory alone

Tasks of about 1 ms and empty tasks run on two workers with a thread each, in four ways that take
turns: as they are (``plain``), with a capture, within Dask's ``performance_report`` (which needs
bokeh), and with Dask's own logs of transitions grown to keep all (``logs``).  Each case is a
process of its own.  Shown are medians: the wall time until all results are there, that time over
the plain one's, the CPU time of the scheduler (and client) and of the workers, and by how much the
scheduler's process grew.  Targets for a capture: at most 3 % for tasks of 1 ms, at most 10 % for
empty ones.

With ``--events``, so many transitions pass through a capture's queue, thread and file at
``EVENTS_PER_S``, faster than a scheduler makes them, and the growth of the process is shown after
each tenth: what Dask itself keeps of its tasks is not in it.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import dask
import psutil
from dask.utils import key_split
from distributed import Client, LocalCluster, performance_report, wait
from distributed.utils import key_split_group

from harvest_dask import capture
from harvest_dask.content.scheduler_rows import transition_columns
from harvest_dask.settings import Settings
from harvest_dask.write.directory import create_capture
from harvest_dask.write.frames import FrameFile
from harvest_dask.write.recorder import Recorder

WAYS = ("plain", "capture", "report", "logs")
KINDS: dict[str, tuple[Any, float]] = {"1 ms": (time.sleep, 0.001), "empty": (math.floor, 0.5)}
"""Functions that workers import by name, so that a task costs Dask what it usually does."""
KEEP_ALL = 100_000_000
EVENTS_PER_S = 10_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--events", type=int, help="show the memory that so many events need")
    parser.add_argument("--child", nargs=2, metavar=("WAY", "KIND"))
    arguments = parser.parse_args()
    if arguments.child:
        child(*arguments.child, tasks=arguments.tasks)
        return
    if arguments.events:
        memory(arguments.events)
        return
    if "report" in arguments.ways and find_spec("bokeh") is None:
        print("report is left out: bokeh is not installed")
        arguments.ways.remove("report")
    for kind in arguments.kinds:
        show(kind, arguments, measured(kind, arguments))


def measured(kind: str, arguments: argparse.Namespace) -> dict[str, list[dict[str, float]]]:
    """Results of all rounds by way; every second round takes the ways backwards."""
    found: dict[str, list[dict[str, float]]] = {way: [] for way in arguments.ways}
    for number in range(arguments.rounds):
        for way in arguments.ways if number % 2 == 0 else reversed(arguments.ways):
            words = ["--tasks", str(arguments.tasks), "--child", way, kind]
            done = subprocess.run(
                [sys.executable, __file__, *words], capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise SystemExit(done.stderr)
            found[way].append(json.loads(done.stdout.splitlines()[-1]))
    return found


def show(kind: str, arguments: argparse.Namespace, found: dict[str, Any]) -> None:
    print(f"{arguments.tasks:,} tasks, {kind}, medians of {arguments.rounds} rounds")
    print("  way        wall s   ratio   scheduler CPU s   workers CPU s   grown MB   written MB")
    plain: dict[str, float] | None = None
    for way, results in found.items():
        middle = {name: statistics.median(r[name] for r in results) for name in results[0]}
        plain = plain or middle
        ratio = statistics.median(
            r["wall"] / p["wall"] for r, p in zip(results, found[next(iter(found))], strict=True)
        )
        print(
            f"  {way:<8}{middle['wall']:9.2f}{ratio:8.3f}{middle['scheduler']:18.2f}"
            f"{middle['workers']:16.2f}{middle['grown']:11.1f}{middle['written']:13.1f}"
        )


def child(way: str, kind: str, *, tasks: int) -> None:
    """One case; its last line of output is the result."""
    length = {"distributed.admin.low-level-log-length": KEEP_ALL} if way == "logs" else {}
    with (
        tempfile.TemporaryDirectory() as scratch,
        dask.config.set(length),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        function, argument = KINDS[kind]
        wait(client.map(function, [argument] * 100, pure=False))  # all is imported and connected
        here, there = psutil.Process(), list(map(psutil.Process, client.run(pid).values()))
        memory = here.memory_info().rss
        before = cpu(here), sum(map(cpu, there))
        with recording(way, client, Path(scratch)):
            began = time.perf_counter()
            futures = client.map(function, [argument] * tasks, pure=False)
            wait(futures)
            wall = time.perf_counter() - began
            grown = here.memory_info().rss - memory
        after = cpu(here), sum(map(cpu, there))
        written = sum(p.stat().st_size for p in Path(scratch).rglob("*") if p.is_file())
    print(
        json.dumps(
            {
                "wall": wall,
                "scheduler": after[0] - before[0],
                "workers": after[1] - before[1],
                "grown": grown / 1e6,
                "written": written / 1e6,
            }
        )
    )


def memory(events: int) -> None:
    """How a process grows while transitions of a scheduler are recorded."""
    process = psutil.Process()
    with tempfile.TemporaryDirectory() as scratch:
        directory = create_capture(scratch)
        settings = Settings(scratch, capture=directory)
        recorder = Recorder(
            lambda first: FrameFile(Path(scratch, "scheduler-x.cap"), directory, first),
            settings,
            lambda: [{"kind": "start"}],
        )
        stream = recorder.stream("scheduler_transition", shape=transition_columns)
        recorder.start()
        for number in range(100_000):  # Dask asks both of every key, and they remember so many
            key_split(f"increment-00-{number:06}")
            key_split_group(f"increment-00-{number:06}")
        before = process.memory_info().rss
        for tenth in range(1, 11):
            until = time.perf_counter() + events / 10 / EVENTS_PER_S
            for number in range(events // 10):
                key = f"increment-{tenth:02}-{number:06}"
                details = {"worker": "tcp://10.0.0.1:4001", "nbytes": 28, "typename": "int"}
                stream.append((time.time(), key, "processing", "memory", "task-finished", details))
                if number % 1000 == 0:
                    time.sleep(max(0.0, 1000 / EVENTS_PER_S - 0.002))
            time.sleep(max(0.0, until - time.perf_counter()))
            grown = (process.memory_info().rss - before) / 1e6
            print(f"{tenth * events // 10:>12,} events: grown by {grown:.1f} MB")
        recorder.close("the end")


def recording(way: str, client: Client, folder: Path) -> AbstractContextManager[Any]:
    if way == "capture":
        return capture(client, folder / "R1")
    if way == "report":
        return performance_report(str(folder / "report.html"))
    return nullcontext()


def cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def pid(dask_worker: Any) -> int:
    return psutil.Process().pid


if __name__ == "__main__":
    main()
