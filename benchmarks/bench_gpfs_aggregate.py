"""What aggregation by uid and top-level directory costs in each backend, and that all agree.

    python benchmarks/bench_gpfs_aggregate.py [--rows 20000000] [--folder /scratch/bench]
                                              [--backends streaming,memory,dask,gpu] [--rounds 1]

Synthetic rows of ``gpfs.file`` without link counts (the costly case: hard links are then found by
comparing all inodes) are written as Parquet, columnar.  Each backend runs in a process of its own;
told are wall and CPU seconds, peak memory (of the largest process, for Dask of the largest
worker), the ratio to streaming, and whether all results have the same bytes as CSV and Parquet.
Compare within one run only.
"""

import argparse
import hashlib
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

FILES = 20
SCAN = 1_768_089_600_000_000  # 2026-01-11, in microseconds
DAY = 86_400_000_000
SUFFIXES = np.array([".nc", ".txt", ".h5", ".fastq.gz", ".py", ".log", ".dat", ".bam", "", ".o"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--folder", type=Path, help="where rows are written; they are removed")
    parser.add_argument("--backends", default="")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one == "rows":
        print(write_rows(arguments.folder / "rows", arguments.rows))
        return
    if arguments.one:
        alone(arguments.one, arguments.folder, arguments.workers)
        return
    scratch = Path(tempfile.mkdtemp(dir=arguments.folder))
    try:
        compare(scratch, arguments)
    finally:
        shutil.rmtree(scratch)


def compare(scratch: Path, arguments: argparse.Namespace) -> None:
    from harvest_gpfs.aggregation import BACKENDS

    started = time.perf_counter()
    # in another process, for children inherit this one's peak of memory
    size = int(own_process("rows", scratch, "--rows", str(arguments.rows)))
    print(f"{arguments.rows:,} rows, {size / 1e6:,.0f} MB of Parquet, written in "
          f"{time.perf_counter() - started:.0f} s")  # fmt: skip
    wanted = arguments.backends.split(",") if arguments.backends else None
    digests = {}
    first: dict[str, float] = {}
    for _ in range(arguments.rounds):
        for backend, missing in BACKENDS.items():
            if wanted is not None and backend not in wanted:
                continue
            if reason := missing():
                print(f"{backend:>10}: left out, {reason}")
                continue
            told = json.loads(own_process(backend, scratch, "--workers", str(arguments.workers)))
            digests[backend] = told["digest"]
            if backend == "streaming":
                first = told
            ratio = f", CPU {told['cpu'] / first['cpu']:.2f} x streaming" if first else ""
            print(f"{backend:>10}: {told['wall']:6.1f} s wall, {told['cpu']:6.1f} s CPU, "
                  f"{told['rss'] / 1e6:7,.0f} MB peak, {told['groups']} groups{ratio}")  # fmt: skip
    same = len(set(digests.values())) == 1
    print(f"results of {', '.join(digests)}: {'the same bytes' if same else 'DIFFERENT BYTES'}")
    if not same:
        sys.exit(1)


def own_process(part: str, scratch: Path, *options: str) -> str:
    """The last line that a part of the benchmark prints."""
    command = [sys.executable, __file__, "--one", part, "--folder", str(scratch), *options]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.splitlines()[-1]


def alone(backend: str, scratch: Path, workers: int) -> None:
    """Run one backend and print what it took, as JSON."""
    from harvest_gpfs import aggregate, write_result

    started = time.perf_counter()
    result = aggregate(scratch / "rows", by=("uid", "top"), backend=backend, workers=workers)
    digest = hashlib.sha256()
    for suffix in ("csv", "parquet", "jsonl"):
        path = write_result(result, scratch / f"{backend}.{suffix}")
        digest.update(path.read_bytes())
    wall = time.perf_counter() - started
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    told = {
        "wall": wall,
        "cpu": sum(u.ru_utime + u.ru_stime for u in used),
        "rss": max(u.ru_maxrss for u in used) * 1024,
        "groups": result.frame.height,
        "digest": digest.hexdigest(),
    }
    print(json.dumps(told))


def write_rows(folder: Path, rows: int) -> int:
    """Files of rows, one in a thousand a hard link; gives their bytes."""
    folder.mkdir()
    pick = np.random.default_rng(7)
    each = -(-rows // FILES)
    for number in range(FILES):
        first = number * each
        count = min(each, rows - first)
        if count > 0:
            table = made(pick, first, count)
            pq.write_table(
                table,
                folder / f"part{number:02d}.parquet",
                compression="zstd",
                compression_level=1,
                row_group_size=262_144,
                use_dictionary=["pool", "kind", "uid", "gid", "origin"],
            )
    return sum(path.stat().st_size for path in folder.iterdir())


def made(pick: np.random.Generator, first: int, n: int) -> pa.Table:
    """So many rows of gpfs.file, numbered from ``first``."""
    user = (pick.zipf(1.3, n) % 200).astype(np.int64)
    number = np.arange(first, first + n)
    inode = (number * 3 + 40_960).astype(np.uint64)
    linked = pick.random(n) < 0.001
    inode[linked] = np.roll(inode, 1)[linked]
    path = pc.binary_join_element_wise(
        "/gpfs/fs1/",
        pa.array(pick.choice(["user/u", "project/lab", "scratch/u"], n)),
        text(user),
        "/run",
        text(pick.integers(0, 5_000, n)),
        "/output/sample_",
        text(number),
        pa.array(SUFFIXES[pick.integers(0, len(SUFFIXES), n)]),
        "",
    )
    modified = SCAN - (pick.exponential(380, n) * DAY).astype(np.int64)
    accessed = np.minimum(SCAN, modified + (pick.random(n) * 300 * DAY).astype(np.int64))
    return pa.table(
        {
            "inode": inode,
            "generation": pick.integers(0, 2**31, n) // 2**31 + 65_537,
            "snapshot_id": np.zeros(n, np.int64),
            "path": path,
            "kind": pa.array(np.full(n, "file")),
            "size_bytes": pick.lognormal(9.5, 3.2, n).astype(np.int64),
            "allocated_bytes": pick.integers(0, 1_000, n) * 16_384,
            "access_time": moments(accessed),
            "modify_time": moments(modified),
            "uid": user + 10_000,
            "gid": user % 25 + 20_000,
            "heat": np.where(pick.random(n) < 0.7, 0.0, pick.random(n) * 1e-2),
            "pool": pa.array(pick.choice(["data", "capacity", "system"], n, p=[0.8, 0.17, 0.03])),
            "nlink": pa.nulls(n, pa.int64()),
            "scan_time": moments(np.full(n, SCAN)),
            "origin": pa.array(np.full(n, f"/lists/{first}.list")),
            "position": np.arange(1, n + 1),
        }
    )


def text(numbers: np.ndarray) -> pa.Array:
    return pc.cast(pa.array(numbers), pa.string())


def moments(microseconds: np.ndarray) -> pa.Array:
    return pa.array(microseconds, pa.timestamp("us", tz="UTC"))


if __name__ == "__main__":
    main()
