"""Decode modules whose records vary in size: heat maps, MDHIM, and Lustre's file layouts."""

import abc
import struct
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Final

import numpy as np
import pyarrow as pa

from harvest import Record, record_type

from .. import records
from ..counters import COUNTERS, TIMERS
from .container import DamagedError, text_of
from .regions import Stream
from .tables import TIMESTAMP, Decoder, Log, Rows

_WATCHED: Final = (
    *("HEATMAP_F_BIN_WIDTH_SECONDS", "HEATMAP_READ_BINS", "HEATMAP_WRITE_BINS"),
    *("MDHIM_PUTS", "MDHIM_GETS", "MDHIM_SERVER_HISTOGRAM"),
)
_ROWS: Final = 4096
_ITEMS: Final = 1 << 20
_MOST_BINS: Final = 1 << 20
_COMPONENT: Final = 72

_Row = dict[str, Any]
"""Values by column: ``record_id``, ``rank``, and the columns of the module."""


def _chunks(rows: Iterable[_Row]) -> Iterator[list[_Row]]:
    """Group rows into chunks, with fewer rows if these have long lists."""
    chunk: list[_Row] = []
    weight = 0
    for row in rows:
        chunk.append(row)
        weight += sum(len(value) for value in row.values() if isinstance(value, list))
        if len(chunk) >= _ROWS or weight >= _ITEMS:
            yield chunk
            chunk, weight = [], 0
    if chunk:
        yield chunk


