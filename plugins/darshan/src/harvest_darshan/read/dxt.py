"""Decode extended tracing (DXT), which records each single read and write.

A record is a head of 104 bytes (file, rank, host, number of writes and of reads), followed by the
segments, writes first. Stock Darshan's segments have 32 bytes. Those of the variant for Dask runs
have 96: the same four numbers and a text of 64 bytes, ``pthread_id=<N>``. The module version is
the same, so only the length distinguishes them: the records must fill their region exactly.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import Any, Final

import attrs
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from harvest import Record

from .. import records
from .container import DamagedError, Module, text_of
from .regions import Region, Stream
from .tables import BATCH_ROWS, Decoder, Log, batch, strings, times

HEAD: Final = 104
STOCK: Final = 32
VARIANT: Final = 96
_PREFIX: Final = b"pthread_id="
_LONGEST: Final = 18  # digits of a thread id that always fits 64 bits


@attrs.frozen
class _Head:
    """The head of a record whose segments fit the rest of the region."""

    record_id: int
    rank: int
    shared: int
    host: str
    writes: int
    reads: int

    @property
    def segments(self) -> int:
        return self.writes + self.reads


@attrs.frozen
class _Run:
    """Consecutive segments of one record and one kind."""

    head: _Head
    op: str
    first: int
    count: int


@attrs.define
class _Shape:
    """Totals over all records.

    segments: number of segments. bare: number of records without segments. hosts: host by rank.
    first: the bytes of the first segment.
    """

    segments: int = 0
    bare: int = 0
    hosts: dict[int, str] = attrs.field(factory=dict)
    first: bytes = b""


class DxtRecords(Decoder):
    """Decoder of DXT_POSIX or DXT_MPIIO, with a row per segment.

    merged: number of records without segments, which have no row.
    layout: ``stock`` or ``pthread_id``; None without segments.
    """

    def __init__(self, module: Module, region: Region, order: str):
        self.known = (1, 2) if module.name == "DXT_MPIIO" else (1,)
        self._head = struct.Struct(f"{order}Qqq64sqq")
        numbers = [
            ("offset", f"{order}i8"),
            ("length", f"{order}i8"),
            ("start", f"{order}f8"),
            ("end", f"{order}f8"),
        ]
        self._dtypes = {
            STOCK: np.dtype(numbers),
            VARIANT: np.dtype([*numbers, ("text", "u1", 64)]),
        }
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
        self.size = next(iter(fitting))
        if VARIANT in fitting and fitting[VARIANT].first[STOCK:].startswith(_PREFIX):
            self.size = VARIANT
        shape = fitting[self.size]
        self.merged, self.hosts = shape.bare, shape.hosts
        return shape.segments

    def _walk(self, size: int) -> _Shape:
        """Read the heads of all records, if segments have ``size`` bytes."""
        shape = _Shape()
        stream = self.region.stream()
        for head in self._heads(stream, size):
            skip = size * head.segments
            if not head.segments:
                shape.bare += 1
            elif not shape.first:
                shape.first = bytes(stream.take(size))
                skip -= size
            stream.skip(skip)
            shape.segments += head.segments
            if head.host:
                shape.hosts.setdefault(head.rank, head.host)
        return shape

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

    def batches(self, log: Log) -> Iterator[tuple[type[Record], Any]]:
        runs: list[_Run] = []
        pieces: list[memoryview] = []
        waiting = 0
        for run, data in self._runs():
            runs.append(run)
            pieces.append(data)
            waiting += run.count
            if waiting >= BATCH_ROWS:
                yield self._batch(runs, pieces, log)
                runs, pieces, waiting = [], [], 0
        if waiting:
            yield self._batch(runs, pieces, log)

    def _runs(self) -> Iterator[tuple[_Run, memoryview]]:
        stream = self.region.stream()
        for head in self._heads(stream, self.size):
            for op, total in (("write", head.writes), ("read", head.reads)):
                for first in range(0, total, BATCH_ROWS):
                    count = min(BATCH_ROWS, total - first)
                    yield _Run(head, op, first, count), stream.take(self.size * count)

    def _batch(
        self, runs: list[_Run], pieces: list[memoryview], log: Log
    ) -> tuple[type[Record], Any]:
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        segments = np.frombuffer(data, self._dtypes[self.size])
        counts = np.array([run.count for run in runs])
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
        # version 1 of DXT_MPIIO has room for offsets but does not record them
        no_offset = self.module.name == "DXT_MPIIO" and self.module.version == 1
        columns = {
            "module": strings([self.module.name], np.array([rows])),
            "record_id": pa.array(repeated((run.head.record_id for run in runs), np.uint64)),
            "path": strings([log.paths.get(run.head.record_id) for run in runs], counts),
            "rank": pa.array(ranks),
            "shared_record": pa.array(repeated(run.head.shared for run in runs)),
            "hostname": strings([run.head.host or None for run in runs], counts),
            "pid": log.pids(ranks),
            "op": strings([run.op for run in runs], counts),
            "segment": pa.array(numbers),
            "offset": None if no_offset else pa.array(_native(segments["offset"])),
            "length": pa.array(length),
            "start_time": times(log.job.start_ns, start),
            "end_time": times(log.job.start_ns, end),
            "start_s": pa.array(start),
            "end_s": pa.array(end),
            "job_id": pa.array(np.full(rows, log.job.job_id)),
        }
        if self.size == VARIANT:
            columns |= _threads(segments["text"])
        return batch(records.DxtSegment, columns, log)


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
