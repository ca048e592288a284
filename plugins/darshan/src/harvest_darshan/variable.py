"""Modules whose records vary in size, and those of named counters: rare, and small."""

from __future__ import annotations

import abc
import struct
from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa

from harvest import Record

from . import records
from .container import Module
from .counters import COUNTERS, TIMERS
from .errors import DamagedError
from .regions import Region, Stream
from .tables import TIMESTAMP, Log, batch, column_types

__all__ = ["HeatmapRecords", "MdhimRecords", "rows_of"]

_ROWS: Final = 4096
_ITEMS: Final = 1 << 20
_MOST_BINS: Final = 1 << 20


def rows_of(
    cls: type[Record], rows: Iterable[dict[str, Any]], log: Log
) -> Iterator[tuple[type[Record], Any]]:
    """Batches from rows as mappings; each has ``record_id`` and ``rank`` and what is its own."""
    types = column_types(cls)
    for chunk in _chunks(rows):
        ids = np.array([row["record_id"] for row in chunk], np.uint64)
        ranks = np.array([row["rank"] for row in chunk], np.int64)
        columns = log.base(ids, ranks)
        for name in {key: None for row in chunk for key in row}:
            if name not in columns:
                columns[name] = pa.array([row.get(name) for row in chunk], types[name])
        yield batch(cls, columns, log)


def _chunks(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Rows by the thousand, or fewer where they hold long lists."""
    chunk: list[dict[str, Any]] = []
    weight = 0
    for row in rows:
        chunk.append(row)
        weight += sum(len(value) for value in row.values() if isinstance(value, list))
        if len(chunk) >= _ROWS or weight >= _ITEMS:
            yield chunk
            chunk, weight = [], 0
    if chunk:
        yield chunk


class _Variable(abc.ABC):
    """Records that say themselves how long they are."""

    known: tuple[int, ...] = (1,)

    def __init__(self, module: Module, region: Region, order: str):
        if module.version not in self.known:
            raise DamagedError(f"version {module.version} of its records is not known")
        self.region = region
        self.order = order
        self.folded = 0
        self.hosts: dict[int, str] = {}
        self.rows = sum(1 for _ in self._records())

    def _records(self) -> Iterator[dict[str, Any]]:
        stream = self.region.stream()
        left = self.region.size
        while left:
            row, size = self._read(stream, left)
            left -= size
            yield row

    @abc.abstractmethod
    def _read(self, stream: Stream, left: int) -> tuple[dict[str, Any], int]:
        """One record and its size in bytes; at most ``left`` may be taken."""

    def _numbers(self, stream: Stream, layout: str, left: int) -> tuple[Any, ...]:
        form = struct.Struct(self.order + layout)
        if form.size > left:
            raise DamagedError(f"its records do not fill it: {left} bytes are left over")
        return form.unpack(stream.take(form.size))


class HeatmapRecords(_Variable):
    """Bytes read and written per interval of time."""

    def batches(self, log: Log) -> Iterator[tuple[type[Record], Any]]:
        """The heat maps as batches of rows."""
        for cls, table in rows_of(records.Heatmap, self._records(), log):
            column = table.schema.get_field_index("first_time")
            start = pa.array([log.job.start_ns // 1000] * table.num_rows).cast(TIMESTAMP)
            yield cls, table.set_column(column, table.schema.field(column), start)

    def _read(self, stream: Stream, left: int) -> tuple[dict[str, Any], int]:
        # two pointers of the process's memory follow, of no use in a file
        record_id, rank, width, bins, _, _ = self._numbers(stream, "QqdqQQ", left)
        if not 0 <= bins <= _MOST_BINS or 16 * bins > left - 48:
            raise DamagedError(f"a heat map claims {bins} intervals, while {left} bytes are left")
        writes = self._numbers(stream, f"{bins}q", left)
        reads = self._numbers(stream, f"{bins}q", left)
        row = {
            "record_id": record_id,
            "rank": rank,
            "HEATMAP_F_BIN_WIDTH_SECONDS": width,
            "HEATMAP_NBINS": bins,
            "HEATMAP_WRITE_BINS": list(writes),
            "HEATMAP_READ_BINS": list(reads),
        }
        return row, 48 + 16 * bins


class MdhimRecords(_Variable):
    """Use of an MDHIM key-value store."""

    def batches(self, log: Log) -> Iterator[tuple[type[Record], Any]]:
        """The records as batches of rows."""
        yield from rows_of(records.Mdhim, self._records(), log)

    def _read(self, stream: Stream, left: int) -> tuple[dict[str, Any], int]:
        names = COUNTERS["MDHIM"] + TIMERS["MDHIM"]
        record_id, rank, *values = self._numbers(stream, "Qq5q4d", left)
        row: dict[str, Any] = {"record_id": record_id, "rank": rank}
        row |= dict(zip(names, values, strict=True))
        # room for one server is always there
        servers = max(row["MDHIM_SERVERS"], 1)
        if 8 * servers > left - 88:
            raise DamagedError(f"a record claims {servers} servers, while {left} bytes are left")
        row["MDHIM_SERVER_HISTOGRAM"] = list(self._numbers(stream, f"{servers}q", left))
        return row, 88 + 8 * servers
