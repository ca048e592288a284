"""Sources: plugins that turn files, commands or databases into rows.

A source belongs to one location. ``plan`` quickly lists the partitions there; ``read`` turns one
partition into rows, possibly in another process. The smallest source has a name, its record types
and ``read``.

A source yields rows. It reports all other input through the context: unreadable units, units left
out on purpose, units merged into others. The counts must add up: ``read = written + filtered +
folded + rejected``.
"""

import abc
import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import attrs

from harvest.errors import SourceError
from harvest.model import Record
from harvest.toolkit.files import input_path, walk_names

from .located import Located

RAW_LIMIT = 64 * 1024
"""Maximum number of bytes kept of a rejected unit; the reason states its full length."""


@attrs.frozen
class Reject:
    """One input unit that could not be read.

    origin: absolute path or URI of the input.
    position: its line or record number there, from 1; None if it has none.
    raw: its bytes, cut at 64 KiB.
    reason: what was wrong with it.
    record_type: name of the record type it would have become, if known.
    """

    origin: str
    position: int | None
    raw: bytes
    reason: str
    record_type: str | None = None


@attrs.frozen
class Note:
    """A remark on an input that deserves attention but means no loss of data."""

    origin: str
    text: str


@attrs.define
class ReadContext:
    """Receiver of everything that a source reports while reading one partition.

    origin: the partition's origin, the default for calls without an origin.
    scratch: an empty directory for temporary files, created on access and removed afterwards.
    on_reject: takes each reject immediately; without it, they are collected in ``rejects``.
    """

    origin: str
    _scratch: Path
    log: logging.Logger = attrs.field(factory=lambda: logging.getLogger("harvest.source"))
    progress: Callable[[int], None] | None = None
    rejects: list[Reject] = attrs.field(factory=list, init=False)
    notes: list[Note] = attrs.field(factory=list, init=False)
    filtered_by: Counter[str] = attrs.field(factory=Counter, init=False)
    folded_by: Counter[str] = attrs.field(factory=Counter, init=False)
    units: int | None = attrs.field(default=None, init=False)
    rejected: int = attrs.field(default=0, init=False)
    on_reject: Callable[[Reject], None] | None = None

    @property
    def scratch(self) -> Path:
        """Directory for temporary files, created on first access."""
        self._scratch.mkdir(parents=True, exist_ok=True)
        return self._scratch

    def read(self, units: int) -> None:
        """Count input units (lines, records) as read.

        Without any call, the number of read units is the number of accounted units.
        """
        self.units = (self.units or 0) + units

    def reject(
        self,
        raw: bytes | str,
        reason: str,
        *,
        position: int | None = None,
        origin: str | None = None,
        record_type: str | None = None,
    ) -> None:
        """Set one unreadable input unit aside, with the reason."""
        whole = position is None or hasattr(position, "__index__")  # numpy's integers, too
        if not (whole and isinstance(reason, str)):
            raise TypeError(f"ctx.reject() takes a number and a text, not {position=}, {reason=}")
        data = raw.encode("utf-8", "surrogateescape") if isinstance(raw, str) else bytes(raw)
        if len(data) > RAW_LIMIT:
            reason = f"{reason} (first {RAW_LIMIT} of {len(data)} bytes kept)"
            data = data[:RAW_LIMIT]
        item = Reject(origin or self.origin, position, data, reason, record_type)
        self.rejected += 1
        (self.on_reject or self.rejects.append)(item)

    def filtered(self, units: int, reason: str) -> None:
        """Count units left out because of the user's settings."""
        if units:
            self.filtered_by[reason] += units

    def folded(self, units: int, reason: str) -> None:
        """Count units merged into another row (a repeat, a continuation line)."""
        if units:
            self.folded_by[reason] += units

    def note(self, text: str, *, origin: str | None = None) -> None:
        """Add a remark on the input; printed at the end of the run and kept in the manifest."""
        self.notes.append(Note(origin or self.origin, text))

    def advance(self, size: int) -> None:
        """Report ``size`` more bytes of the input as read, for the progress display."""
        if self.progress is not None:
            self.progress(size)


Rows: TypeAlias = "Record | tuple[type[Record], Any]"
"""Items that ``read`` yields: an instance of a record class, or (record class, Arrow data)."""


@attrs.frozen
class Detection:
    """The confidence of a source that it can read a path.

    confidence: from 0 to 1. 1 means that the content is certain (a magic number), 0.9 a
        characteristic header, 0.5 only a file name.
    reason: the feature by which it was recognised.
    """

    confidence: float
    reason: str


