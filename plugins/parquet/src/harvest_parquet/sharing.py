"""Write the rows of small partitions into shared Parquet files.

A Parquet file of few rows is mostly metadata. With one file per partition and record type, a
thousand small logs of ten types cost more to write and open than their rows. So the commit writes
the rows of small partitions together, in the dataset's order: one file per record type, or
several if it becomes large. When one of these partitions is replaced or removed, the rows of the
others are copied to a new file.
"""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from harvest import DatasetError, PartFile, Publication, SmallRows
from harvest.model.arrow import concat_tables, size_of
from harvest.toolkit.files import flush
from harvest.toolkit.plain import read_plain

from .writer import ParquetFile

SHARED_BYTES: Final = 16 << 20
"""Approximate Arrow bytes of a shared file."""

HELD_BYTES: Final = 4 * SHARED_BYTES
"""Maximum Arrow bytes in memory that wait to be written, over all record types."""

MANY_TABLES: Final = 128
"""Number of waiting tables that are joined into one."""


def share(
    publication: Publication,
    broken: Collection[str],
    *,
    paths: Callable[[Iterable[PartFile]], list[Path]],
    folder: Path,
    place: Callable[[str, str], str],
    options: Mapping[str, Any],
) -> Publication:
    """Write the rows of small partitions to shared files; return the publication with these files.

    broken: paths of committed shared files that lose rows, but that other parts still name.
    folder: directory in staging in which to write the files; its contents are removed first.
    paths: returns the paths of committed files; refuses anything but plain files.
    place: returns the path below the root for a record type and a file's stem.
    options: keyword arguments of ``pyarrow.parquet.ParquetWriter``.
    Raises DatasetError if a committed shared file whose rows must be copied is missing or damaged.
    """
    if folder.exists():
        shutil.rmtree(folder)
    packing = _Packing(folder, place, options)
    committed = lru_cache(maxsize=8)(lambda file: _read_shared(*paths([file]), file))
    carried = set(publication.parts.users_of(broken)) - publication.staged.keys()
    moved = publication.parts.pick(carried.union(publication.staged))
    for key, files in moved.items():
        if key in publication.small:
            member = _Member(key, publication.stems.get(key, publication.staged[key].name))
            for record_type, rows in publication.small[key]().items():
                packing.add(member, rows, record_type)
        elif key not in publication.staged:
            for file in files:
                if file.path in broken:
                    whole = committed(attrs.evolve(file, rows=0, first_row=0))
                    first = file.first_row or 0
                    size = size_of(whole.slice(first, file.rows))
                    rows = SmallRows(whole, first, first + file.rows, size)
                    packing.add(_Member(key, None), rows, file.record_type)
    written = packing.close()
    parts = {
        key: [written.get((key, file.record_type), file) for file in files]
        for key, files in moved.items()
    }
    staged = {**publication.staged, **dict.fromkeys(carried.union(publication.small), folder)}
    return attrs.evolve(publication, parts=parts, staged=staged)


def _read_shared(path: Path, file: PartFile) -> pa.Table:
    """Read all rows of a committed shared file, with the schema they had when written."""
    data = read_plain(path, file.size_bytes) if path.exists() else b""
    if hashlib.sha256(data).hexdigest() != file.sha256:
        problem = "this file is missing or damaged, and rows in it are to be carried over"
        remedy = "harvest verify --repair reads their inputs again, and with --deleted drop it "
        remedy += "gives up rows whose input is gone"
        raise DatasetError(problem, where=str(path), remedy=remedy)
    table = pq.read_table(pa.BufferReader(data))
    fields = [_without_ids(field) for field in table.schema]
    return table.cast(pa.schema(fields, table.schema.metadata or None))


def _without_ids(field: pa.Field) -> pa.Field:
    """Remove the field id that the Parquet reader adds to a field's metadata."""
    metadata = {
        key: value for key, value in (field.metadata or {}).items() if key != b"PARQUET:field_id"
    }
    return field.with_metadata(metadata or None)


@attrs.frozen
class _Member:
    """A partition whose rows go into a shared file; stem: None unless staged in this run."""

    key: str
    stem: str | None


