"""The parts of a dataset, by key and in the dataset's order, held in columns.

They lie in segments, of which the later ones count.  A ``Part`` is made when somebody asks for it;
questions about all parts are answered by the columns.  A *row* of them is a number: all rows of
the first segment, then those of the next, whether they still count or not.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from .columns import ACCOUNT, FILES, KEYS, NAMES, SCHEMAS, compact, key_bytes, part_of
from .part import Part
from .segment import REMOVED, Segment

GROWTH: Final = 3
"""A new segment is merged with the one before unless that has more than so many times its parts."""

FEW_PARTS: Final = 512
"""Segments of so few parts are always merged."""

_BATCH: Final = 2_048
"""Parts that are made together."""


class Parts(Mapping[str, Part]):
    """Parts by key, in the dataset's order."""

    def __init__(self, segments: Iterable[Segment] = ()):
        self.segments = tuple(segments)
        self._kept: dict[str, list[pa.RecordBatch]] = {}

    def __len__(self) -> int:
        return int(self.counting.true_count)

    def __iter__(self) -> Iterator[str]:
        return self.keys_at(self.in_order(self.rows))

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key in self.row_by_key

    def __getitem__(self, key: str) -> Part:
        (part,) = self.at([self.row_by_key[key]])
        return part

    def items(self) -> Any:
        return ((part.key, part) for part in self.values())

    def values(self) -> Any:
        return self.at(self.in_order(self.rows))

    @cached_property
    def row_by_key(self) -> dict[str, int]:
        keys = self.table(KEYS).column("key").filter(self.counting)
        return dict(zip((key.hex() for key in keys.to_pylist()), self.rows, strict=True))

    @cached_property
    def counting_by_segment(self) -> list[pa.BooleanArray]:
        """Of each segment, which parts no later one replaces or removes."""
        later: list[pa.Array] = []
        found = []
        for segment in reversed(self.segments):
            keys = segment.section(KEYS).column("key")
            others = pa.chunked_array(later, pa.binary(8))
            found.append(pc.invert(pc.is_in(keys, value_set=others)).combine_chunks())
            later += [*keys.chunks, *segment.section(REMOVED).column("key").chunks]
        return found[::-1]

    @cached_property
    def counting(self) -> pa.BooleanArray:
        return pa.concat_arrays([pa.nulls(0, pa.bool_()), *self.counting_by_segment])

    @property
    def rows(self) -> list[int]:
        return list(rows_where(self.counting).to_pylist())

    def table(self, section: str) -> pa.Table:
        """A section of all rows."""
        pieces = [segment.section(section) for segment in self.segments]
        return pa.concat_tables([pa.Table.from_batches([], schema=SCHEMAS[section]), *pieces])

    def _batches(self, section: str) -> Iterator[pa.RecordBatch]:
        """The rows of ``table``; those of a long one are not kept."""
        for segment in self.segments:
            yield from segment.batches(section)

    def spread(
        self, section: str, lists: str, among: pa.BooleanArray | None = None
    ) -> Iterator[pa.Table]:
        """What a column of lists holds, one value a row, and the ``row`` that has it; in pieces."""
        among, first = self.counting if among is None else among, 0
        for batch in self._batches(section):
            column = batch.column(lists)
            rows = (pl.Series(pc.list_parent_indices(column)) + first).to_arrow()
            values = pa.Table.from_struct_array(column.flatten()).append_column("row", rows)
            whole = among.slice(first, batch.num_rows).false_count == 0
            yield values if whole else values.filter(among.take(rows))
            first += batch.num_rows

    def sums(self, section: str, lists: str, name: str, number: str) -> Counter[str]:
        """For each name in a column of lists, the sum of its numbers."""
        found: Counter[str] = Counter()
        for values in self.spread(section, lists):
            each = pl.DataFrame(values).group_by(name).agg(pl.col(number).sum())
            found.update(dict(each.iter_rows()))
        return found

    def read(self, rows: Sequence[int], *sections: str) -> Iterator[dict[str, Any]]:
        """The columns of sections for rows of ``table``, in the order given."""
        for start in range(0, len(rows), _BATCH):
            some = rows[start : start + _BATCH]
            ascending = sorted(some)
            columns: dict[str, list[Any]] = {}
            for section in sections:
                if section not in self._kept:
                    self._kept[section] = self.table(section).to_batches()
                columns |= _take(section, self._kept[section], ascending).to_pydict()
            found = dict(zip(ascending, zip(*columns.values(), strict=True), strict=True))
            yield from (dict(zip(columns, found[row], strict=True)) for row in some)

    def at(self, rows: Sequence[int]) -> Iterator[Part]:
        """The parts of rows of ``table``, in the order given."""
        return map(part_of, self.read(rows, *SCHEMAS))

    def keys_at(self, rows: Sequence[int]) -> Iterator[str]:
        """The keys of rows of ``table``, in the order given."""
        return (row["key"].hex() for row in self.read(rows, KEYS))

    def in_order(self, rows: Iterable[int]) -> list[int]:
        """Some rows of ``table``, in the dataset's order."""
        rows = sorted(rows)
        if len(self.segments) <= 1:  # whose parts are in order
            return rows
        names = _take(NAMES, self._batches(NAMES), rows)
        return [rows[at] for at in _sort(names).to_pylist()]

    def rows_of(self, keys: pa.Array) -> pa.Array:
        """The rows of keys in ``table``, null for those that are not there."""
        held = self.table(KEYS).column("key").filter(self.counting)
        return rows_where(self.counting).take(pc.index_in(keys, value_set=held))

    def rows_outside(self, keys: pa.Array) -> pa.Array:
        """The rows of ``table`` whose keys are none of these."""
        held = pc.is_in(self.table(KEYS).column("key"), value_set=keys)
        return rows_where(pc.and_not(self.counting, held.combine_chunks()))

    def rows_picked(self, keys: Iterable[str]) -> list[int]:
        """The rows of those of these keys that there are, in the dataset's order."""
        wanted = pa.array([key_bytes(key) for key in keys], pa.binary(8))
        return self.in_order(self.rows_of(wanted).drop_null().to_pylist())

    def pick(self, keys: Iterable[str]) -> dict[str, Part]:
        """The parts of these keys that there are, in the dataset's order."""
        return {part.key: part for part in self.at(self.rows_picked(keys))}

    def with_rejects(self) -> Iterator[Part]:
        """The parts that have rejects, in the dataset's order."""
        return self._where(pc.is_valid(self.table(FILES).column("rejects")))

    def with_notes(self) -> Iterator[Part]:
        """The parts that have notes, in the dataset's order."""
        notes = self.table(ACCOUNT).column("notes")
        return self._where(pc.greater(pc.list_value_length(notes), 0))

    def _where(self, holds: pa.ChunkedArray) -> Iterator[Part]:
        rows = rows_where(pc.and_(self.counting, holds.combine_chunks()))
        return self.at(self.in_order(rows.to_pylist()))

    def record_types(self) -> dict[str, int]:
        """Rows of each record type."""
        return dict(self._rows_by_type)

    @cached_property
    def _rows_by_type(self) -> dict[str, int]:
        return dict(sorted(self.sums(ACCOUNT, "rows", "of", "count").items()))

    def total(self, name: str) -> int:
        """The sum of a number of the account: ``read`` or ``rejected``."""
        return int(pc.sum(self.table(ACCOUNT).column(name).filter(self.counting)).as_py() or 0)

    def changed(self, put: Mapping[str, Part], gone: Iterable[str] = ()) -> Parts:
        """These parts with some put in, instead of those of their keys, and others gone."""
        parts = sorted(put.values(), key=lambda part: part.order)
        return self.followed_by(parts, [key for key in gone if key not in put])

    def followed_by(self, parts: Iterable[Part], gone: Iterable[str]) -> Parts:
        """As ``changed``, with parts in the dataset's order, of which none is gone."""
        return Parts([*self.segments, Segment.of(parts, map(key_bytes, gone))])

    def stored(self, directory: Path) -> Parts:
        """The same parts, all in files of a directory."""
        kept = [segment for segment in self.segments if segment.entry is not None]
        if len(kept) == len(self.segments):
            return self
        size = sum(s.parts + s.removed for s in self.segments if s.entry is None)
        while kept and kept[-1].parts + kept[-1].removed <= max(GROWTH * size, FEW_PARTS):
            size += kept[-1].parts + kept[-1].removed
            kept.pop()
        tail = Parts(self.segments[len(kept) :]).merged(whole=not kept)
        if tail.parts or tail.removed:
            kept.append(tail.write(directory))
        return Parts(kept)

    def merged(self, *, whole: bool) -> Segment:
        """All parts as one segment; whole: no other is before it."""
        tables = {name: self.table(name) for name in SCHEMAS}
        if len(self.segments) > 1:
            rows = pa.array(self.in_order(self.rows), pa.int64())
            tables = {name: compact(table).take(rows) for name, table in tables.items()}
        gone = [s.section(REMOVED) for s in self.segments] if not whole else []
        return Segment(tables | {REMOVED: pa.concat_tables([SCHEMAS[KEYS].empty_table(), *gone])})


