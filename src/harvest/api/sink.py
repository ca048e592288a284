"""Sinks: plugins that write rows.

Writing has two phases. While a partition is read, a :class:`PartWriter` puts its rows into files of
a staging directory. When the run commits, the core asks the sink to *publish* these files next to
the existing ones, and renames the manifest. Then the sink can *finish*: remove files that the new
manifest does not name. Publishing must keep everything that the old manifest names readable.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

import attrs

from harvest.model import RecordType

from .located import Located

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa


KEPT: Final = "kept"
"""Directory in a sink's state for files that only earlier states have, named by checksum."""


@attrs.frozen(kw_only=True)
class PartFile:
    """One file of a partition, staged or committed.

    path: its place, relative to the sink's root (if staged, to the staging directory).
    record_type: name of its record type; ``events`` if it holds several types in the form of the
        events model.
    rows, size_bytes: number of rows and bytes; sha256: checksum of its bytes.
    offset: first byte of its piece in a consolidated file, else None.
    first_row, file_rows: for a file shared by several partitions, the first row of this one, and
        the number of rows in all; size and checksum are those of the whole file. None for a file of
        one partition.
    """

    path: str
    record_type: str
    rows: int
    size_bytes: int
    sha256: str
    offset: int | None = None
    first_row: int | None = None
    file_rows: int | None = None


class PartWriter(abc.ABC):
    """Writer of one partition's rows to a staging directory."""

    @abc.abstractmethod
    def write(self, record_type: RecordType, table: pa.Table) -> None:
        """Write rows; ``table`` has exactly the type's schema and at most 65,536 rows."""

    @abc.abstractmethod
    def close(self) -> Sequence[tuple[str, str, int]]:
        """Finish all files; return (path below the staging directory, record type, rows) of each.

        A file with several record types is listed once for each. The core flushes the files to disk
        and computes their checksums.
        """

    @abc.abstractmethod
    def abort(self) -> None:
        """Close open files; their content is discarded."""


@attrs.frozen
class SmallRows:
    """The rows of one record type in a small partition, as a range of ``table``.

    table: may also hold rows of other partitions, before and after these.
    size_bytes: approximate size of these rows in Arrow, independent of other rows in ``table``.
    """

    table: pa.Table
    start: int
    stop: int
    size_bytes: int

    @property
    def rows(self) -> pa.Table:
        """These rows as a table."""
        if self.stop - self.start == self.table.num_rows:
            return self.table
        return self.table.slice(self.start, self.stop - self.start)


class PartFiles(Mapping[str, Sequence[PartFile]]):
    """The files of partitions, by key and in the dataset's order.

    A dataset may have a million of them. A dataset's own implementation builds items one by one on
    access; questions about all files need no items.
    """

    def __init__(self, files: Mapping[str, Sequence[PartFile]]):
        self._files = files

    def __getitem__(self, key: str) -> Sequence[PartFile]:
        return self._files[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def paths(self) -> set[str]:
        """Return the paths of all files."""
        return {file.path for files in self.values() for file in files}

    def pick(self, keys: Iterable[str]) -> Mapping[str, Sequence[PartFile]]:
        """Return the files of some keys, in the dataset's order."""
        wanted = set(keys)
        return {key: self[key] for key in self if key in wanted}

    def shared_rows(self) -> dict[tuple[str, int], int]:
        """Return the number of rows that these parts have in each shared file (path, all rows)."""
        rows: dict[tuple[str, int], int] = {}
        for file in (file for files in self.values() for file in files):
            if file.file_rows is not None:
                known = (file.path, file.file_rows)
                rows[known] = rows.get(known, 0) + file.rows
        return rows

    def users_of(self, paths: Collection[str]) -> list[str]:
        """Return the keys of parts with rows in these files, in the dataset's order."""
        return [key for key, files in self.items() if any(file.path in paths for file in files)]


def _part_files(files: Mapping[str, Sequence[PartFile]]) -> PartFiles:
    return files if isinstance(files, PartFiles) else PartFiles(files)


@attrs.frozen(kw_only=True)
class Publication:
    """The changes of a commit.

    parts: files of each partition of the new manifest, by key and in the dataset's order. Those
        that this commit staged have their staging directory in ``staged``.
    staged: partition key -> directory of its new files. When an earlier state is restored, these
        are files as ``publish`` returned them then, except for their ``offset``.
    stems: partition key -> stem for the names of its new files; the default is the name of its
        directory.
    old: files of the manifest that is in force until the commit.
    token: identifies this commit; the same in ``publish`` and ``finish``.
    small: for a sink with ``shares_files``, partition key -> function that returns the rows of a
        small staged partition, by record type; ``publish`` writes them.
    """

    parts: PartFiles = attrs.field(converter=_part_files)
    staged: Mapping[str, Path]
    old: PartFiles = attrs.field(converter=_part_files)
    token: str
    stems: Mapping[str, str] = attrs.field(factory=dict)
    small: Mapping[str, Callable[[], Mapping[str, SmallRows]]] = attrs.field(factory=dict)


class Sink(Located):
    """A sink: writes rows to one location.

    name: what users type before the location.
    Config: attrs class of its settings.
    shares_files: whether a file may hold rows of several partitions. ``publish`` then receives the
        rows of small partitions as ``Publication.small`` and writes them together. Otherwise each
        partition has its own ``writer``.
    streams: whether rows are passed on immediately, for example to standard output. A run then
        reads in this process, in order, and commits nothing; ``root`` exists only during the run.
    """

    shares_files: ClassVar[bool] = False
    streams: bool = False

    @property
    @abc.abstractmethod
    def root(self) -> Path:
        """Absolute directory to which part paths are relative."""

    @property
    def state(self) -> Path:
        """Absolute directory for manifest and staging; on the same file system as root."""
        return self.root / "_harvest"

    def kept(self, file: PartFile) -> Path | None:
        """Return the path of a file that only an earlier state has; None for other files."""
        path = self.state / KEPT / file.sha256
        return path if "/" not in file.sha256 and self.root / file.path == path else None

    def held_in(self, file: PartFile) -> Path:
        """Return the path of a committed file, also while a commit has yet to move it there."""
        return self.root / file.path

    def check(self) -> None:
        """Raise UsageError if the location cannot be a dataset of this sink."""

    @abc.abstractmethod
    def writer(self, staging: Path, part: str) -> PartWriter:
        """Return a writer for one partition; ``part`` is the stem for its file names.

        Called in the process that reads the partition; staging exists and is empty.
        """

    @abc.abstractmethod
    def publish(self, publication: Publication) -> Mapping[str, Sequence[PartFile]]:
        """Put the staged files into place, readable and durable.

        Returns the final files of each partition whose files differ from ``publication.parts``;
        others may be omitted.
        """

    @abc.abstractmethod
    def finish(self, publication: Publication) -> None:
        """Remove files that the renamed manifest does not name.

        Must be repeatable: the next run calls it again if a commit was interrupted.
        """

    @abc.abstractmethod
    def scan(self, files: Sequence[PartFile], record_type: RecordType) -> pl.LazyFrame:
        """Return the rows of one record type in committed files, as a lazy frame.

        A file of an earlier state may be in the place that ``kept`` returns; a piece is then a
        whole file. Columns have the polars types of the record type's Arrow schema, maps as lists
        of key-value structs; ``origin`` is text.
        """