class _Variable(Decoder):
    """Decoder of records that contain their own length."""

    record: ClassVar[type[Record]]
    left_over: ClassVar[str] = "its records do not fill it: {} bytes are left over"

    def _check(self) -> int:
        return sum(1 for _ in self._rows())

    def batches(self, log: Log) -> Iterator[Rows]:
        schema = record_type(self.record).arrow_schema
        for chunk in _chunks(self._rows()):
            ids = np.array([row["record_id"] for row in chunk], np.uint64)
            ranks = np.array([row["rank"] for row in chunk], np.int64)
            columns = log.base(ids, ranks)
            if "first_time" in schema.names:  # heat maps begin with the job
                start = pa.array([log.start_ns // 1000] * len(chunk))
                columns["first_time"] = start.cast(TIMESTAMP)
            for name in {key: None for row in chunk for key in row}:
                if name not in columns:
                    values = [row.get(name) for row in chunk]
                    columns[name] = pa.array(values, schema.field(name).type)
                if name in _WATCHED:
                    column = columns[name]
                    items = column.flatten() if pa.types.is_list(column.type) else column
                    log.watch(name, items.to_numpy(zero_copy_only=False))
            yield self.record, pa.table(columns)

    def _rows(self) -> Iterator[_Row]:
        stream = self.region.stream()
        left = self.region.size
        while left:
            rows, size = self._read(stream, left)
            left -= size
            yield from rows

    @abc.abstractmethod
    def _read(self, stream: Stream, left: int) -> tuple[list[_Row], int]:
        """Read one record; return its rows and its size in bytes, which is at most ``left``."""

    def _numbers(self, stream: Stream, layout: str, left: int) -> tuple[Any, ...]:
        form = struct.Struct(self.order + layout)
        if form.size > left:
            raise DamagedError(self.left_over.format(left))
        return form.unpack(stream.take(form.size))


class HeatmapRecords(_Variable):
    """Decoder of heat maps: bytes read and written per interval of time."""

    record = records.Heatmap

    def _read(self, stream: Stream, left: int) -> tuple[list[_Row], int]:
        # the last two numbers are pointers of the process, which mean nothing in a file
        record_id, rank, width, bins, _, _ = self._numbers(stream, "QqdqQQ", left)
        if not 0 <= bins <= _MOST_BINS or 16 * bins > left - 48:
            raise DamagedError(f"a heat map claims {bins} intervals, while {left} bytes are left")
        writes = self._numbers(stream, f"{bins}q", left)
        row = {
            "record_id": record_id,
            "rank": rank,
            "HEATMAP_F_BIN_WIDTH_SECONDS": width,
            "HEATMAP_NBINS": bins,
            "HEATMAP_WRITE_BINS": list(writes),
            "HEATMAP_READ_BINS": list(self._numbers(stream, f"{bins}q", left)),
        }
        return [row], 48 + 16 * bins


class MdhimRecords(_Variable):
    """Decoder of MDHIM, a key-value store."""

    record = records.Mdhim

    def _read(self, stream: Stream, left: int) -> tuple[list[_Row], int]:
        names = ("record_id", "rank", *COUNTERS["MDHIM"], *TIMERS["MDHIM"])
        row = dict(zip(names, self._numbers(stream, "Qq5q4d", left), strict=True))
        # a record always has room for one server
        servers = max(row["MDHIM_SERVERS"], 1)
        if 8 * servers > left - 88:
            raise DamagedError(f"a record claims {servers} servers, while {left} bytes are left")
        row["MDHIM_SERVER_HISTOGRAM"] = list(self._numbers(stream, f"{servers}q", left))
        return [row], 88 + 8 * servers


class LustreRecords(_Variable):
    """Decoder of Lustre's file layouts: a row per component, of which version 1 has one."""

    known = (1, 2)
    record = records.Lustre
    left_over = "{} bytes are left over at the end"

    def _read(self, stream: Stream, left: int) -> tuple[list[_Row], int]:
        return (self._old if self.module.version == 1 else self._new)(stream, left)

    def _old(self, stream: Stream, left: int) -> tuple[list[_Row], int]:
        names = (
            *("record_id", "rank", "LUSTRE_OSTS", "LUSTRE_MDTS", "LUSTRE_STRIPE_OFFSET"),
            *("LUSTRE_COMP_STRIPE_SIZE", "LUSTRE_COMP_STRIPE_COUNT"),
        )
        row = dict(zip(names, self._numbers(stream, "Qq5q", left), strict=True))
        count = row["LUSTRE_COMP_STRIPE_COUNT"]
        targets = self._targets(stream, count, left - 56)
        row |= {"component": 0, "LUSTRE_NUM_COMPONENTS": 1, "LUSTRE_COMP_OST_IDS": targets}
        return [row], 56 + 8 * count

    def _new(self, stream: Stream, left: int) -> tuple[list[_Row], int]:
        record_id, rank, components, stripes = self._numbers(stream, "Qqqq", left)
        # without components, the log contains no stripes either
        total = 32 + _COMPONENT * components + 8 * stripes if components > 0 else 32
        if stripes < 0 or total > left:
            raise DamagedError(
                f"a record claims {components} components and {stripes} stripes, "
                f"while {left} bytes are left"
            )
        parts = [self._numbers(stream, "7q16s", left) for _ in range(components)]
        targets = self._targets(stream, stripes, left) if components > 0 else []
        rows: list[_Row] = []
        for number, (*values, pool) in enumerate(parts):
            row: _Row = dict(zip(COUNTERS["LUSTRE"], values, strict=True))
            # the runtime reserves room for components and sets the size of unused ones to -1
            if row["LUSTRE_COMP_STRIPE_SIZE"] == -1:
                break
            count = row["LUSTRE_COMP_STRIPE_COUNT"]
            if not 0 <= count <= len(targets):
                raise DamagedError(
                    f"component {number} of a record claims {count} stripes of {len(targets)}"
                )
            row |= {
                "component": number,
                "LUSTRE_COMP_POOL_NAME": text_of(pool) or None,
                "LUSTRE_COMP_OST_IDS": targets[:count],
            }
            targets = targets[count:]
            rows.append(row)
        of_all = {"record_id": record_id, "rank": rank, "LUSTRE_NUM_COMPONENTS": len(rows)}
        # a layout without components is a record of the log, too
        return [{**of_all, **row} for row in rows or [{}]], total

    def _targets(self, stream: Stream, count: int, left: int) -> list[int]:
        if count < 0 or 8 * count > left:
            raise DamagedError(f"a record claims {count} stripes, while {left} bytes are left")
        return list(self._numbers(stream, f"{count}q", left))
