"""What a run costs when there is much of something: files, partitions, record types, bytes.

    python benchmarks/bench_load.py files --count 10000     # small inputs, one partition each
    python benchmarks/bench_load.py types --count 1000      # record types in one dataset
    python benchmarks/bench_load.py bytes --gigabytes 5     # one large file, and a fifth of it

Each case is a process of its own, whose peak memory and largest number of open file handles are
taken while it runs.  ``files`` tells how long planning takes (target: 2 s for 10,000 files), what
the whole run and a second one with nothing new cost, and the same for a tenth of the files, so
that what grows with their number is seen.  ``bytes`` tells the same memory for five times the
input.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import pyarrow as pa

import harvest
from harvest import Partition, ReadContext, Record, Source, field, record
from harvest.plugins.registry import PluginManager

ManyTypes: type[Source]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", choices=("files", "types", "bytes"))
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--gigabytes", type=float, default=5.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--child", nargs=3, metavar=("SOURCE", "TARGET", "MODE"))
    arguments = parser.parse_args()
    if arguments.child:
        child(*arguments.child, workers=arguments.workers, count=arguments.count)
        return
    with tempfile.TemporaryDirectory() as scratch:
        {"files": files, "types": types, "bytes": big}[arguments.case](Path(scratch), arguments)


def files(scratch: Path, arguments: argparse.Namespace) -> None:
    for count in (arguments.count // 10, arguments.count):
        inputs = scratch / f"in{count}"
        inputs.mkdir()
        for number in range(count):
            (inputs / f"dump{number:06}.txt").write_text(
                f"JobID|User|State|Submit|Elapsed\n{number}|u{number % 7}|COMPLETED|"
                "2024-05-06T07:08:09|00:01:00\n"
            )
        print(f"{count} files")
        for mode in ("plan", "run", "run"):
            show(mode, measured(f"slurm:{inputs}", scratch / f"out{count}", mode, arguments))


def types(scratch: Path, arguments: argparse.Namespace) -> None:
    for count in (arguments.count // 10, arguments.count):
        print(f"{count} record types")
        for mode in ("run", "run"):
            target = scratch / f"types{count}"
            show(mode, measured(f"many-types:{count}", target, mode, arguments))


def big(scratch: Path, arguments: argparse.Namespace) -> None:
    line = (
        "{n} 65537 0  %7Csize%3D{n}%7Ckballoc%3D16%7Caccess%3D2026-01-10%2007%3A08%3A09.000001"
        "%7Ccreate%3D2025-01-10%2007%3A08%3A09.000001%7Cmodify%3D2025-06-10%2007%3A08%3A09.000001"
        "%7Cuid%3D{u}%7Cgid%3D20000%7Cheat%3D%2B0.00000000000000E%2B000%7Cpool%3Ddata%7C"
        "misc%3DFAu%7C -- %2Fdata%2Fuser%2Fu{u}%2Frun%2Fsample_{n}.nc\n"
    )
    for part in (0.2, 1.0):
        wanted = int(part * arguments.gigabytes * 1e9)
        path = scratch / "scan.list"
        with path.open("w") as file:
            number = 1_000_000
            while file.tell() < wanted:
                rows = range(number, number + 20_000)
                file.write("".join(line.format(n=n, u=10_000 + n % 97) for n in rows))
                number += 20_000
        print(f"{path.stat().st_size / 1e9:.1f} GB in one file, {number - 1_000_000} lines")
        show("run", measured(f"gpfs:{path}", scratch / f"big{part}", "run", arguments))


def measured(source: str, target: Path, mode: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Seconds, memory and file handles of one run in a process of its own."""
    command = [sys.executable, __file__, arguments.case, "--workers", str(arguments.workers)]
    done = subprocess.run(
        [*command, "--count", str(arguments.count), "--child", source, str(target), mode],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def show(mode: str, found: dict[str, Any]) -> None:
    print(
        f"  {mode:<5}{found['seconds']:8.2f} s  {found['cpu']:8.2f} CPU s  "
        f"{found['memory']:6} MB  {found['handles']:5} handles  {found['rows']:>11,} rows  "
        f"{found['files']:>6} files"
    )


def child(source: str, target: str, mode: str, *, workers: int, count: int) -> None:
    """One run, watched from a thread."""
    plugins = None
    if source.startswith("many-types:"):
        plugins, workers = declare(int(source.partition(":")[2])), 1
    most = Watch()
    begun, cpu = time.perf_counter(), os.times()
    with most:
        result = harvest.run(
            source,
            f"parquet:{target}",
            workers=workers,
            dry_run=mode == "plan",
            **({} if plugins is None else {"plugins": plugins}),
        )
    ended = os.times()
    rows = sum(a.written for a in result.account.sources.values())
    print(
        json.dumps(
            {
                "seconds": time.perf_counter() - begun,
                "cpu": sum(ended[:2]) - sum(cpu[:2]) + most.cpu,
                "memory": most.memory // 1024,
                "handles": most.handles,
                "rows": rows,
                "files": sum(1 for _ in Path(target).glob("*/*.parquet")),
            }
        )
    )


class Watch:
    """Largest memory (KiB) of one process, and largest number of open handles, while it is on.

    cpu: seconds of the processes below this one, as last seen of each.
    """

    def __init__(self) -> None:
        self.memory = self.handles = 0
        self._spent: dict[int, float] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def cpu(self) -> float:
        return sum(self._spent.values())

    def _look(self) -> None:
        while not self._stop.wait(0.05):
            below = descendants(os.getpid())
            for process in (os.getpid(), *below):
                self.memory = max(self.memory, peak(process))
                self.handles = max(self.handles, opened(process))
            for process in below:
                self._spent[process] = max(self._spent.get(process, 0.0), spent(process))


def descendants(process: int) -> list[int]:
    """Its children, such as workers, and theirs."""
    found = []
    try:
        tasks = list(Path(f"/proc/{process}/task").iterdir())
    except FileNotFoundError:
        return []
    for task in tasks:
        try:
            found += [int(pid) for pid in (task / "children").read_text().split()]
        except (FileNotFoundError, ProcessLookupError):
            continue  # the thread has ended
    return found + [below for child in found for below in descendants(child)]


def spent(process: int) -> float:
    """CPU seconds of a process until now."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak(process: int) -> int:
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(x.split()[1]) for x in status.splitlines() if x.startswith("VmHWM")), 0)


def opened(process: int) -> int:
    try:
        return sum(1 for _ in Path(f"/proc/{process}/fd").iterdir())
    except (FileNotFoundError, ProcessLookupError):
        return 0


def declare(count: int) -> PluginManager:
    """The plugins, and with them a source of so many record types."""
    kinds = []
    for number in range(count):
        fields: dict[str, Any] = {
            "__annotations__": {"name": str, "value": int},
            "__doc__": "One of many.",
            "__module__": __name__,
            "name": field(role="subject"),
            "value": field(),
        }
        made = record(f"many.type_{number}", layer="system", level="process")(
            type(f"Type{number}", (Record,), fields)
        )
        kinds.append(made)

    def read(self: Source, partition: Partition, ctx: ReadContext) -> Iterator[Any]:
        for number, kind in enumerate(kinds):
            yield kind, pa.table({"name": [f"n{number}"] * 10, "value": list(range(10))})

    def plan(self: Source) -> Iterable[Partition]:
        return [Partition(id=str(n), origin=f"/many/{n}", fingerprint="1") for n in range(4)]

    members = {"name": "many-types", "record_types": tuple(kinds), "read": read, "plan": plan}
    global ManyTypes
    ManyTypes = type("ManyTypes", (Source,), members)
    # the source is in this process alone
    sys.modules["bench_load"] = sys.modules[__name__]
    point = EntryPoint("many-types", "bench_load:ManyTypes", "harvest")
    return PluginManager([*entry_points(group="harvest"), point])


if __name__ == "__main__":
    main()
