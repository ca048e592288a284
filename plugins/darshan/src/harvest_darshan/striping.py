"""The Lustre module: how files are striped over object storage targets."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Final

import attrs

from harvest import Record

from . import records
from .container import Module
from .counters import COUNTERS
from .errors import DamagedError
from .regions import Region, Stream
from .tables import Log
from .variable import rows_of

__all__ = ["LustreRecords"]

_OLD: Final = ("LUSTRE_OSTS", "LUSTRE_MDTS", "LUSTRE_STRIPE_OFFSET")
_COMPONENT: Final = 72


@attrs.frozen
class _Layout:
    """One record: the file's layout.  Values are columns; one mapping per component."""

    record_id: int
    rank: int
    components: int
    rows: list[dict[str, Any]]


class LustreRecords:
    """Layout components; in version 1 a layout is one component.

    Raises DamagedError when the records do not fill the region exactly.
    """

    def __init__(self, module: Module, region: Region, order: str):
        if module.version not in (1, 2):
            raise DamagedError(f"version {module.version} of its records is not known")
        self.version = module.version
        self.region = region
        self.order = order
        self.folded = 0
        self.hosts: dict[int, str] = {}
        self.rows = sum(len(layout.rows) for layout in self._layouts())

    def batches(self, log: Log) -> Iterator[tuple[type[Record], Any]]:
        """The components as batches of rows."""

        def rows() -> Iterator[dict[str, Any]]:
            for layout in self._layouts():
                for row in layout.rows:
                    yield {
                        "record_id": layout.record_id,
                        "rank": layout.rank,
                        "LUSTRE_NUM_COMPONENTS": layout.components,
                        **row,
                    }

        yield from rows_of(records.Lustre, rows(), log)

    def _layouts(self) -> Iterator[_Layout]:
        stream = self.region.stream()
        left = self.region.size
        read = self._old if self.version == 1 else self._new
        while left:
            layout, size = read(stream, left)
            left -= size
            yield layout

    def _old(self, stream: Stream, left: int) -> tuple[_Layout, int]:
        record_id, rank, osts, mdts, offset, size, count = self._unpack(stream, "Qq5q", 56)
        targets = self._targets(stream, count, left - 56)
        row: dict[str, Any] = {
            "component": 0,
            **dict(zip(_OLD, (osts, mdts, offset), strict=True)),
            "LUSTRE_COMP_STRIPE_SIZE": size,
            "LUSTRE_COMP_STRIPE_COUNT": count,
            "LUSTRE_COMP_OST_IDS": targets,
        }
        return _Layout(record_id, rank, 1, [row]), 56 + 8 * count

    def _new(self, stream: Stream, left: int) -> tuple[_Layout, int]:
        record_id, rank, components, stripes = self._unpack(stream, "Qqqq", 32)
        # stripes without a component are not in the log
        total = 32 + _COMPONENT * components + 8 * stripes if components > 0 else 32
        if stripes < 0 or total > left:
            raise DamagedError(
                f"a record claims {components} components and {stripes} stripes, "
                f"while {left} bytes are left"
            )
        rows: list[dict[str, Any]] = []
        unused = False
        counters = struct.Struct(f"{self.order}7q16s")
        parts = [counters.unpack(stream.take(_COMPONENT)) for _ in range(components)]
        targets = self._targets(stream, stripes, left) if components > 0 else []
        for number, (*values, pool) in enumerate(parts):
            row = dict(zip(COUNTERS["LUSTRE"], values, strict=True))
            # the runtime reserves room, and marks components it did not use by a size of -1
            unused = unused or row["LUSTRE_COMP_STRIPE_SIZE"] == -1
            count = row["LUSTRE_COMP_STRIPE_COUNT"]
            if unused:
                break
            if not 0 <= count <= len(targets):
                raise DamagedError(
                    f"component {number} of a record claims {count} stripes of {len(targets)}"
                )
            mine, targets = targets[:count], targets[count:]
            name = pool.split(b"\0")[0].decode("utf-8", "backslashreplace")
            row |= {
                "component": number,
                "LUSTRE_COMP_POOL_NAME": name or None,
                "LUSTRE_COMP_OST_IDS": mine,
            }
            rows.append(row)
        # a layout without a component still is a record of the log
        return _Layout(record_id, rank, len(rows), rows or [{}]), total

    def _unpack(self, stream: Stream, layout: str, size: int) -> tuple[int, ...]:
        data = stream.take(size)
        if len(data) < size:
            raise DamagedError(f"{len(data)} bytes are left over at the end")
        return struct.unpack(self.order + layout, data)

    def _targets(self, stream: Stream, count: int, left: int) -> list[int]:
        if count < 0 or 8 * count > left:
            raise DamagedError(f"a record claims {count} stripes, while {left} bytes are left")
        return list(struct.unpack(f"{self.order}{count}q", stream.take(8 * count)))
