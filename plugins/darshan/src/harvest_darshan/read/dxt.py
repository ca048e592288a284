"""Decode extended tracing (DXT), which records each single read and write.

A record is a head of 104 bytes (file, rank, host, number of writes and of reads), followed by the
segments, writes first. Stock Darshan's segments have 32 bytes. Those of the variant for Dask runs
have 96: the same four numbers and a text of 64 bytes, ``pthread_id=<N>``. The module version is
the same, so only the length distinguishes them: the records must fill their region exactly.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .. import records
from .container import DamagedError, Module, text_of
from .regions import Region, Stream
from .tables import BATCH_ROWS, Decoder, Log, Rows, strings, times

HEAD: Final = 104
STOCK: Final = 32
VARIANT: Final = 96
_PREFIX: Final = b"pthread_id="
_LONGEST: Final = 18  # digits of a thread id that always fits 64 bits


class _Head(NamedTuple):
    """The head of a record, whose writes and then reads follow."""

    record_id: int
    rank: int
    shared: int
    host: str
    writes: int
    reads: int


class _Run(NamedTuple):
    """Consecutive segments of one record and one kind; first: the number of the first one."""

    head: _Head
    op: str
    first: int
    data: memoryview


class DxtRecords(Decoder):
    """Decoder of DXT_POSIX or DXT_MPIIO, with a row per segment.

    merged: number of records without segments, which have no row.
    layout: ``stock`` or ``pthread_id``; None without segments.
    """

    def __init__(self, module: Module, region: Region, order: str):
        self.known = (1, 2) if module.name == "DXT_MPIIO" else (1,)
        self._head = struct.Struct(f"{order}Qqq64sqq")
        super().__init__(module, region, order)
        self.layout = None if not self.rows else "stock" if self.size == STOCK else "pthread_id"

    def _check(self) -> int:
        fitting = {}
        problems = []
        for size in (STOCK, VARIANT):
            try:
                fitting[size] = self._walk(size)
            except DamagedError as error:
                problems.append(f"with segments of {size} bytes, {error}")
        if not fitting:
            raise DamagedError("its records do not fill it: " + "; ".join(problems))
        variant = VARIANT in fitting and (STOCK not in fitting or fitting[VARIANT][0])
        self.size = VARIANT if variant else STOCK
        _, segments, self.merged, self.hosts = fitting[self.size]
        return segments

    def _walk(self, size: int) -> tuple[bool, int, int, dict[int, str]]:
        """Read the heads of all records, if segments have ``size`` bytes.

        Returns whether the first segment has the text of the variant, the numbers of segments and
        of records without any, and the host by rank.
        """
        hosts: dict[int, str] = {}
        segments = bare = 0
        first = b""
        stream = self.region.stream()
        for head in self._heads(stream, size):
            count = head.writes + head.reads
            if count and not segments:
                first = bytes(stream.take(size))
                stream.skip(size * (count - 1))
            else:
                stream.skip(size * count)
            segments += count
            bare += not count
            if head.host:
                hosts.setdefault(head.rank, head.host)
        return first[STOCK:].startswith(_PREFIX), segments, bare, hosts

    def _heads(self, stream: Stream, size: int) -> Iterator[_Head]:
        """Yield the heads of all records; the caller reads the segments of each from the stream."""
        left = self.region.size
        while left:
            data = stream.take(HEAD)
            if len(data) < HEAD:
                raise DamagedError(f"{len(data)} bytes are left over at the end")
            record_id, rank, shared, host, writes, reads = self._head.unpack(data)
            rest = left - HEAD - size * (writes + reads)
            if writes < 0 or reads < 0 or rest < 0:
                raise DamagedError(
                    f"the record at byte {self.region.size - left} claims {writes} writes and "
                    f"{reads} reads, while {left - HEAD} bytes are left"
                )
            yield _Head(record_id, rank, shared, text_of(host), writes, reads)
            left = rest

    def batches(self, log: Log) -> Iterator[Rows]:
        runs: list[_Run] = []
        left = BATCH_ROWS
        for run in self._runs():
            runs.append(run)
            left -= len(run.data) // self.size
            if left <= 0:
                yield records.DxtSegment, pa.table(self._columns(runs, log))
                runs, left = [], BATCH_ROWS
        if runs:
            yield records.DxtSegment, pa.table(self._columns(runs, log))

    def _runs(self) -> Iterator[_Run]:
        stream = self.region.stream()
        for head in self._heads(stream, self.size):
            for op, total in (("write", head.writes), ("read", head.reads)):
                for first in range(0, total, BATCH_ROWS):
                    data = stream.take(self.size * min(BATCH_ROWS, total - first))
                    yield _Run(head, op, first, data)

    def _columns(self, runs: list[_Run], log: Log) -> dict[str, pa.Array]:
        kinds = {"offset": "i8", "length": "i8", "start": "f8", "end": "f8"}
        fields = [(name, self.order + kind) for name, kind in kinds.items()]
        form = np.dtype([*fields, ("text", "u1", self.size - STOCK)])
        data = runs[0].data if len(runs) == 1 else b"".join(run.data for run in runs)
        segments = np.frombuffer(data, form)
        counts = np.array([len(run.data) // self.size for run in runs])
        rows = len(segments)

        def repeated(values: Iterable[int], kind: type[np.integer[Any]] = np.int64) -> pa.Array:
            return np.repeat(np.fromiter(values, kind), counts)

        ranks = repeated(run.head.rank for run in runs)
        # number of a segment in its run, plus the number of the run's first segment
        numbers = np.arange(rows) - np.repeat(np.cumsum(counts) - counts, counts)
        numbers += repeated(run.first for run in runs)
        start, end = _native(segments["start"]), _native(segments["end"])
        length = _native(segments["length"])
        log.watch(f"length of {self.module.name}", length)
        with np.errstate(invalid="ignore", over="ignore"):
            log.watch(f"time of {self.module.name}", np.where(end < start, np.nan, end - start))
        columns = {
            "module": strings([self.module.name], np.array([rows])),
            "record_id": pa.array(repeated((run.head.record_id for run in runs), np.uint64)),
            "path": strings([log.names.by_id.get(run.head.record_id) for run in runs], counts),
            "rank": pa.array(ranks),
            "shared_record": pa.array(repeated(run.head.shared for run in runs)),
            "hostname": strings([run.head.host or None for run in runs], counts),
            "pid": log.pids(ranks),
            "op": strings([run.op for run in runs], counts),
            "segment": pa.array(numbers),
            "length": pa.array(length),
            "start_time": times(log.start_ns, start),
            "end_time": times(log.start_ns, end),
            "start_s": pa.array(start),
            "end_s": pa.array(end),
            "job_id": pa.array(np.full(rows, log.job.job_id)),
        }
        # version 1 of DXT_MPIIO has room for offsets but does not record them
        if (self.module.name, self.module.version) != ("DXT_MPIIO", 1):
            columns["offset"] = pa.array(_native(segments["offset"]))
        if self.size == VARIANT:
            columns |= _threads(segments["text"])
        return columns


def _native(values: NDArray[Any]) -> NDArray[Any]:
    """Copy a column to contiguous memory in this machine's byte order."""
    return np.ascontiguousarray(values.astype(values.dtype.newbyteorder("=")))


def _threads(text: NDArray[np.uint8]) -> dict[str, pa.Array]:
    """Parse thread ids from texts ``pthread_id=<N>``; other texts go to ``extra``."""
    prefix = np.frombuffer(_PREFIX, np.uint8)
    valid = (text[:, : len(prefix)] == prefix).all(axis=1)
    digits = np.ascontiguousarray(text[:, len(prefix) : len(prefix) + _LONGEST + 1].T)
    value = np.zeros(len(text), np.int64)
    inside = np.ones(len(text), bool)
    for number, column in enumerate(digits):
        inside &= column != 0
        if not inside.any():
            break
        digit = column - np.uint8(ord("0"))
        valid &= ~inside | ((digit < 10) & (number < _LONGEST))
        value = np.where(inside, value * 10 + digit, value)
    valid &= digits[0] != 0
    columns = {"thread": pa.array(value, mask=~valid)}
    odd = np.flatnonzero(~valid & (text[:, 0] != 0))
    if len(odd):
        extra: list[list[tuple[str, str]] | None] = [None] * len(text)
        for row in odd.tolist():
            extra[row] = [("dxt_extra", text_of(text[row].tobytes()))]
        columns["extra"] = pa.array(extra, pa.map_(pa.string(), pa.string()))
    return columns
