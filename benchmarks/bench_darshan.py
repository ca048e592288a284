"""How the source ``darshan`` compares with PyDarshan's C interface, and how fast it reads DXT.

    python benchmarks/bench_darshan.py ../shared/data [--rounds 3] [--segments 2000000]

Everything is measured in alternating rounds of one run, in CPU seconds, and told as ratios of the
medians: absolute times of two machines, or of two days, cannot be compared.

- ``read / PyDarshan``: all rows as Arrow tables, against reading every record of the same logs
  through PyDarshan's C interface.
- ``Parquet / PyDarshan``: a whole ``harvest run`` into Parquet, one worker, against the same.
- ``/ PyDarshan spared``: the library misreads the pthread_id variant of DXT and spends most of its
  time there, on records that it makes up; here it need not read these modules, and we do.
- ``two workers`` and what follows: see ``scaling``; over ``--copies`` copies of the logs, so that
  starting the workers does not decide.
- segments per CPU second: one generated log of ``--segments`` pthread_id segments, read alone, and
  as a whole run into Parquet.  Peak memory is that of a process of its own.
"""

import argparse
import contextlib
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scaling import scaling, told

import harvest
from harvest import tables
from harvest.api.source import ReadContext
from harvest_darshan.source import DarshanSource


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("samples", type=Path, help="directory with Darshan logs, at any depth")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--segments", type=int, default=2_000_000)
    parser.add_argument("--copies", type=int, default=40)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        compare(arguments.samples, folder, arguments.rounds)
        scale(arguments.samples, folder, arguments.copies, arguments.rounds)
        traced(folder, arguments.segments, arguments.rounds)


def compare(samples: Path, scratch: Path, rounds: int) -> None:
    logs = [Path(p.origin) for p in DarshanSource(str(samples)).plan()]
    jobs: dict[str, Callable[[], object]] = {
        "read": lambda: read(samples),
        "Parquet": lambda: into_parquet(samples, scratch, 1),
    }
    with contextlib.suppress(ImportError):
        from darshan.backend import cffi_backend

        misread = variants(samples)
        jobs["PyDarshan"] = lambda: [library(cffi_backend, log, False) for log in logs]
        jobs["spared"] = lambda: [library(cffi_backend, log, log in misread) for log in logs]
    medians = measure(jobs, rounds)
    print(f"{len(logs)} logs")
    for name, (seconds, _) in medians.items():
        print(f"  {name:<20}{1000 * seconds / len(logs):8.2f} ms CPU a log")
    if "PyDarshan" in medians:
        for name in ("read", "Parquet"):
            for peer, label in (("PyDarshan", "PyDarshan"), ("spared", "PyDarshan spared")):
                ratio = medians[name][0] / medians[peer][0]
                print(f"  {name + ' / ' + label:<26}{ratio:6.2f}")


def scale(samples: Path, scratch: Path, copies: int, rounds: int) -> None:
    """How much sooner two workers are done than one, over copies of the logs."""
    many = scratch / "many"
    for partition in DarshanSource(str(samples)).plan():
        log = Path(partition.origin)
        for copy in range(copies):
            folder = many / str(copy) / hex(hash(log.parent) & 0xFFFFFFFF)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / log.name).symlink_to(log)
    print(f"{copies} copies of the logs")
    print(told(scaling(f"darshan:{many}", scratch, rounds)))


def traced(scratch: Path, segments: int, rounds: int) -> None:
    log = scratch / "user_bench_id1-1_1-1-1-1_1.darshan"
    generate(log, segments)
    medians = measure(
        {"read": lambda: read(log), "Parquet": lambda: into_parquet(log, scratch, 1)}, rounds
    )
    print(f"{segments} segments, {log.stat().st_size / 1e6:.1f} MB")
    for name, (seconds, _) in medians.items():
        print(f"  {name:<20}{segments / seconds:12,.0f} segments per CPU second")
    print(f"  peak memory         {peak(log):12} MB")


def measure(jobs: dict[str, Callable[[], object]], rounds: int) -> dict[str, tuple[float, float]]:
    """Median CPU and wall seconds by job, after a round that warms up."""
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in jobs}
    for number in range(rounds + 1):
        for name, job in jobs.items():
            cpu, wall = time.process_time(), time.perf_counter()
            with quiet():
                job()
            if number:
                spent[name].append((time.process_time() - cpu, time.perf_counter() - wall))
    return {
        name: (statistics.median(c for c, _ in times), statistics.median(w for _, w in times))
        for name, times in spent.items()
    }


