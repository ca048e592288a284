"""From what a source yields to tables a sink takes.

A source may yield instances of record classes, whole tables, or a mix; here they become tables of
the exact schema, with origin and position filled, none larger than a batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from harvest.api.context import ReadContext
from harvest.api.source import Partition, Source
from harvest.errors import PluginError
from harvest.model import BatchError, Record, RecordType, RecordTypeError, record_type
from harvest.model.arrow import BATCH_ROWS, batches, conform, table_of
from harvest.toolkit.texts import printable

from .spooling import read

__all__ = ["typed_tables"]

INSTANCE_ROWS = 8_192
"""Record instances gathered into one table."""


def typed_tables(
    source: Source, partition: Partition, ctx: ReadContext
) -> Iterator[tuple[RecordType, pa.Table]]:
    """The rows of a partition as (record type, table of at most 65,536 rows).

    Raises PluginError when the source yields something that its record types do not allow.
    """
    gatherer = _Gatherer(source, partition)
    try:
        for item in read(source, partition, ctx):
            if isinstance(item, Record):
                yield from gatherer.add(item)
            else:
                # keep the order in which a source gives its rows
                yield from gatherer.flush()
                yield from gatherer.table(item)
        yield from gatherer.flush()
    except (BatchError, RecordTypeError) as error:
        raise PluginError(
            f"source {source.name!r} broke its contract: {error}",
            where=printable(partition.origin),
            remedy="report this to the plugin's author",
        ) from error


class _Gatherer:
    """Turns instances into tables, and numbers rows that have no position."""

    def __init__(self, source: Source, partition: Partition):
        self.origin = printable(partition.origin)
        self.allowed = {record_type(cls).name for cls in source.record_types}
        self.waiting: dict[str, tuple[RecordType, list[Record]]] = {}
        self.count = 0
        self.next_position: dict[str, int] = {}

    def add(self, item: Record) -> Iterator[tuple[RecordType, pa.Table]]:
        kind = self._declared_type(type(item))
        if item.origin is None:
            item.origin = self.origin
        number = self.next_position.get(kind.name, 1)
        if item.position is None:
            item.position = number
        self.next_position[kind.name] = number + 1
        self.waiting.setdefault(kind.name, (kind, []))[1].append(item)
        self.count += 1
        if self.count >= INSTANCE_ROWS:
            yield from self.flush()

    def flush(self) -> Iterator[tuple[RecordType, pa.Table]]:
        waiting, self.waiting, self.count = self.waiting, {}, 0
        for kind, items in waiting.values():
            yield kind, table_of(kind, items)

    def table(self, item: Any) -> Iterator[tuple[RecordType, pa.Table]]:
        if not (isinstance(item, tuple) and len(item) == 2):
            raise BatchError(
                "read() must yield instances of a record class or pairs of a record class and "
                f"Arrow data, not {type(item).__qualname__}"
            )
        kind = self._declared_type(item[0])
        first = self.next_position.get(kind.name, 1)
        table = conform(kind, item[1], origin=self.origin, position=first)
        self.next_position[kind.name] = first + table.num_rows
        for batch in batches(table, BATCH_ROWS):
            yield kind, batch

    def _declared_type(self, cls: type[Record]) -> RecordType:
        kind = record_type(cls)
        if kind.name not in self.allowed:
            raise BatchError(f"{kind.name} is not among its record_types")
        return kind
