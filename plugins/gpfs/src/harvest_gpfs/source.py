"""The source ``gpfs``: policy lists in any format, read in parallel ranges."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Final

import attrs

from harvest import Detection, Partition, ReadContext, Record, Source, SourceError, file_partition
from harvest.toolkit.files import input_path, list_files
from harvest_toolkit.lines import line_starts
from harvest_toolkit.streams import SUFFIXES, compression, open_stream

from .config import GpfsConfig
from .parse.counting import Before, count_range
from .parse.find import HEAD_BYTES, find_escaping, find_layout, likeness
from .parse.layout import LONGEST_LINE, Escaping, list_layout
from .parse.reading import Reading
from .records import GpfsFile

_PART: Final = re.compile(r"(?P<name>.+)\.part-(?P<number>\d+)-of-(?P<count>\d+)")


class GpfsSource(Source):
    """Reader of policy lists as ``gpfs.file``.

    The location is a list or a directory of lists, plain or compressed.
    """

    name = "gpfs"
    record_types: ClassVar[tuple[type[Record], ...]] = (GpfsFile,)
    Config = GpfsConfig

    config: GpfsConfig

    # the lines before a place of a list: ranges are prepared in order, so each is counted once
    _counted: tuple[Path | None, int, Before] = (None, 0, Before())

    @classmethod
    def detect(cls, path: Path) -> Detection | None:
        """Detect a list by its first lines."""
        if not path.is_file():
            return None
        found = likeness(_head(path, _LOOK_BYTES)[0])
        return Detection(*found) if found else None

    def plan(self) -> Iterable[Partition]:
        """Plan a partition for each list, and several for a large uncompressed list.

        Raises SourceError if no list is found, or if parts of a split list are missing.
        """
        for path in lists_of(input_path(self.location)):
            yield from self._ranges(path)

    def _ranges(self, path: Path) -> Iterable[Partition]:
        """Plan a list as one partition, or as several byte ranges that start at line starts."""
        whole = file_partition(path, id=path.name)
        try:
            with path.open("rb") as file:
                packed = compression(file.read(4)) is not None
            size = path.stat().st_size
            starts = [0] if packed else line_starts(path, self.config.partition_bytes, LONGEST_LINE)
            if len(starts) == 1:
                return [whole]
            # all ranges must use the same escaping
            escaping = list(attrs.astuple(self._find_escaping(path)))
        except OSError:
            return [whole]  # reading the list reports the error
        return [
            attrs.evolve(
                whole,
                id=f"{path.name}@{start:014d}",
                start=start,
                stop=stop,
                size_bytes=stop - start,
                options={"last": stop == size, "escaping": escaping},
            )
            for start, stop in pairwise([*starts, size])
        ]

    def prepare(self, partition: Partition) -> Partition:
        """Count the lines before the partition, so that its rows have the list's line numbers."""
        before = Before()
        if partition.start:
            path, place, before = self._counted
            if path != partition.path or place > partition.start:
                place, before = 0, Before()
            before = count_range(partition.path, place, partition.start, before)
            self._counted = (partition.path, partition.start, before)
        return attrs.evolve(
            partition, options={**partition.options, "before": list(attrs.astuple(before))}
        )

    def read(self, partition: Partition, ctx: ReadContext) -> Iterator[tuple[type[Record], Any]]:
        if "before" not in partition.options:
            partition = self.prepare(partition)
        path = partition.path
        head, trouble = _head(path)
        if trouble is not None and not head:
            raise SourceError(trouble, where=str(path), remedy="restore it from its origin")
        if not head:
            ctx.note("the file is empty")
            ctx.read(0)
            return
        written = partition.options.get("escaping")
        layout = find_layout(
            head,
            self.config,
            where=partition.origin,
            name=path.name,
            # ranges of a list use the escaping that was found at planning
            escaping=Escaping(*written) if written else self._find_escaping(path, head),
        )
        if layout is None:  # the list has only remarks
            layout = list_layout((), b"", {}, prefixed=False, gap=b" ")
        before = Before(*partition.options["before"])
        reading = Reading(layout, ctx, before, to_end=partition.options.get("last", True))
        with open_stream(path, partition.start, partition.stop) as stream:
            for table in reading.tables(stream):
                yield GpfsFile, table

    def _find_escaping(self, path: Path, head: bytes | None = None) -> Escaping:
        return find_escaping(head or _head(path)[0], self.config, lambda: _spread(path))


_LOOK_BYTES: Final = 64 * 1024
"""Bytes at the start of a file that are read to detect a list."""

_SPREAD: Final = 16
"""Number of samples from a list whose first lines do not determine its escaping."""


def _head(path: Path, size: int = HEAD_BYTES) -> tuple[bytes, str | None]:
    """Read the first bytes of a list, uncompressed; also return why it is cut off, if it is."""
    with open_stream(path) as stream:
        return stream.read(size), stream.trouble


def _spread(path: Path) -> Iterator[bytes]:
    """Yield lines from all over a list; none for a compressed one, which would be unpacked."""
    with path.open("rb") as file:
        if compression(file.read(4)) is not None:
            return
        size = path.stat().st_size
        for number in range(_SPREAD):
            file.seek(size * number // _SPREAD)
            yield from file.read(_LOOK_BYTES).split(b"\n")[1:-1]


def lists_of(location: Path) -> list[Path]:
    """Return the list, or the lists in a directory except hidden ones.

    Raises SourceError if no list is found, or if parts of a list are missing.
    """
    if not location.is_dir():
        return [location]
    files = [file for file in list_files(location) if not file.name.startswith(".")]
    if not files:
        said, remedy = "the directory holds no list", "check the location"
        raise SourceError(said, where=str(location), remedy=remedy)
    _check_parts(location, files)
    return files


def _check_parts(directory: Path, files: Sequence[Path]) -> None:
    """Raise SourceError if a part of a split list is missing, or a list exists twice."""
    seen: dict[str, str] = {}
    parts: dict[tuple[str, int], set[int]] = {}
    for file in files:
        name = file.stem if file.suffix in SUFFIXES else file.name
        if name in seen:
            said = f"the same list exists twice, as {seen[name]} and {file.name}"
            remedy = "keep one of them, or name the lists one by one"
            raise SourceError(said, where=str(directory), remedy=remedy)
        seen[name] = file.name
        if found := _PART.fullmatch(name):
            parts.setdefault((found["name"], int(found["count"])), set()).add(int(found["number"]))
    for (name, count), there in sorted(parts.items()):
        due = set(range(1, count + 1))
        if beyond := sorted(there - due):
            said = f"{name} has a part {beyond[0]} of {count}"
            remedy = "parts are numbered from 1; check their names"
            raise SourceError(said, where=str(directory), remedy=remedy)
        if missing := sorted(due - there):
            listed = ", ".join(map(str, missing[:10])) + (", ..." if len(missing) > 10 else "")
            said = f"{len(missing)} of the {count} parts of {name} are missing: {listed}"
            remedy = "restore them, or name the existing parts one by one"
            raise SourceError(said, where=str(directory), remedy=remedy)
