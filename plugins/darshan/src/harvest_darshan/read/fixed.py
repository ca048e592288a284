"""Decode modules whose records have a fixed size."""

import uuid
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from harvest import record_type

from ..counters import COUNTS, TIMES
from .container import DamagedError, Module
from .layouts import FIXED, Layout
from .regions import Region
from .tables import BATCH_ROWS, Decoder, Log, Rows, times

_PIECE = 8 << 20


def matrix(data: memoryview, words: int, order: str) -> NDArray[np.uint64]:
    """Convert records of ``words`` 8-byte words to a matrix of native numbers, a row per word."""
    rows = np.frombuffer(data, f"{order}u8")
    return np.ascontiguousarray(rows.reshape(-1, words).T.astype(np.uint64))


class FixedRecords(Decoder):
    """Decoder of a module whose layouts are in :data:`.layouts.FIXED`."""

    def __init__(self, module: Module, region: Region, order: str):
        versions = FIXED[module.name]
        if module.version not in versions:
            raise DamagedError(
                f"unknown version {module.version} of its records; "
                f"known are {', '.join(map(str, versions))}"
            )
        self.known = tuple(versions)
        self.layout: Layout = versions[module.version]
        super().__init__(module, region, order)

    def _check(self) -> int:
        rows, rest = divmod(self.region.size, self.layout.size)
        if rest:
            raise DamagedError(
                f"its {self.region.size} bytes are not a whole number of records of "
                f"{self.layout.size} bytes (version {self.module.version})"
            )
        return rows

    def batches(self, log: Log) -> Iterator[Rows]:
        layout = self.layout
        stream = self.region.stream()
        size = layout.size * max(1, min(BATCH_ROWS, _PIECE // layout.size))
        while len(data := stream.take(size)):
            yield layout.record, pa.table(self._columns(data, log))

    def _columns(self, data: memoryview, log: Log) -> dict[str, pa.Array]:
        words = self.layout.words
        values = matrix(data, len(words), self.order)
        rows = values.shape[1]
        buffer = pa.py_buffer(values)
        columns = log.base(values[0], values[1].view(np.int64))
        schema = record_type(self.layout.record).arrow_schema
        extra = []
        for row, name in enumerate(words):
            if name is None or name in columns:
                continue
            if COUNTS.search(name):
                log.watch(name, values[row].view(np.int64))
            elif TIMES.search(name):
                log.watch(name, values[row].view(np.float64))
            if name.startswith("+"):
                extra.append((name[1:], values[row].view(np.int64)))
            elif name.endswith("_uuid"):
                columns[name] = _uuids(data, len(words), row)
            else:
                # the column is a slice of the matrix, not a copy
                piece = buffer.slice(8 * rows * row, 8 * rows)
                columns[name] = pa.Array.from_buffers(schema.field(name).type, rows, [None, piece])
        if extra:
            columns["extra"] = _nonzero_maps(extra)
        if "first_time" in schema.names:
            columns |= self._times(values.view(np.float64), log.start_ns)
        return columns

    def _times(self, values: NDArray[np.float64], start_ns: int) -> dict[str, pa.Array]:
        words = [name or "" for name in self.layout.words]
        first = [i for i, name in enumerate(words) if name.endswith("_START_TIMESTAMP")]
        last = [i for i, name in enumerate(words) if name.endswith("_END_TIMESTAMP")]
        # Darshan writes 0 for "never"
        starts = np.where(values[first] > 0, values[first], np.inf).min(axis=0)
        ends = np.where(values[last] > 0, values[last], -np.inf).max(axis=0)
        return {"first_time": times(start_ns, starts), "last_time": times(start_ns, ends)}


def _uuids(data: memoryview, words: int, row: int) -> pa.Array:
    raw = np.frombuffer(data, np.uint8).reshape(-1, 8 * words)[:, 8 * row : 8 * row + 16]
    return pa.array([str(uuid.UUID(bytes=value.tobytes())) for value in raw], pa.string())


def _nonzero_maps(columns: list[tuple[str, NDArray[np.int64]]]) -> pa.Array:
    """Build ``extra`` from counters without a column; null if all are zero."""
    names = [name for name, _ in columns]
    rows = zip(*(values.tolist() for _, values in columns), strict=True)
    return pa.array(
        [
            [(n, str(v)) for n, v in zip(names, row, strict=True)] if any(row) else None
            for row in rows
        ],
        pa.map_(pa.string(), pa.string()),
    )
