"""The parts of a dataset, by key and in the dataset's order, held in columns.

The parts are in segments; a later segment overrides an earlier one. A ``Part`` object is built only
on request; the columns answer questions about all parts. A *row* is a number: it counts all rows of
the first segment, then those of the next, current or not.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from .columns import ACCOUNT, FILES, KEYS, NAMES, SCHEMAS, compact, key_bytes, part_of
from .part import Part
from .segment import REMOVED, Segment

GROWTH: Final = 3
"""A new segment is merged with the previous one, unless that is this many times larger."""

FEW_PARTS: Final = 512
"""Segments with at most this many parts are always merged."""

_BATCH: Final = 2_048
"""Number of parts that are built together."""


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
        """For each segment, the mask of parts that no later segment replaces or removes."""
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
        """Return a section of all rows, current or not."""
        pieces = [segment.section(section) for segment in self.segments]
        return pa.concat_tables([pa.Table.from_batches([], schema=SCHEMAS[section]), *pieces])

    def _batches(self, section: str) -> Iterator[pa.RecordBatch]:
        """Yield the rows of ``table`` in batches; do not keep those of a large segment."""
        for segment in self.segments:
            yield from segment.batches(section)

    def spread(
        self, section: str, lists: str, among: pa.BooleanArray | None = None
    ) -> Iterator[pa.Table]:
        """Yield the values of a list column, one per row, with their ``row`` number, in pieces."""
        among, first = self.counting if among is None else among, 0
        for batch in self._batches(section):
            column = batch.column(lists)
            every = _numbers(range(first, first + batch.num_rows))
            rows = every.take(pc.list_parent_indices(column))
            values = pa.Table.from_struct_array(column.flatten()).append_column("row", rows)
            whole = among.slice(first, batch.num_rows).false_count == 0
            yield values if whole else values.filter(among.take(rows))
            first += batch.num_rows

    def sums(self, section: str, lists: str, name: str, number: str) -> Counter[str]:
        """Sum a number over the items of a list column, for each name."""
        found: Counter[str] = Counter()
        for values in self.spread(section, lists):
            for text, total, _ in by_name(values, name, number):
                found[text] += total
        return found

    def read(self, rows: Sequence[int], *sections: str) -> Iterator[dict[str, Any]]:
        """Yield the columns of sections for rows of ``table``, in the order given."""
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
        """Yield the parts at rows of ``table``, in the order given."""
        return map(part_of, self.read(rows, *SCHEMAS))

    def keys_at(self, rows: Sequence[int]) -> Iterator[str]:
        """Yield the keys at rows of ``table``, in the order given."""
        return (row["key"].hex() for row in self.read(rows, KEYS))

    def in_order(self, rows: Iterable[int]) -> list[int]:
        """Sort rows of ``table`` into the dataset's order."""
        rows = sorted(rows)
        if len(self.segments) <= 1:  # one segment is already in order
            return rows
        names = _take(NAMES, self._batches(NAMES), rows)
        return [rows[at] for at in _sort(names).to_pylist()]

    def rows_of(self, keys: pa.Array) -> pa.Array:
        """Return the row of each key in ``table``, null for unknown keys."""
        held = self.table(KEYS).column("key").filter(self.counting)
        return rows_where(self.counting).take(pc.index_in(keys, value_set=held))

    def rows_outside(self, keys: pa.Array) -> pa.Array:
        """Return the rows of ``table`` whose keys are not among these."""
        held = pc.is_in(self.table(KEYS).column("key"), value_set=keys)
        return rows_where(pc.and_not(self.counting, held.combine_chunks()))

    def rows_picked(self, keys: Iterable[str]) -> list[int]:
        """Return the rows of the known ones of these keys, in the dataset's order."""
        wanted = pa.array([key_bytes(key) for key in keys], pa.binary(8))
        return self.in_order(self.rows_of(wanted).drop_null().to_pylist())

    def pick(self, keys: Iterable[str]) -> dict[str, Part]:
        """Return the parts with the known ones of these keys, in the dataset's order."""
        return {part.key: part for part in self.at(self.rows_picked(keys))}

    def with_rejects(self) -> Iterator[Part]:
        """Yield the parts that have rejects, in the dataset's order."""
        return self._where(pc.is_valid(self.table(FILES).column("rejects")))

    def with_notes(self) -> Iterator[Part]:
        """Yield the parts that have notes, in the dataset's order."""
        notes = self.table(ACCOUNT).column("notes")
        return self._where(pc.greater(pc.list_value_length(notes), 0))

    def _where(self, holds: pa.ChunkedArray) -> Iterator[Part]:
        rows = rows_where(pc.and_(self.counting, holds.combine_chunks()))
        return self.at(self.in_order(rows.to_pylist()))

    def record_types(self) -> dict[str, int]:
        """Return the number of rows of each record type."""
        return dict(self._rows_by_type)

    @cached_property
    def _rows_by_type(self) -> dict[str, int]:
        return dict(sorted(self.sums(ACCOUNT, "rows", "of", "count").items()))

    def total(self, name: str) -> int:
        """Sum one count over all parts: ``read`` or ``rejected``."""
        return int(pc.sum(self.table(ACCOUNT).column(name).filter(self.counting)).as_py() or 0)

    def changed(self, put: Mapping[str, Part], gone: Iterable[str] = ()) -> Parts:
        """Return these parts after adding or replacing some, and removing others."""
        parts = sorted(put.values(), key=lambda part: part.order)
        return self.followed_by(parts, [key for key in gone if key not in put])

    def followed_by(self, parts: Iterable[Part], gone: Iterable[str]) -> Parts:
        """Add parts as ``changed`` does; they are already in order, and none is in ``gone``."""
        return Parts([*self.segments, Segment.of(parts, map(key_bytes, gone))])

    def stored(self, directory: Path) -> Parts:
        """Return the same parts, all in segment files of a directory."""
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
        """Merge all segments into one; ``whole`` means that no segment precedes it."""
        tables = {name: self.table(name) for name in SCHEMAS}
        if len(self.segments) > 1:
            rows = pa.array(self.in_order(self.rows), pa.int64())
            tables = {name: compact(table).take(rows) for name, table in tables.items()}
        gone = [s.section(REMOVED) for s in self.segments] if not whole else []
        return Segment(tables | {REMOVED: pa.concat_tables([SCHEMAS[KEYS].empty_table(), *gone])})


