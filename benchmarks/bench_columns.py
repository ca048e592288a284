"""What columns save a source: the same rows as instances and as columns, into Parquet.

    python benchmarks/bench_columns.py [--rows 200000] [--rounds 3]

Three sources give the same rows of eight columns:

- ``made``: rows that are there already, which is nothing but handing over and writing.
- ``parsed``: lines that Python splits and converts one by one, whatever is made of them then.
- ``columns``: the same lines, read by polars' CSV reader; as instances, they are made of its rows.

CPU time of one process, all in turns, imports left out; compare ratios, not seconds.
"""

import argparse
import io
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from harvest import Partition, ReadContext, Record, Source, field, record, tables

BLOCK = 20_000
NAMES = ("time", "host", "pid", "call", "path", "offset", "size_bytes", "duration_s")


@record("bench.call", layer="system", level="process")
class Call(Record):
    """A call."""

    time: datetime = field(role="time", doc="When.")
    host: str = field(role="host", doc="Where.")
    pid: int = field(role="pid", doc="By which process.")
    call: str = field(doc="What.")
    path: str = field(role="subject", doc="On which file.")
    offset: int = field(doc="From which byte.")
    size_bytes: int = field(unit="B", doc="How much.")
    duration_s: float = field(unit="s", doc="How long.")


class Given(Source):
    """Gives what a function gives."""

    name, record_types = "given", (Call,)
    rows: Callable[[], Iterable[Any]]

    def read(self, partition: Partition, ctx: ReadContext) -> Iterable[Any]:
        return self.rows()


def text(rows: int) -> str:
    return "".join(
        f"2026-03-02T{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02},n{n % 97},{n % 5000},"
        f"{('read', 'write')[n % 2]},/data/u{n % 31}/f{n % 1009}.h5,{n * 4096},{n % 8192},"
        f"{n % 7919 / 1e6}\n"
        for n in range(rows)
    )


def parsed(lines: str) -> Iterator[tuple[Any, ...]]:
    for line in lines.splitlines():
        when, host, pid, call, path, offset, size, duration = line.split(",")
        time_ = datetime.fromisoformat(when).replace(tzinfo=UTC)
        yield time_, host, int(pid), call, path, int(offset), int(size), float(duration)


def frame(lines: str) -> pl.DataFrame:
    kinds = (pl.String, pl.String, pl.Int64, pl.String, pl.String, pl.Int64, pl.Int64, pl.Float64)
    table = pl.read_csv(
        io.StringIO(lines), has_header=False, schema=dict(zip(NAMES, kinds, strict=True))
    )
    return table.with_columns(pl.col("time").str.to_datetime(time_unit="us", time_zone="UTC"))


def instances(rows: Iterable[tuple[Any, ...]]) -> Iterator[Call]:
    for row in rows:
        yield Call(**dict(zip(NAMES, row, strict=True)))


def blocks(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[type[Record], pa.Table]]:
    waiting = []
    for row in rows:
        waiting.append(row)
        if len(waiting) == BLOCK:
            yield Call, pa.table(dict(zip(NAMES, zip(*waiting, strict=True), strict=True)))
            waiting = []
    if waiting:
        yield Call, pa.table(dict(zip(NAMES, zip(*waiting, strict=True), strict=True)))


def measure(rows: Callable[[], Iterable[Any]], scratch: Path) -> float:
    """CPU seconds until all rows are in a file."""
    source, writer = Given("/bench"), None
    source.rows = rows
    began = time.process_time()
    ctx = ReadContext("/bench", scratch)
    for _, table in tables(source, Partition(id="a", origin="/bench"), ctx):
        writer = writer or pq.ParquetWriter(
            scratch / "out.parquet", table.schema, compression="zstd"
        )
        writer.write_table(table)
    if writer is not None:
        writer.close()
    return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    pa.set_cpu_count(1)
    lines = text(options.rows)
    ready = list(parsed(lines))
    made = frame(lines)
    cases: dict[str, tuple[Callable[[], Iterable[Any]], Callable[[], Iterable[Any]]]] = {
        "made": (lambda: instances(ready), lambda: [(Call, made)]),
        "parsed": (lambda: instances(parsed(lines)), lambda: blocks(parsed(lines))),
        "columns": (lambda: instances(frame(lines).iter_rows()), lambda: [(Call, frame(lines))]),
    }
    with tempfile.TemporaryDirectory() as folder:
        found: dict[str, list[tuple[float, float]]] = {case: [] for case in cases}
        for _ in range(options.rounds + 1):
            for case, (one, other) in cases.items():
                found[case].append((measure(one, Path(folder)), measure(other, Path(folder))))
    print("                rows per CPU second as instances, as columns, ratio (medians)")
    for case, times in found.items():
        one, other = (statistics.median(side) for side in zip(*times[1:], strict=True))
        ratio = statistics.median(a / b for a, b in times[1:])
        print(f"  {case:<10}{options.rows / one:>12,.0f}{options.rows / other:>14,.0f}{ratio:8.1f}")


if __name__ == "__main__":
    main()
