"""Run a source in this process, without a dataset, and collect its output."""

import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa

from harvest.api.source import Partition, ReadContext, Reject, Source
from harvest.toolkit.texts import printable

from .rows import tables


@attrs.define
class Collected:
    """The output of a source for a location or a partition.

    tables: rows by record type name.
    rejects, notes: as reported; filtered, ``folded``: number of units by reason.
    units: number of input units, as the source counted them; None if it never did.
    """

    tables: dict[str, pa.Table]
    rejects: list[Reject]
    notes: list[str]
    filtered: Counter[str]
    folded: Counter[str]
    units: int | None
    partitions: list[Partition]

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of a record type as dicts; an empty list if there are none."""
        return self.tables[name].to_pylist() if name in self.tables else []

    @property
    def written(self) -> int:
        """Number of rows of all types."""
        return sum(table.num_rows for table in self.tables.values())

    @property
    def accounted(self) -> int:
        """Sum of rows, rejects, filtered and merged units; equals ``units``."""
        return self.written + len(self.rejects) + self.filtered.total() + self.folded.total()


def collect(source: Source) -> Collected:
    """Plan and read all partitions of a source's location."""
    return _collect(source, [source.prepare(partition) for partition in source.plan()])


def collect_partition(
    source: Source, partition: Partition, *, batch_rows: int | None = None
) -> Collected:
    """Read one partition; ``batch_rows`` is as in ``harvest.tables``."""
    return _collect(source, [partition], batch_rows)


def _collect(
    source: Source, partitions: Iterable[Partition], batch_rows: int | None = None
) -> Collected:
    pieces: dict[str, list[pa.Table]] = {}
    found = Collected({}, [], [], Counter(), Counter(), None, list(partitions))
    for partition in found.partitions:
        with tempfile.TemporaryDirectory() as scratch:
            ctx = ReadContext(printable(partition.origin), Path(scratch))
            for kind, table in tables(source, partition, ctx, batch_rows=batch_rows):
                pieces.setdefault(kind.name, []).append(table)
        found.rejects += ctx.rejects
        found.notes += [note.text for note in ctx.notes]
        found.filtered += ctx.filtered_by
        found.folded += ctx.folded_by
        if ctx.units is not None:
            found.units = (found.units or 0) + ctx.units
    found.tables |= {name: pa.concat_tables(each) for name, each in pieces.items()}
    return found
