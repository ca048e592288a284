"""Immutable files of parts; a dataset's manifest lists the current ones.

A segment holds the parts that one commit changed, in the dataset's order, and the keys of removed
parts. A later segment overrides an earlier one. The file has one Arrow IPC stream per section
(``columns``), each in pieces of many parts. The manifest lists each section's offset and checksum,
so a reader loads and verifies only what it needs. The file's name is the checksum of its content.
"""

from __future__ import annotations

import hashlib
import os
import weakref
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

import attrs
import pyarrow as pa

from harvest import fault
from harvest.errors import DatasetError, lack_of
from harvest.toolkit.files import fsync_directory, write_atomically
from harvest.toolkit.plain import DATA_BYTES, is_content, open_plain, read_plain

from .columns import KEYS, SCHEMAS, astray_in, compact, to_columns
from .part import Part

SEGMENTS: Final = "segments"
"""Directory of the segments that manifests list."""

COPIES: Final = "copies"
"""Directory with a copy of each segment, to restore a damaged one."""

SUFFIX: Final = ".arrow"
REMOVED: Final = "removed"

_BATCH: Final = 8_192
"""Number of parts that are converted to columns together."""

_PIECE: Final = 65_536
"""Number of parts that are written and read together: reused memory costs less."""

_ALL: Final = {**SCHEMAS, REMOVED: SCHEMAS[KEYS]}


@attrs.frozen
class Section:
    """Place of a table in a segment's file: start and length in bytes, and SHA-256."""

    start: int
    size_bytes: int
    sha256: str


@attrs.frozen(kw_only=True)
class Entry:
    """A segment as the manifest lists it."""

    file: str
    parts: int
    removed: int
    sections: Mapping[str, Section]


class Segment:
    """Parts in columns, in memory or in a file whose sections are read on demand.

    entry: the segment's entry in the manifest; None before it is written.
    """

    def __init__(self, tables: Mapping[str, pa.Table], entry: Entry | None = None):
        self._tables = dict(tables)
        self._file: tuple[Path, int] | None = None
        self.entry = entry
        self.parts = entry.parts if entry else self._tables[KEYS].num_rows
        self.removed = entry.removed if entry else self._tables[REMOVED].num_rows

    @classmethod
    def of(cls, parts: Iterable[Part], removed: Iterable[bytes] = ()) -> Segment:
        """Build a segment in memory from parts in the dataset's order and keys of removed parts."""
        pieces = [to_columns(())]
        parts = iter(parts)
        while some := list(islice(parts, _BATCH)):
            pieces.append(to_columns(some))
        tables = {name: pa.concat_tables([each[name] for each in pieces]) for name in SCHEMAS}
        keys = pa.array(list(removed), pa.binary(8))
        return cls(tables | {REMOVED: pa.table([keys], schema=SCHEMAS[KEYS])})

    @classmethod
    def open(cls, directory: Path, entry: Entry) -> Segment:
        """Open a listed segment; it stays readable after its file is removed."""
        opened, path = cls({}, entry), directory / entry.file
        descriptor = open_plain(path, DATA_BYTES)
        opened._file = path, descriptor
        weakref.finalize(opened, os.close, descriptor)
        size = sum(section.size_bytes for section in entry.sections.values())
        if os.fstat(descriptor).st_size != size:
            raise damage(path, "size")
        return opened

    def section(self, name: str) -> pa.Table:
        """Return one table, and keep it; raise DatasetError if it is damaged."""
        if name not in self._tables:
            self._tables[name] = pa.Table.from_batches(self._read(name), _ALL[name])
        return self._tables[name]

    def batches(self, name: str) -> Iterator[pa.RecordBatch]:
        """Yield one table in pieces; do not keep the pieces of a large one."""
        if name in self._tables or self.parts <= _PIECE:
            yield from self.section(name).to_batches()
        else:
            yield from self._read(name)

    def check(self) -> None:
        """Read all sections; raise DatasetError if one is damaged."""
        for name in _ALL:
            self.section(name)

    def _read(self, name: str) -> Iterator[pa.RecordBatch]:
        assert self.entry is not None
        assert self._file is not None
        path, descriptor = self._file
        place = self.entry.sections.get(name)
        if place is None or min(place.start, place.size_bytes) < 0:
            raise damage(path, f"no section {name!r}")
        data = os.pread(descriptor, place.size_bytes, place.start)
        while left := place.size_bytes - len(data):
            if not (more := os.pread(descriptor, left, place.start + len(data))):
                break
            data += more
        if hashlib.sha256(data).hexdigest() != place.sha256:
            raise damage(path, "checksum")
        rows = self.entry.removed if name == REMOVED else self.entry.parts
        try:
            with pa.ipc.open_stream(pa.py_buffer(data)) as stream:
                for batch in stream:
                    batch.validate(full=True)
                    rows -= batch.num_rows
                    if batch.schema != _ALL[name] or rows < 0:
                        raise damage(path, f"columns of {name!r}")
                    if (astray := astray_in(name, batch)) is not None:
                        raise outside(path, astray)
                    yield batch
        except (pa.ArrowException, ValueError, TypeError) as error:
            # the checksum is right, but the content is not valid
            raise lack_of(error) or damage(path, type(error).__name__) from error
        if rows:
            raise damage(path, f"columns of {name!r}")

    def write(self, directory: Path) -> Segment:
        """Write the segment to a file, durably; return it with its manifest entry."""
        whole = pa.BufferOutputStream()
        sections = {}
        for name in _ALL:
            data = _stream(self.section(name))
            digest = hashlib.sha256(data).hexdigest()
            sections[name] = Section(whole.tell(), data.size, digest)
            whole.write(data)
        content = whole.getvalue()
        name = hashlib.sha256(content).hexdigest()[:32] + SUFFIX
        if not directory.is_dir():
            directory.mkdir()
            fsync_directory(directory.parent)
        fault.point("segment.write")
        write_atomically(directory / name, content.to_pybytes())
        fault.point("segment.written")
        entry = Entry(file=name, parts=self.parts, removed=self.removed, sections=sections)
        return Segment(self._tables, entry)


def _stream(table: pa.Table) -> pa.Buffer:
    memory = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", compression_level=3))
    whole = table.unify_dictionaries().combine_chunks()
    with pa.ipc.new_stream(memory, table.schema, options=options) as stream:
        for start in range(0, whole.num_rows, _PIECE):
            stream.write_table(compact(whole.slice(start, _PIECE)))
    return memory.getvalue()


RESTORE: Final = "restore it with `harvest verify DATASET --repair`"


def damage(path: Path, what: str) -> DatasetError:
    """Build the error for a damaged manifest or segment."""
    return DatasetError(f"the manifest is damaged ({what})", where=str(path), remedy=RESTORE)


def outside(path: Path, name: str) -> DatasetError:
    """Build the error for a manifest with a name that could point outside the dataset."""
    said = f"the manifest names {name!r}, which may lie outside the dataset"
    return DatasetError(said, where=str(path), remedy=RESTORE)


def copy_segment(source: Path, target: Path) -> None:
    """Copy a segment's file, durably, unless it is damaged."""
    if is_whole(source):
        target.parent.mkdir(exist_ok=True)
        write_atomically(target, read_plain(source, DATA_BYTES))


def restore_segment(copy: Path, place: Path) -> None:
    """Replace a damaged or missing segment by its copy."""
    if not is_whole(place):
        copy_segment(copy, place)


def is_whole(path: Path) -> bool:
    """Return whether a segment's file exists and its content matches the checksum in its name."""
    return is_content(path, path.name.removesuffix(SUFFIX), DATA_BYTES)
