"""The parts of a dataset, by key and in the dataset's order, held in columns.

They lie in segments, of which the later ones count.  A ``Part`` is made when somebody asks for it;
questions about all parts (which are held, rows of record types, files) are answered by the columns.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from harvest.api.sink import PartFile

from .columns import (
    ACCOUNT,
    FILES,
    KEYS,
    NAMES,
    SCHEMAS,
    file_of,
    file_texts,
    from_columns,
    key_bytes,
    origins,
    reject_of,
)
from .part import Part
from .segment import Segment
from .tables import (
    Use,
    as_rows,
    compact,
    is_one_of,
    parents,
    rows_where,
    runs_outside,
    runs_within,
    stretches,
    sums,
    take_rows,
    used,
    uses,
)

if TYPE_CHECKING:
    Run = tuple[int, int]

__all__ = ["Parts"]

GROWTH: Final = 3
"""A new segment is merged with the one before unless that has more than so many times its parts."""

FEW_PARTS: Final = 512
"""Segments of so few parts are always merged."""

_BATCH: Final = 2_048
"""Parts that are made at once."""


class Parts(Mapping[str, Part]):
    """Parts by key, in the dataset's order.

    segments: oldest first.
    """

    def __init__(self, segments: Iterable[Segment] = ()):
        self.segments = tuple(segments)
        self._tables: dict[str, pa.Table] = {}
        self._ordered: dict[str, pa.Table] = {}
        self._rows_in_order: list[int] | None = None
        self._where: dict[bytes, int] = {}
        self._live_runs: list[list[Run]] | None = None
        self._rows_by_type: dict[str, int] | None = None

    # --- as a mapping ---

    def __len__(self) -> int:
        return sum(stop - start for runs in self._runs for start, stop in runs)

    def __iter__(self) -> Iterator[str]:
        for key in self._in_order(KEYS).column("key"):
            yield key.as_py().hex()

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._row(key) is not None

    def __getitem__(self, key: str) -> Part:
        row = self._row(key)
        if row is None:
            raise KeyError(key)
        (part,) = from_columns({name: self.table(name).slice(row, 1) for name in SCHEMAS})
        return part

    def each(self) -> Iterator[Part]:
        """All parts, in the dataset's order."""
        return self._decode({name: self._in_order(name) for name in SCHEMAS})

    def items(self) -> Any:
        """Keys and parts, in the dataset's order."""
        return ((part.key, part) for part in self.each())

    def values(self) -> Any:
        """All parts, in the dataset's order."""
        return self.each()

    def _decode(self, tables: Mapping[str, pa.Table]) -> Iterator[Part]:
        for start in range(0, tables[KEYS].num_rows, _BATCH):
            yield from from_columns(
                {name: table.slice(start, _BATCH) for name, table in tables.items()}
            )

    def _row(self, key: str) -> int | None:
        if not self._where:
            keys = self.table(KEYS).column("key").to_pylist()
            self._where = {value: row for row, value in enumerate(keys)}
        try:
            return self._where.get(key_bytes(key))
        except ValueError:
            return None

    # --- rows ---

    def table(self, section: str) -> pa.Table:
        """A section of all parts; segment by segment."""
        if section not in self._tables:
            pieces = [
                stretches(segment.section(section), runs) for segment, runs in self.counting()
            ]
            self._tables[section] = pa.concat_tables([SCHEMAS[section].empty_table(), *pieces])
        return self._tables[section]

    def _pieces(self, section: str) -> Iterator[pa.Table]:
        """The rows of ``table``, in pieces that are not kept: for what passes over them once."""
        if section in self._tables:
            yield self._tables[section]
            return
        for segment, runs in self.counting():
            first = 0
            for piece in segment.pieces(section):
                yield stretches(piece, runs_within(runs, first, first + piece.num_rows))
                first += piece.num_rows

    def _take(self, section: str, rows: Sequence[int]) -> pa.Table:
        """Some rows of ``table``, given in its order."""
        found, first, at = [SCHEMAS[section].empty_table()], 0, 0
        for piece in self._pieces(section):
            stop = bisect_left(rows, first + piece.num_rows, at)
            if stop > at:
                found.append(
                    piece.combine_chunks().take(as_rows([r - first for r in rows[at:stop]]))
                )
            first, at = first + piece.num_rows, stop
        return pa.concat_tables(found)

    @property
    def _runs(self) -> list[list[Run]]:
        """For each segment, the stretches of rows that no later one replaces or removes."""
        if self._live_runs is None:
            later: list[pa.Array] = []
            found = []
            for segment in reversed(self.segments):
                keys = segment.section(KEYS).column("key")
                found.append(runs_outside(keys, later))
                later += [*keys.chunks, *segment.section("removed").column("key").chunks]
            self._live_runs = found[::-1]
        return self._live_runs

    def counting(self) -> Iterator[tuple[Segment, list[Run]]]:
        """The segments, each with the stretches of its rows that count."""
        return zip(self.segments, self._runs, strict=True)

    def rows_of(self, keys: pa.Array) -> pa.Array:
        """The rows of keys in ``table``, null for those that are not there."""
        return pc.index_in(keys, value_set=self.table(KEYS).column("key"))

    @property
    def _is_ordered(self) -> bool:
        """Whether the rows of ``table`` are in the dataset's order: those of one segment are."""
        return sum(map(bool, self._runs)) <= 1

    def _in_order(self, section: str) -> pa.Table:
        """A section of all parts, in the dataset's order."""
        if self._is_ordered:
            return self.table(section)
        if self._rows_in_order is None:
            self._rows_in_order = _sort(self.table(NAMES)).to_pylist()
        if section not in self._ordered:
            self._ordered[section] = take_rows(self.table(section), self._rows_in_order)
        return self._ordered[section]

    def _sorted(self, rows: Collection[int]) -> list[int]:
        """Some rows of ``table``, in the dataset's order."""
        rows = sorted(set(rows))
        if self._is_ordered:
            return rows
        return [rows[at] for at in _sort(self._take(NAMES, rows)).to_pylist()]

    # --- some of them ---

    def pick(self, keys: Iterable[str]) -> dict[str, Part]:
        """The parts of these keys that there are, in the dataset's order."""
        return {part.key: part for part in self.at(self._rows_picked(keys))}

    def _rows_picked(self, keys: Iterable[str]) -> list[int]:
        wanted = pa.array([key_bytes(key) for key in keys], pa.binary(8))
        held = self.table(KEYS).column("key")
        return self._sorted(rows_where(pc.is_in(held, value_set=wanted)).to_pylist())

    def at(self, rows: Sequence[int]) -> Iterator[Part]:
        """The parts of rows of ``table``."""
        return self._decode({name: take_rows(self.table(name), rows) for name in SCHEMAS})

    def pick_files(self, keys: Iterable[str]) -> dict[str, tuple[PartFile, ...]]:
        """The files of the parts of these keys that there are, in the dataset's order."""
        rows = self._rows_picked(keys)
        held = take_rows(self.table(KEYS), rows), take_rows(self.table(FILES), rows)
        found: dict[str, tuple[PartFile, ...]] = {}
        for start in range(0, len(rows), _BATCH):
            names, files = (table.slice(start, _BATCH).to_pydict() for table in held)
            for key, pieces in zip(names["key"], files["files"], strict=True):
                found[key.hex()] = tuple(file_of(**piece) for piece in pieces)
        return found

    def rows_outside(self, keys: pa.Array) -> pa.Array:
        """The rows of ``table`` whose keys are none of these."""
        held = self.table(KEYS).column("key")
        return rows_where(pc.invert(pc.is_in(held, value_set=keys)))

    def origins_at(self, rows: pa.Array) -> list[tuple[str, str]]:
        """Source and origin of rows of ``table``."""
        names = self.table(NAMES).take(rows)
        return list(zip(names.column("source").to_pylist(), origins(names), strict=True))

    # --- all of them ---

    def record_types(self) -> dict[str, int]:
        """Rows of each record type."""
        if self._rows_by_type is None:
            rows: dict[str, int] = {}
            for piece in self._pieces(ACCOUNT):
                for chunk in piece.column("rows").chunks:
                    counts = chunk.flatten()
                    for name, count in sums(counts.field("of"), counts.field("count")):
                        rows[name] = rows.get(name, 0) + count
            self._rows_by_type = dict(sorted(rows.items()))
        return dict(self._rows_by_type)

    def total(self, name: str) -> int:
        """The sum of a number of the account: ``read`` or ``rejected``."""
        return int(pc.sum(self.table(ACCOUNT).column(name)).as_py() or 0)

    def with_rejects(self) -> Iterator[Part]:
        """The parts that have rejects, in the dataset's order."""
        rows = rows_where(pc.is_valid(self.table(FILES).column("rejects")))
        return self.at(self._sorted(rows.to_pylist()))

    def with_notes(self) -> Iterator[Part]:
        """The parts that have notes, in the dataset's order."""
        lengths = pc.list_value_length(self.table(ACCOUNT).column("notes"))
        return self.at(self._sorted(rows_where(pc.greater(lengths, 0)).to_pylist()))

    # --- files ---

    def files(self) -> list[PartFile]:
        """Each file that holds rows once; in which rows it has, that of some part."""
        return [file_of(text) for text in file_texts(self.table(FILES)).unique().to_pylist()]

    def rejects(self) -> list[PartFile]:
        """The files of rejects."""
        texts = self.table(FILES).column("rejects").drop_null().to_pylist()
        return [reject_of(text) for text in texts]

    def shared_rows(self) -> dict[tuple[str, int], int]:
        """Of each shared file, by path and rows in all, how many are those of parts."""
        rows: dict[tuple[str, int], int] = {}
        for chunk in self.table(FILES).column("files").chunks:
            pieces = chunk.flatten()
            for text, count in sums(pieces.field("file"), pieces.field("rows")):
                file = file_of(text)
                if file.file_rows is not None:
                    known = (file.path, file.file_rows)
                    rows[known] = rows.get(known, 0) + count
        return rows

    def users_of(self, paths: Collection[str]) -> list[str]:
        """Keys of the parts that have rows in these files, in the dataset's order."""
        return self.users_where(lambda file: file.path in paths)

    def users_where(self, wanted: Callable[[PartFile], bool]) -> list[str]:
        """Keys of the parts with rows in files that are wanted, in the dataset's order."""
        rows: list[int] = []
        first = 0
        for chunk in self.table(FILES).column("files").chunks:
            pieces = chunk.flatten().field("file")
            texts = [text for text in used(pieces).to_pylist() if wanted(file_of(text))]
            if texts:
                at = pc.indices_nonzero(is_one_of(pieces, texts))
                rows += [first + row for row in parents(chunk).take(at).to_pylist()]
            first += len(chunk)
        return self._keys_at(rows)

    def with_rejects_in(self, paths: Collection[str]) -> list[str]:
        """Keys of the parts whose rejects are in these files, in the dataset's order."""
        texts = self.table(FILES).column("rejects")
        found = rows_where(pc.is_valid(texts))
        pairs = zip(found.to_pylist(), texts.take(found).to_pylist(), strict=True)
        return self._keys_at([row for row, text in pairs if file_of(text).path in paths])

    def _keys_at(self, rows: Collection[int]) -> list[str]:
        keys = take_rows(self.table(KEYS), self._sorted(rows)).column("key").to_pylist()
        return [key.hex() for key in keys]

    def files_of(self, name: str) -> list[PartFile]:
        """The files of one record type, each once with all its rows, in the dataset's order.

        A file of which parts have not all rows is there for each of them.
        """
        found: dict[str, Use] = {}
        first = 0
        for chunk in (c for piece in self._pieces(FILES) for c in piece.column("files").chunks):
            files_used = chunk.flatten()
            of_rows = parents(chunk)
            for text, use in uses(files_used.field("file"), files_used.field("rows"), of_rows):
                kind = file_of(text).record_type
                if kind == "events":
                    return list(self._files_one_by_one(name))
                if kind == name:
                    found[text] = Use(use.rows, first + use.row).joined(found.get(text))
            first += len(chunk)
        files = [(file_of(text), use) for text, use in found.items() if use.rows]
        if any(file.file_rows not in (None, use.rows) for file, use in files):
            return list(self._files_one_by_one(name))
        place = {row: at for at, row in enumerate(self._sorted([use.row for _, use in files]))}
        files.sort(key=lambda item: (place[item[1].row], item[0].path))
        return [
            attrs.evolve(file, rows=use.rows, first_row=None if file.file_rows is None else 0)
            for file, use in files
        ]

    def _files_one_by_one(self, name: str) -> Iterator[PartFile]:
        for part in self.each():
            if part.rows.get(name):
                yield from (file for file in part.files if file.record_type in (name, "events"))

    # --- changes ---

    def changed(self, put: Mapping[str, Part], gone: Iterable[str] = ()) -> Parts:
        """These parts with some put in, in place of those of their keys, and others gone."""
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
        tables = {name: self._in_order(name) for name in SCHEMAS}
        gone = [s.section("removed") for s in self.segments] if not whole else []
        tables["removed"] = pa.concat_tables([SCHEMAS[KEYS].empty_table(), *gone])
        return Segment({name: compact(table) for name, table in tables.items()})


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