def _take(section: str, batches: Iterable[pa.RecordBatch], rows: Sequence[int]) -> pa.Table:
    """Some rows of a section's batches; they are given in its order."""
    found, first, at = [], 0, 0
    for batch in batches:
        stop = bisect_left(rows, first + batch.num_rows, at)
        if stop > at:
            found.append(batch.take(pa.array(row - first for row in rows[at:stop])))
        first, at = first + batch.num_rows, stop
    return pa.Table.from_batches(found, SCHEMAS[section])


def rows_where(holds: pa.BooleanArray) -> pa.Array:
    """The rows of which something holds; there may be none.

    It takes no chunks: ``indices_nonzero`` of none but empty ones ends the process in every Arrow
    before 26.0.1.
    """
    return pc.indices_nonzero(holds)


def _sort(names: pa.Table) -> pa.Array:
    """The order in which the dataset has the parts of these names."""
    plain = {name: names.column(name).cast(pa.string()) for name in ("source", "folder")}
    name = names.column("name")
    table = pa.table(
        {
            "source": plain["source"],
            "origin": pc.binary_join_element_wise(plain["folder"], name, ""),
            "partition": pc.coalesce(names.column("partition"), name),
        }
    )
    return pc.sort_indices(table, sort_keys=[(name, "ascending") for name in table.column_names])