@attrs.define(eq=False)
class _Packing:
    """Collects rows by record type and writes them to shared files."""

    _folder: Path
    _place: Callable[[str, str], str]
    _options: Mapping[str, Any]
    _held: dict[str, _Held] = attrs.field(factory=dict)
    _bytes: Counter[str] = attrs.field(factory=Counter)
    _written: dict[tuple[str, str], PartFile] = attrs.field(factory=dict)

    def add(self, member: _Member, piece: SmallRows, record_type: str) -> None:
        """Add rows of a partition; write a file when enough rows wait."""
        held = self._held.get(record_type)
        if held is not None and not held.takes(piece):
            self._flush(record_type)  # the rows have another version of the record type
            held = None
        if held is None:
            held = self._held[record_type] = _Held(piece.table.schema)
        held.add(member, piece)
        self._bytes[record_type] += piece.size_bytes
        if self._bytes[record_type] >= SHARED_BYTES:
            self._flush(record_type)
        while self._bytes.total() > HELD_BYTES:
            self._flush(self._bytes.most_common(1)[0][0])

    def close(self) -> dict[tuple[str, str], PartFile]:
        """Write all waiting rows; return (partition key, record type) -> file."""
        for record_type in list(self._held):
            self._flush(record_type)
        return self._written

    def _flush(self, record_type: str) -> None:
        held = self._held.pop(record_type)
        del self._bytes[record_type]
        self._folder.mkdir(parents=True, exist_ok=True)
        written = self._folder / "written.parquet"
        file = ParquetFile(written, held.schema, self._options)
        try:
            file.add(held.rows)
            file.close()
        except BaseException:
            file.abort()
            raise
        size, digest = flush(written)
        members = [member for member, _ in held.members]
        path = self._place(record_type, _stem(members, digest))
        target = self._folder / path
        target.parent.mkdir(exist_ok=True)
        written.rename(target)
        described = PartFile(
            path=path, record_type=record_type, rows=file.rows, size_bytes=size, sha256=digest
        )
        if len(members) == 1:
            self._written[members[0].key, record_type] = described
            return
        first = 0
        for member, rows in held.members:
            self._written[member.key, record_type] = attrs.evolve(
                described, rows=rows, first_row=first, file_rows=file.rows
            )
            first += rows


@attrs.define(eq=False)
class _Held:
    """Rows that wait for their shared file; members: partition and number of rows, in order."""

    schema: pa.Schema
    members: list[tuple[_Member, int]] = attrs.field(factory=list)
    _joined: list[pa.Table] = attrs.field(factory=list)
    _pieces: list[SmallRows] = attrs.field(factory=list)

    @property
    def rows(self) -> pa.Table:
        """All rows, in order, as a table that does not depend on the division into pieces."""
        together = concat_tables([*self._joined, *(piece.rows for piece in self._pieces)])
        for number, field in enumerate(together.schema):
            if pa.types.is_dictionary(field.type):
                # a piece has the dictionary of its whole table, with values it does not use
                plain = together.column(number).cast(field.type.value_type)
                used = plain.combine_chunks().dictionary_encode().cast(field.type)
                together = together.set_column(number, field, used)
        return together

    def takes(self, piece: SmallRows) -> bool:
        """Whether the rows have the same schema."""
        if self._pieces and self._pieces[-1].table is piece.table:
            return True
        same: bool = self.schema.equals(piece.table.schema)
        return same

    def add(self, member: _Member, piece: SmallRows) -> None:
        self.members.append((member, piece.stop - piece.start))
        last = self._pieces[-1] if self._pieces else None
        if last is not None and last.table is piece.table and last.stop == piece.start:
            self._pieces[-1] = attrs.evolve(last, stop=piece.stop)
            return
        # the columns of a small table take more memory than their values
        if len(self._pieces) >= MANY_TABLES:
            self._joined.append(concat_tables([each.rows for each in self._pieces]))
            self._pieces.clear()
        self._pieces.append(piece)


def _stem(members: Sequence[_Member], content: str) -> str:
    """Return the stem of a file: a single partition's own, else one of hashed keys and content."""
    if len(members) == 1 and members[0].stem is not None:
        return members[0].stem
    keys = "\0".join(member.key for member in members)
    return f"shared-{hashlib.sha256(keys.encode()).hexdigest()[:16]}-{content[:12]}"
