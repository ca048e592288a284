"""The base class of decoders, and the Arrow batches that they yield."""

import abc
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeAlias

import attrs
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from harvest import Record, RecordType, record_type
from harvest_toolkit.frames import LONGEST_S

from .container import DamagedError, Module
from .job import Job
from .regions import Region

Rows: TypeAlias = "Record | tuple[type[Record], Any]"
"""What the source yields: a record, or a record class with an Arrow batch of it."""

BATCH_ROWS: Final = 65_536
TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
_FAR: Final = 4e9
"""Maximum credible time after the job's start, in seconds: 126 years."""


@attrs.define
class Log:
    """Data of a log that the rows of all modules need.

    origin: path of the log. paths: name by record id.
    hosts: host by rank, if a module has it.
    given: number of rows of each record type so far, for their positions.
    impossible: an example and the number of impossible values, by counter.
    """

    origin: str
    job: Job
    paths: Mapping[int, str]
    hosts: dict[int, str]
    given: Counter[type[Record]] = attrs.field(factory=Counter)
    impossible: dict[str, tuple[float, int]] = attrs.field(factory=dict)

    def watch(self, counter: str, values: NDArray[Any]) -> None:
        """Record impossible values of a counter: below 0, or a time that is not finite."""
        wrong = values < 0 if values.dtype == np.int64 else ~(np.abs(values) < LONGEST_S)
        if count := int(np.count_nonzero(wrong)):
            example, before = self.impossible.get(counter, (values[wrong][0].item(), 0))
            self.impossible[counter] = example, before + count

    def base(self, ids: NDArray[np.uint64], ranks: NDArray[np.int64]) -> dict[str, pa.Array]:
        """Return the first columns of all modules' rows."""
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
        """Return a column of process ids: only that of rank 0 is in the log's file name."""
        if self.job.pid is None:
            return pa.nulls(len(ranks), pa.int64())
        return pa.array(np.full(len(ranks), self.job.pid), mask=ranks != 0)


class Decoder(abc.ABC):
    """Checks the records of a module when created, then yields their rows.

    known: readable versions of the records.
    rows: number of rows that ``batches`` will yield.
    merged: number of records without a row of their own.
    hosts: host by rank, if the records have it.

    Raises DamagedError if the records do not fill the region exactly.
    """

    known: tuple[int, ...] = (1,)

    def __init__(self, module: Module, region: Region, order: str):
        if module.version not in self.known:
            raise DamagedError(f"unknown version {module.version} of its records")
        self.module = module
        self.region = region
        self.order = order
        self.merged = 0
        self.hosts: dict[int, str] = {}
        self.rows = self._check()

    @abc.abstractmethod
    def _check(self) -> int:
        """Check all records and return the number of rows. Raises DamagedError."""

    @abc.abstractmethod
    def batches(self, log: Log) -> Iterator[tuple[type[Record], Any]]:
        """Yield the records as batches of rows."""


def batch(
    cls: type[Record], columns: Mapping[str, Any], log: Log
) -> tuple[type[Record], pa.RecordBatch]:
    """Build a batch of a record type; missing columns are null."""
    rows = len(next(iter(columns.values())))
    first = log.given[cls] + 1
    log.given[cls] += rows
    zeros = pa.array(np.zeros(rows, np.int32))
    columns = {
        **columns,
        # the last two columns of every record type
        "origin": pa.DictionaryArray.from_arrays(zeros, pa.array([log.origin])),
        "position": pa.array(np.arange(first, first + rows)),
    }
    kind = record_type(cls)
    found = [(columns.get(name), arrow) for name, arrow in column_types(kind).items()]
    arrays = [pa.nulls(rows, arrow) if array is None else array for array, arrow in found]
    return cls, pa.RecordBatch.from_arrays(arrays, schema=kind.arrow_schema)


@cache
def column_types(kind: RecordType) -> dict[str, Any]:
    """Return the Arrow types of a record type's columns, by name."""
    schema: Any = kind.arrow_schema
    return {field.name: field.type for field in schema}


def times(start_ns: int, seconds: NDArray[np.float64]) -> pa.Array:
    """Convert seconds after the job's start to times; null if out of range."""
    valid = np.abs(seconds) < _FAR  # False for NaN
    relative = np.where(valid, seconds, 0.0)
    # relative to the start's whole microsecond, so that a float is precise enough
    micros = np.rint(relative * 1e6 + (start_ns % 1000) / 1000).astype(np.int64)
    micros += start_ns // 1000
    return pa.array(micros, pa.int64(), mask=~valid).cast(TIMESTAMP)


def strings(values: Sequence[str | None], counts: NDArray[np.int64]) -> pa.Array:
    """Build a column that repeats each value by its number in ``counts``."""
    indices = np.repeat(np.arange(len(values), dtype=np.int32), counts)
    return pa.array(values, pa.string()).take(pa.array(indices))
