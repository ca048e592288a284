"""Sinks: what writes rows.

Writing has two halves.  While a partition is read, a :class:`PartWriter` puts its rows into files
of a staging directory.  When the run commits, the core asks the sink to *publish* these files
next to the ones that stay, renames the manifest, and lets the sink *finish*: remove what the new
manifest no longer names.  Publishing must leave everything that the old manifest names readable.
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
"""Directory, below a sink's state, of files that only earlier states have, named by checksum."""


@attrs.frozen(kw_only=True)
class PartFile:
    """One file of a partition, staged or committed.

    path: where it belongs, relative to the sink's root (staged, below the staging directory).
    record_type: name of the record type in it; ``events`` where it holds several in the shape of
        the events model.
    rows, size_bytes: what it holds; sha256: of its bytes.
    offset: where it begins in a consolidated file, else None.
    first_row, file_rows: of a file that holds the rows of several partitions, which of its rows
        are this one's first, and how many it has in all; size and checksum are the whole file's.
        None for a file of its own.
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
    """Writes one partition's rows into a staging directory."""

    @abc.abstractmethod
    def write(self, record_type: RecordType, table: pa.Table) -> None:
        """Write rows; ``table`` has exactly the type's schema and at most 65,536 rows."""

    @abc.abstractmethod
    def close(self) -> Sequence[tuple[str, str, int]]:
        """Finish all files; gives (path below the staging directory, record type, rows) of each.

        A file that holds several record types is named once for each.  The core flushes the files
        to disk and takes their checksums.
        """

    @abc.abstractmethod
    def abort(self) -> None:
        """Close open files; what was written is discarded."""


@attrs.frozen
class SmallRows:
    """The rows of one record type of a small partition: those of ``table`` in this range.

    table: may hold rows of other partitions too, before and behind these.
    size_bytes: of these rows in Arrow, about; the same whatever else is in ``table``.
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

    A dataset may have a million of them.  Its own are made one by one when they are asked for; what
    is asked of all of them together is answered without.
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
        """Paths of all files."""
        return {file.path for files in self.values() for file in files}

    def pick(self, keys: Iterable[str]) -> Mapping[str, Sequence[PartFile]]:
        """The files of some keys, in the dataset's order."""
        wanted = set(keys)
        return {key: self[key] for key in self if key in wanted}

    def shared_rows(self) -> dict[tuple[str, int], int]:
        """Of each shared file, by path and rows in all, how many rows are those of parts here."""
        rows: dict[tuple[str, int], int] = {}
        for file in (file for files in self.values() for file in files):
            if file.file_rows is not None:
                known = (file.path, file.file_rows)
                rows[known] = rows.get(known, 0) + file.rows
        return rows

    def users_of(self, paths: Collection[str]) -> list[str]:
        """Keys of those with rows in these files, in the dataset's order."""
        return [key for key, files in self.items() if any(file.path in paths for file in files)]


def _part_files(files: Mapping[str, Sequence[PartFile]]) -> PartFiles:
    return files if isinstance(files, PartFiles) else PartFiles(files)


@attrs.frozen(kw_only=True)
class Publication:
    """What a commit changes.

    parts: for each partition key of the new manifest, in the dataset's order, its files.  Those
        staged in this commit have their staging directory in ``staged``.
    staged: partition key -> directory that holds its new files; where an earlier state is put
        back, files as ``publish`` had described and left them then, but for their ``offset``.
    stems: partition key -> stem for the names of its new files; where there is none, it is the
        name of its directory.
    old: the files of the manifest that is in force until the commit.
    token: names this commit; the same in ``publish`` and ``finish``.
    small: for a sink whose ``shares_files`` is true, partition key -> a function that gives the
        rows of a staged partition of few rows, by record type; ``publish`` writes them.
    """

    parts: PartFiles = attrs.field(converter=_part_files)
    staged: Mapping[str, Path]
    old: PartFiles = attrs.field(converter=_part_files)
    token: str
    stems: Mapping[str, str] = attrs.field(factory=dict)
    small: Mapping[str, Callable[[], Mapping[str, SmallRows]]] = attrs.field(factory=dict)


class Sink(Located):
    """Writes rows to one location.

    name: what users type before the location.
    Config: attrs class of its settings.
    shares_files: whether a file may hold rows of several partitions.  ``publish`` then gets the
        rows of small partitions as ``Publication.small`` and writes them together.  Otherwise each
        partition has its own ``writer``.
    streams: whether rows leave immediately, for example to standard output.  A run then reads in
        this process, in order, and commits nothing; ``root`` lasts only for the run.
    """

    shares_files: ClassVar[bool] = False
    streams: bool = False

    @property
    @abc.abstractmethod
    def root(self) -> Path:
        """Absolute directory that part paths are relative to."""

    @property
    def state(self) -> Path:
        """Absolute directory that keeps manifest and staging; on the same file system as root."""
        return self.root / "_harvest"

    def kept(self, file: PartFile) -> Path | None:
        """Where a file that only an earlier state has is kept; None for any other."""
        path = self.state / KEPT / file.sha256
        return path if "/" not in file.sha256 and self.root / file.path == path else None

    def held_in(self, file: PartFile) -> Path:
        """Where a committed file is: at its path, unless a commit has yet to put it there."""
        return self.root / file.path

    def check(self) -> None:
        """Raise UsageError when the location cannot be a dataset of this sink."""

    @abc.abstractmethod
    def writer(self, staging: Path, part: str) -> PartWriter:
        """A writer of one partition; ``part`` is the stem for its file names.

        Called in the process that reads the partition; staging exists and is empty.
        """

    @abc.abstractmethod
    def publish(self, publication: Publication) -> Mapping[str, Sequence[PartFile]]:
        """Make the staged files readable at their place, durably.

        Gives the final files of each partition whose files are not as ``publication.parts`` has
        them; others may be left out.
        """

    @abc.abstractmethod
    def finish(self, publication: Publication) -> None:
        """After the manifest is renamed: remove what it no longer names.

        Called again at the next run when a commit was cut short, so it must be repeatable.
        """

    @abc.abstractmethod
    def scan(self, files: Sequence[PartFile], record_type: RecordType) -> pl.LazyFrame:
        """The rows of one record type in committed files, as a lazy frame.

        A file of an earlier state may be where ``kept`` says; a piece is then a whole file.

        Columns have the polars types of the record type's Arrow schema, maps as lists of
        key-value structs; ``origin`` is text.
        """
