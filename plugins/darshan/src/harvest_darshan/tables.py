"""From columns of numbers to Arrow batches of a record type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeAlias

import attrs
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from harvest import Record, RecordType, record_type

from .job import Job

__all__ = ["BATCH_ROWS", "Log", "Numbering", "Rows", "batch", "column_types", "strings", "times"]

Rows: TypeAlias = "Record | tuple[type[Record], Any]"
"""What a source yields: a record, or a record class with Arrow data of it."""

BATCH_ROWS: Final = 65_536
TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
_FAR: Final = 4e9
"""Seconds after the job's start beyond which a relative time is garbage: 126 years."""


@attrs.define
class Numbering:
    """Gives the rows of each record type their numbers, from 1, in the order of the log."""

    given: dict[type[Record], int] = attrs.field(factory=dict)

    def take(self, cls: type[Record], rows: int) -> pa.Array:
        """The positions of the next rows of a type."""
        first = self.given.get(cls, 0) + 1
        self.given[cls] = first + rows - 1
        return pa.array(np.arange(first, first + rows))


@attrs.define
class Log:
    """What rows of any module need to know of their log.

    origin: the log's path; paths: name by record id.
    hosts: host by rank, as far as the log's modules say.
    """

    origin: str
    order: str
    job: Job
    paths: Mapping[int, str]
    hosts: dict[int, str] = attrs.field(factory=dict)
    numbers: Numbering = attrs.field(factory=Numbering)

    def base(self, ids: NDArray[np.uint64], ranks: NDArray[np.int64]) -> dict[str, pa.Array]:
        """The columns that all modules' rows begin with."""
        lookup, hosts = self.paths.get, self.hosts
        return {
            "record_id": pa.array(ids),
            "rank": pa.array(ranks),
            "path": pa.array([lookup(i) for i in ids.tolist()], pa.string()),
            "hostname": (
                pa.array([hosts.get(r) for r in ranks.tolist()], pa.string())
                if hosts
                else pa.nulls(len(ids), pa.string())
            ),
            "pid": self.pids(ranks),
            "job_id": pa.array(np.full(len(ids), self.job.job_id)),
        }

    def pids(self, ranks: NDArray[np.int64]) -> pa.Array:
        """Process ids: the log's file name has that of rank 0 only."""
        if self.job.pid is None:
            return pa.nulls(len(ranks), pa.int64())
        return pa.array(np.full(len(ranks), self.job.pid), mask=ranks != 0)


def batch(
    cls: type[Record], columns: Mapping[str, pa.Array], log: Log
) -> tuple[type[Record], pa.RecordBatch]:
    """A batch of a record type; columns that are not given are null."""
    rows = len(next(iter(columns.values())))
    arrays = []
    for name, kind in column_types(cls).items():
        array = columns.get(name)
        if array is None:
            array = pa.nulls(rows, kind)
        arrays.append(array)
    # the two columns that end every table
    zeros = pa.array(np.zeros(rows, np.int32))
    arrays.append(pa.DictionaryArray.from_arrays(zeros, pa.array([log.origin])))
    arrays.append(log.numbers.take(cls, rows))
    return cls, pa.RecordBatch.from_arrays(arrays, schema=record_type(cls).arrow_schema)


def column_types(cls: type[Record]) -> dict[str, Any]:
    """Arrow type by column of a record type, but for origin and position."""
    return _column_types(record_type(cls))


@cache
def _column_types(kind: RecordType) -> dict[str, Any]:
    schema: Any = kind.arrow_schema
    return {f.name: f.type for f in schema if f.name not in ("origin", "position")}


def times(
    start_ns: int, seconds: NDArray[np.float64], *, known: NDArray[Any] | None = None
) -> pa.Array:
    """Times from seconds after the job's start; null where ``known`` is False or out of range."""
    valid = np.abs(seconds) < _FAR  # False for NaN
    if known is not None:
        valid &= known
    relative = np.where(valid, seconds, 0.0)
    # microseconds since the job's whole microsecond, which a float holds exactly enough
    micros = np.rint(relative * 1e6 + (start_ns % 1000) / 1000).astype(np.int64)
    micros += start_ns // 1000
    return pa.array(micros, pa.int64(), mask=~valid).cast(TIMESTAMP)


def strings(values: Sequence[str | None], counts: NDArray[np.int64]) -> pa.Array:
    """A column in which each value is repeated so many times."""
    indices = np.repeat(np.arange(len(values), dtype=np.int32), counts)
    return pa.array(values, pa.string()).take(pa.array(indices))