def read(location: Path) -> int:
    """Rows of a location, as Arrow tables that are thrown away."""
    source = DarshanSource(str(location))
    rows = 0
    for partition in source.plan():
        context = ReadContext(partition.origin, Path())
        rows += sum(table.num_rows for _, table in tables(source, partition, context))
    return rows


def into_parquet(location: Path, scratch: Path, workers: int) -> None:
    with tempfile.TemporaryDirectory(dir=scratch) as target:
        harvest.run(f"darshan:{location}", f"parquet:{target}/out", workers=workers)


def variants(samples: Path) -> set[Path]:
    """Logs with segments in the pthread_id variant of DXT, told by their thread."""
    source = DarshanSource(str(samples))
    found = set()
    for partition in source.plan():
        context = ReadContext(partition.origin, Path())
        for kind, table in tables(source, partition, context):
            if kind.name == "darshan.dxt_segment" and table["thread"].null_count < len(table):
                found.add(Path(partition.origin))
    return found


def library(backend: Any, log: Path, spared: bool) -> None:
    """Every record of a log through PyDarshan's C interface, what it cannot read left out.

    spared: whether to leave out DXT too.
    """
    handle = backend.log_open(str(log))
    if handle["handle"] == backend.ffi.NULL:
        return
    backend.log_get_job(handle)
    backend.log_get_exe(handle)
    backend.log_get_mounts(handle)
    backend.log_get_name_records(handle)
    for module in backend.log_get_modules(handle):
        if module in ("APMPI", "APXC") or (spared and module.startswith("DXT")):
            continue
        with contextlib.suppress(OverflowError, MemoryError, UnicodeDecodeError):
            while backend.log_get_record(handle, module) is not None:
                pass
    backend.log_close(handle)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without what the C library prints."""
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def generate(path: Path, segments: int) -> None:
    """A log of one process whose DXT_POSIX holds so many segments of the variant."""
    chance = np.random.default_rng(1)
    kind = np.dtype([("o", "<i8"), ("l", "<i8"), ("s", "<f8"), ("e", "<f8"), ("t", "S64")])
    data, files = b"", 1000
    for file in range(files):
        count = segments // files
        part = np.zeros(count, kind)
        part["o"] = np.arange(count) * 4096
        part["l"] = 4096
        part["s"] = np.sort(chance.random(count) * 1000)
        part["e"] = part["s"] + chance.random(count) * 0.01
        threads = 140_000_000_000_000 + 4096 * chance.integers(0, 8, count)
        part["t"] = np.char.add(b"pthread_id=", threads.astype("S"))
        data += struct.pack("<Qqq64sqq", file, 0, 0, b"node1", 0, count) + part.tobytes()
    names = b"".join(struct.pack("<Q", i) + f"/scratch/file{i}\0".encode() for i in range(files))
    job = struct.pack("<7q", 1, 1_700_000_000, 0, 1_700_001_000, 0, 1, 1).ljust(56 + 1024, b"\0")
    regions = [zlib.compress(r, 1) for r in (job + b"./bench\next4\t/\0", names, data)]
    offset = 1328 + len(regions[0])
    maps, versions = [0] * 128, [0] * 64
    maps[20:22], versions[10] = (offset + len(regions[1]), len(regions[2])), 1
    head = struct.pack(
        "<8sqB7xQQQ128Q64I", b"3.41", 6567223, 0, 0, offset, len(regions[1]), *maps, *versions
    )
    path.write_bytes(head + b"".join(regions))


def peak(location: Path) -> int:
    """Peak memory in MB of a process that harvests a location into Parquet."""
    program = (
        "import sys, tempfile, harvest; from pathlib import Path\n"
        "with tempfile.TemporaryDirectory() as t:\n"
        "    harvest.run('darshan:' + sys.argv[1], f'parquet:{t}/out', workers=1)\n"
        "print(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(location)], capture_output=True, text=True, check=True
    )
    return int(done.stdout.split()[-1]) // 1024


if __name__ == "__main__":
    main()
