"""Tables of parts: stretches of rows, and what dictionary-encoded columns hold."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Final

import attrs
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    Run = tuple[int, int]

__all__ = [
    "Use",
    "as_rows",
    "compact",
    "is_one_of",
    "parents",
    "rows_where",
    "runs_beside",
    "runs_outside",
    "runs_within",
    "stretches",
    "sums",
    "take_rows",
    "used",
    "uses",
]

_SLICES: Final = 1_000
"""Into more slices than this a table is not cut: taking single rows is faster then."""


@attrs.frozen
class Use:
    """Rows of parts in a file, and the row of the first of these parts."""

    rows: int
    row: int

    def joined(self, other: Use | None) -> Use:
        if other is None:
            return self
        return Use(self.rows + other.rows, min(self.row, other.row))


def runs_outside(keys: pa.ChunkedArray, later: Sequence[pa.Array]) -> list[Run]:
    """Stretches of keys that are none of the later ones."""
    end = len(keys)
    dead: list[int] = []
    if later and end:
        others = pa.chunked_array(later, pa.binary(8))
        dead = rows_where(pc.is_in(keys, value_set=others)).to_pylist()
    begin = [0, *(row + 1 for row in dead)]
    return [(a, b) for a, b in zip(begin, [*dead, end], strict=True) if a < b]


def stretches(table: pa.Table, runs: Sequence[Run]) -> pa.Table:
    """Stretches of a table's rows."""
    if len(runs) > _SLICES:
        rows = [row for start, stop in runs for row in range(start, stop)]
        return table.combine_chunks().take(as_rows(rows))
    slices = [table.slice(start, stop - start) for start, stop in runs]
    return pa.concat_tables([table.schema.empty_table(), *slices])


def runs_within(runs: Sequence[Run], first: int, stop: int) -> list[Run]:
    """What stretches have of the rows from ``first`` to ``stop``, counted from ``first``."""
    begin = bisect_right(runs, first, key=itemgetter(1))
    end = bisect_left(runs, stop, key=itemgetter(0))
    return [(max(a, first) - first, min(b, stop) - first) for a, b in runs[begin:end]]


def runs_beside(runs: Sequence[Run], others: Sequence[Run]) -> list[Run]:
    """What stretches have beside others, both in order; as places among the rows of the first."""
    found = []
    first = at = 0
    for start, stop in runs:
        shift, first = first - start, first + stop - start
        while start < stop:
            while at < len(others) and others[at][1] <= start:
                at += 1
            begin, end = others[at] if at < len(others) else (stop, stop)
            if start < begin:
                found.append((start + shift, min(stop, begin) + shift))
            start = min(stop, end) if begin < stop else stop
    return found


def take_rows(table: pa.Table, rows: Sequence[int]) -> pa.Table:
    """Rows of a table; those that follow one another as slices, which copies nothing."""
    cuts = [at for at in range(1, len(rows)) if rows[at] != rows[at - 1] + 1]
    begin = zip([0, *cuts], [*cuts, len(rows)], strict=True)
    return stretches(table, [(rows[a], rows[a] + b - a) for a, b in begin if a < b])


def as_rows(rows: Sequence[int]) -> pa.Array:
    """Numbers of rows, as ``take`` has them; there may be none."""
    return pa.array(rows, pa.int64())


def rows_where(holds: pa.ChunkedArray) -> pa.Array:
    """The rows of which something holds; there may be none.

    ``indices_nonzero`` of no chunk, which is what a column of none but empty chunks becomes, ends
    the process in every Arrow before 26.0.1; that of an empty array does not.
    """
    return pc.indices_nonzero(holds.combine_chunks())


def parents(lists: pa.ListArray) -> pa.Array:
    """For each value in lists, in which it is."""
    return pc.list_parent_indices(lists)


def used(words: pa.DictionaryArray) -> pa.Array:
    """The values of a dictionary that occur."""
    return words.dictionary.take(words.indices.drop_null().unique())


def is_one_of(words: pa.DictionaryArray, wanted: Sequence[str]) -> pa.Array:
    """For each word, whether it is one of these, which are all in the dictionary."""
    codes = pc.index_in(pa.array(wanted), value_set=words.dictionary)
    return pc.is_in(words.indices, value_set=codes)


def sums(words: pa.DictionaryArray, numbers: pa.Array) -> Iterator[tuple[str, int]]:
    """For each word that occurs, the sum of its numbers."""
    table = pa.table({"word": words.indices, "number": numbers})
    sums = table.group_by("word").aggregate([("number", "sum")]).to_pydict()
    for code, number in zip(sums["word"], sums["number_sum"], strict=True):
        yield words.dictionary[code].as_py(), number


def uses(words: pa.DictionaryArray, numbers: pa.Array, rows: pa.Array) -> Iterator[tuple[str, Use]]:
    """For each word that occurs, the sum of its numbers and the first of its rows."""
    table = pa.table({"word": words.indices, "number": numbers, "row": rows})
    found = table.group_by("word").aggregate([("number", "sum"), ("row", "min")]).to_pydict()
    for code, number, row in zip(found["word"], found["number_sum"], found["row_min"], strict=True):
        yield words.dictionary[code].as_py(), Use(number, row)


# --- dictionaries ---------------------------------------------------------------------------------


def compact(table: pa.Table) -> pa.Table:
    """The same rows in one chunk, with dictionaries that hold nothing else."""
    table = table.unify_dictionaries().combine_chunks()
    columns = [
        _without_unused(column.combine_chunks()) if column.num_chunks else column
        for column in table.columns
    ]
    return pa.table(columns, schema=table.schema)


def _without_unused(values: pa.Array) -> pa.Array:
    kind = values.type
    if pa.types.is_dictionary(kind):
        kept = values.indices.drop_null().unique()
        codes = pc.index_in(values.indices, value_set=kept)
        return pa.DictionaryArray.from_arrays(codes, values.dictionary.take(kept))
    if pa.types.is_list(kind):
        ends = pc.subtract(values.offsets, values.offsets[0])
        return pa.ListArray.from_arrays(ends, _without_unused(values.flatten()))
    if pa.types.is_struct(kind):
        fields = [_without_unused(each) for each in values.flatten()]
        return pa.StructArray.from_arrays(fields, names=[field.name for field in kind])
    return values
