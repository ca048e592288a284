"""A checked log, and the base class of the decoders of its modules."""

from __future__ import annotations

import abc
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import attrs
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from harvest import Record
from harvest.toolkit.amounts import LONGEST_S

from .. import records
from .container import DamagedError, Module
from .names import Names
from .regions import Region

Rows: TypeAlias = "Record | tuple[type[Record], Any]"
"""What the source yields: a record, or a record class with a table of it."""

BATCH_ROWS: Final = 65_536
TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
_FAR: Final = 4e9
"""Maximum credible time after the job's start, in seconds: 126 years."""


class Failure(NamedTuple):
    """An unreadable part of a log.

    part: the module, or ``names``. raw: its first bytes.
    """

    part: str
    reason: str
    raw: bytes


@attrs.define
class Log:
    """A log whose header and job record are valid.

    job: the row of the job record. start_ns: its start in nanoseconds since 1970.
    mounts: in the order of the log; a string is a line that is not a mount.
    decoders: decoders of the readable modules, by name. failures: the unreadable parts.
    hosts: host by rank, if a module has it.
    impossible: an example and the number of impossible values, by counter.
    """

    job: records.Job
    start_ns: int
    mounts: list[records.Mount | str]
    names: Names = attrs.field(factory=Names)
    decoders: dict[str, Decoder] = attrs.field(factory=dict)
    failures: list[Failure] = attrs.field(factory=list)
    hosts: dict[int, str] = attrs.field(factory=dict)
    impossible: dict[str, tuple[float, int]] = attrs.field(factory=dict)

    def watch(self, counter: str, values: NDArray[Any]) -> None:
        """Record impossible values of a counter: below 0, or a time that is not finite."""
        wrong = values < 0 if values.dtype == np.int64 else ~(np.abs(values) < LONGEST_S)
        if count := int(np.count_nonzero(wrong)):
            example, before = self.impossible.get(counter, (values[wrong][0].item(), 0))
            self.impossible[counter] = example, before + count

    def base(self, ids: NDArray[np.uint64], ranks: NDArray[np.int64]) -> dict[str, pa.Array]:
        """Return the first columns of all modules' rows."""
        lookup, hosts = self.names.by_id.get, self.hosts
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
    def batches(self, log: Log) -> Iterator[Rows]:
        """Yield the records as tables of up to about 65,536 rows."""


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
