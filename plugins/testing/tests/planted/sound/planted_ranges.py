"""The source ranges: a CSV file of flows, read in byte ranges.

The first line names the columns: ``time`` in seconds since 1970, ``host``, ``size``, ``seconds``.
Others are kept as they are.  A value may be quoted; an empty one is not known.
"""

import csv
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from pathlib import Path

import attrs

import harvest
from harvest import Detection, Partition, ReadContext, Record, SourceError, field, file_partitions
from harvest.toolkit.settings import at_least, setting

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
COLUMNS = ("time", "host", "size", "seconds")


@harvest.record("planted.flow", layer="system", level="process")
class Flow(Record):
    """Bytes that a host sent."""

    time: datetime = field(role="time", doc="When they were sent.")
    host: str = field(role="host", doc="From which host.")
    size_bytes: int | None = field(unit="B", doc="How many; null where it is not known.")
    duration_s: float | None = field(unit="s", doc="For how long; null where it is not known.")


@attrs.frozen(kw_only=True)
class Config:
    """Settings of the source."""

    partition_bytes: int = setting("Larger files are read in parts.", 1 << 27, at_least(1))
    least_bytes: int = setting("Leave out flows of fewer bytes.", 0, at_least(0))


class RangesSource(harvest.Source):
    """Flows from CSV files."""

    name = "planted-ranges"
    record_types = (Flow,)
    Config = Config

    def __init__(self, *args: object, **more: object) -> None:
        super().__init__(*args, **more)
        self._counted = ("", 0, 0)  # a file, a place in it, and how many lines lie before

    @classmethod
    def detect(cls, path: Path) -> Detection | None:
        """By the names of the columns."""
        if not path.is_file():
            return None
        with path.open("rb") as file:
            names = file.readline(4096).rstrip(b"\r\n").split(b",")
        if all(name.encode() in names for name in COLUMNS):
            return Detection(0.9, "the names of its columns")
        return None

    def plan(self) -> Iterator[Partition]:
        """The files of the location; of a large one, ranges of whole lines."""
        for whole in super().plan():
            yield from self._ranges(whole)

    def plan_files(self, files: Iterable[Path]) -> Iterator[Partition]:
        """The same of some files."""
        for whole in file_partitions(self.location, files):
            yield from self._ranges(whole)

    def _ranges(self, whole: Partition) -> Iterator[Partition]:
        step = self.config.partition_bytes
        try:
            starts = range_starts(whole.path, whole.size_bytes, step)
        except OSError:
            starts = [0]  # reading it says why
        if len(starts) == 1:
            yield whole
            return
        for start, stop in pairwise([*starts, whole.size_bytes]):
            yield attrs.evolve(
                whole, id=f"{whole.id}@{start}", start=start, stop=stop, size_bytes=stop - start
            )

    def prepare(self, partition: Partition) -> Partition:
        """A range with the number of lines before it."""
        if not partition.start:
            return partition
        path, place, before = self._counted
        if path != partition.origin or place > partition.start:
            place, before = 0, 0
        before += count_lines(partition.path, place, partition.start)
        self._counted = (partition.origin, partition.start, before)
        return attrs.evolve(partition, options={"before": before})

    def read(self, partition: Partition, ctx: ReadContext) -> Iterator[Flow]:
        """One flow a line."""
        if partition.start and "before" not in partition.options:
            partition = self.prepare(partition)
        ctx.read(0)
        with partition.path.open("rb") as file:
            first = file.readline()
            if not first:
                return
            header = columns_of(first, partition.origin)
            number = partition.options.get("before", 1)
            if not partition.start:
                ctx.read(1)
                ctx.folded(1, "header")
            else:
                file.seek(partition.start)
            while partition.stop is None or file.tell() < partition.stop:
                raw = file.readline()
                if not raw:
                    break
                number += 1
                ctx.read(1)
                ctx.advance(len(raw))
                try:
                    flow = flow_of(raw, header, number)
                except (ValueError, InvalidOperation, OverflowError, csv.Error) as error:
                    ctx.reject(raw, f"no flow: {error}", position=number)
                    continue
                if flow.size_bytes is not None and flow.size_bytes < self.config.least_bytes:
                    ctx.filtered(1, "fewer bytes")
                    continue
                yield flow


def range_starts(path: Path, size_bytes: int, step: int) -> list[int]:
    """Where ranges of about ``step`` bytes begin, each at the beginning of a line."""
    starts = [0]
    if size_bytes <= step:
        return starts
    with path.open("rb") as file:
        for near in range(step, size_bytes, step):
            if near <= starts[-1]:
                continue
            file.seek(near - 1)
            file.readline()
            if starts[-1] < file.tell() < size_bytes:
                starts.append(file.tell())
    return starts


def count_lines(path: Path, start: int, stop: int) -> int:
    """How many lines end between two places of a file."""
    lines = 0
    with path.open("rb") as file:
        file.seek(start)
        while start < stop and (block := file.read(min(1 << 20, stop - start))):
            lines += block.count(b"\n")
            start += len(block)
    return lines


def columns_of(first: bytes, origin: str) -> list[str]:
    """The names in the first line; raises SourceError where it is none of this format."""
    try:
        names = next(csv.reader([first.decode("utf-8")], strict=True), [])
    except (UnicodeDecodeError, csv.Error):
        names = []
    if not set(COLUMNS) <= set(names) or len(names) != len(set(names)):
        raise SourceError(
            "its first line does not name the columns of flows",
            where=origin,
            remedy="leave the file out",
        )
    return names


def flow_of(raw: bytes, header: list[str], number: int) -> Flow:
    """The flow in a line; raises ValueError where there is none."""
    if not raw.endswith(b"\n"):
        raise ValueError("the file ends within the line")
    text = raw.decode("utf-8").removesuffix("\n").removesuffix("\r")
    values = next(csv.reader([text], strict=True), [])
    if len(values) != len(header):
        raise ValueError(f"{len(values)} values for {len(header)} columns")
    row = dict(zip(header, values, strict=True))
    time, host, size, seconds = (row.pop(name) for name in COLUMNS)
    if not host:
        raise ValueError("no host")
    size_bytes = int(size) if size else None
    if size_bytes is not None and not 0 <= size_bytes < 2**63:
        raise ValueError(f"{size} bytes")
    return Flow(
        time=EPOCH + timedelta(microseconds=int(Decimal(time) * 1_000_000)),
        host=host,
        size_bytes=size_bytes,
        duration_s=float(seconds) if seconds else None,
        extra=row or None,
        position=number,
    )