def _take(section: str, batches: Iterable[pa.RecordBatch], rows: Sequence[int]) -> pa.Table:
    """Select rows from the batches of a section; the row numbers must ascend."""
    found, first, at = [], 0, 0
    for batch in batches:
        stop = bisect_left(rows, first + batch.num_rows, at)
        if stop > at:
            found.append(batch.take(pa.array(row - first for row in rows[at:stop])))
        first, at = first + batch.num_rows, stop
    return pa.Table.from_batches(found, SCHEMAS[section])


def rows_where(holds: pa.BooleanArray) -> pa.Array:
    """Return the indices of true values; there may be none.

    Takes no chunked array: in Arrow before 26.0.1, ``indices_nonzero`` ends the process if all
    chunks are empty.
    """
    return pc.indices_nonzero(holds)


def by_name(values: pa.Table, name: str, number: str) -> Iterator[tuple[str, int, int]]:
    """Yield each name of a dictionary-encoded column, the sum of its numbers, and its first row.

    ``Table.group_by`` would import pandas, where it is installed, like ``pa.array``.
    """
    for batch in values.combine_chunks().to_batches():
        codes, rows = batch.column(name).indices, batch.column("row")
        order = pc.array_sort_indices(codes)  # stable
        runs = pc.run_end_encode(codes.take(order))
        ends = runs.run_ends.to_pylist()
        sums = pc.cumulative_sum(batch.column(number).take(order))
        totals = sums.take(_numbers(end - 1 for end in ends)).to_pylist()
        first = rows.take(order.take(_numbers((0, *ends)[: len(ends)]))).to_pylist()
        names = batch.column(name).dictionary.take(runs.values).to_pylist()
        for text, total, before, row in zip(names, totals, [0, *totals[:-1]], first, strict=True):
            yield text, total - before, row


def _numbers(values: Iterable[int]) -> pa.Array:
    data = array("q", values)
    return pa.Array.from_buffers(pa.int64(), len(data), [None, pa.py_buffer(data)])


def _sort(names: pa.Table) -> pa.Array:
    """Return the indices that sort parts into the dataset's order, by their names."""
    plain = {name: names.column(name).cast(pa.string()) for name in ("source", "folder")}
    name = names.column("name")
    origin = pc.binary_join_element_wise(plain["folder"], name, "")
    partition = pc.coalesce(names.column("partition"), name)
    table = pa.table({"source": plain["source"], "origin": origin, "partition": partition})
    return pc.sort_indices(table, sort_keys=[(name, "ascending") for name in table.column_names])