@attrs.frozen(kw_only=True)
class Partition:
    """A picklable unit of reading, of parallel work, of commit and of re-harvest.

    id: identifies it among all partitions of this source and origin; equal input gives equal ids.
    origin: absolute path or URI of the input; default of the column ``origin``.
    inputs: absolute paths of files; a change means that it must be read again.
    start, stop: byte range within the origin, if it is a part of a file.
    size_bytes: input bytes to read, for progress and scheduling.
    options: anything else that ``read`` needs, as plain values.
    fingerprint: given by sources without input files (a database); otherwise the core computes one
        from the inputs. None without inputs means: read again in every run.
    piped: for content of a pipe, the file with the content and the pipe's name; set only by the
        core, and invisible to sources.
    """

    id: str
    origin: str
    inputs: tuple[str, ...] = ()
    start: int | None = None
    stop: int | None = None
    size_bytes: int = 0
    options: Mapping[str, Any] = attrs.field(factory=dict)
    fingerprint: str | None = None
    piped: tuple[str, str] | None = None

    @property
    def path(self) -> Path:
        """The origin as a path."""
        return Path(self.origin)


class Source(Located):
    """A source: turns one location into rows of its record types.

    record_types: every record class that ``read`` may yield; the other fields are ``Located``'s.
    reads_live: whether it opens files only by ``harvest_toolkit.live.open_input``. Then it may get
        a pipe and must yield rows as they arrive.
    """

    record_types: ClassVar[tuple[type[Record], ...]]
    reads_live: ClassVar[bool] = False

    @classmethod
    def detect(cls, path: Path) -> Detection | None:
        """Return how surely this source can read an existing ``path``; None if it cannot.

        Recognising files is enough. If the result for a directory is None, each file in it goes to
        the surest source.
        """
        return None

    @classmethod
    def redact(cls, location: str) -> str:
        """Return the location for display and storage: without passwords or tokens."""
        return location

    def plan(self) -> Iterable[Partition]:
        """List the partitions of the location.

        By default the location itself, or each file directly below it, is one partition.
        An unreadable file is a partition, too (``harvest.toolkit.files.may_be``): reading it gives
        one reject, while an error here ends the run for all sources.
        Raises SourceError when there is nothing to read, OSError for an unreadable directory.
        """
        path = input_path(self.location)
        if not path.is_dir():
            yield file_partition(path, id=path.name)
            return
        folder, names = next(walk_names(path))
        if not names:
            problem = "the directory has no files"
            raise SourceError(problem, where=str(path), remedy="check the location")
        for name in names:
            yield file_partition(os.path.join(folder, name), id=name)  # noqa: PTH118

    def plan_files(self, files: Iterable[Path]) -> Iterable[Partition] | None:
        """List the partitions of some files of the location, exactly as ``plan`` lists them.

        A run that knows which files have changed asks only for these, and does not list the
        location. files: absolute paths; a file without a partition in ``plan`` has none here. A
        missing file stands for the partitions that it shared with others; the run leaves out a
        partition of only missing files. Return all partitions of an origin or none: missing
        partitions leave the dataset. Return None if only ``plan`` can list them, the default for a
        source with its own ``plan``.
        """
        if type(self).plan is not Source.plan:
            return None
        return file_partitions(self.location, files)

    def prepare(self, partition: Partition) -> Partition:
        """Return the partition with facts that one process must find before it can be read.

        An example is the number of lines before a byte range. It is called in the planning process,
        once for each partition to read, in the plan's order, just before the partition is handed
        out. Put the facts into ``options`` as plain values; all other fields stay. Raise
        SourceError if the partition cannot be read. By default nothing is added.
        """
        return partition

    @abc.abstractmethod
    def read(self, partition: Partition, ctx: ReadContext) -> Iterable[Rows]:
        """Yield the rows of one partition.

        Rows without ``origin`` or ``position`` get the partition's origin and a running number per
        record type. Raise SourceError if the partition cannot be read at all: it becomes one
        reject, and the other partitions are still read.
        """


def file_partitions(location: str, files: Iterable[Path]) -> Iterator[Partition]:
    """Yield one partition for each file that is the location, or is directly in it."""
    path = input_path(location)
    for file in files:
        if path in (file, file.parent):
            yield file_partition(file, id=file.name)


def file_partition(path: Path | str, *, id: str, **more: Any) -> Partition:  # noqa: A002
    """Return the partition of one whole file; reading an unreadable file gives a reject."""
    origin = os.fspath(path)
    if not origin.startswith("/"):
        origin = str(Path(origin).absolute())
    try:
        size = os.stat(origin).st_size  # noqa: PTH116 - fast enough for a million paths
    except OSError:
        size = 0
    return Partition(id=id, origin=origin, inputs=(origin,), size_bytes=size, **more)
