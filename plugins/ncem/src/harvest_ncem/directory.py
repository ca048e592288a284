"""Directories of the experiment: what lies in them, in groups worth a partition each.

Files of one directory are grouped by their scan number, so that a new scan changes the last group
alone.  Receiver statuses are grouped apart from the rest: they are read, the others only looked
at (raw files are large, and may lie on tape).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from harvest import Partition
from harvest.toolkit.files import walk_files

from .headers import recognise
from .names import LOOK_BYTES, Kind, parse_name

__all__ = ["OTHER", "SCANS_PER_GROUP", "partitions"]

SCANS_PER_GROUP = 500
"""Scan numbers whose files make a partition: about 2,000 receiver statuses."""

OTHER = "not a receiver status, data, log or HDF5 file, nor a table of them"


def partitions(root: Path) -> Iterator[Partition]:
    """The partitions of a directory and all below it, in a fixed order."""
    for folder, files in walk_files(root):
        relative = "" if folder == root else f"{folder.relative_to(root).as_posix()}/"
        yield from _folder(folder, relative, [file.name for file in files])


def _folder(folder: Path, relative: str, names: Sequence[str]) -> Iterator[Partition]:
    groups: dict[tuple[bool, int], list[str]] = {}
    tables: list[str] = []
    other: list[str] = []
    for name in names:
        found = parse_name(name)
        if found is not None:
            key = (_is_read(found.kind), found.scan_number // SCANS_PER_GROUP)
            groups.setdefault(key, []).append(name)
        elif name.lower().endswith(".csv") and recognise(folder / name) is not None:
            tables.append(name)
        else:
            other.append(name)
    for name in tables:
        path = str(folder / name)
        yield Partition(
            id=f"{relative}{name}",
            origin=path,
            inputs=(path,),
            size_bytes=(folder / name).stat().st_size,
            options={"what": "table"},
        )
    for (read, group), members in sorted(groups.items(), key=lambda g: (not g[0][0], g[0][1])):
        first = group * SCANS_PER_GROUP
        word = "status" if read else "files"
        yield Partition(
            id=f"{relative}{word}-{first:010d}",
            origin=str(folder),
            inputs=tuple(str(folder / name) for name in members),
            size_bytes=LOOK_BYTES * len(members),
            options={"what": word, "folder": str(folder), "names": tuple(members)},
            fingerprint=None if read else _stamp(folder, members),
        )
    if other:
        yield Partition(
            id=f"{relative}other",
            origin=str(folder),
            inputs=(str(folder),),
            options={"what": "other", "count": len(other)},
            fingerprint=_digest(other),
        )


def _is_read(kind: Kind) -> bool:
    return kind == "status"


def _stamp(folder: Path, names: Iterable[str]) -> str:
    """A fingerprint of files by name, size and times, without opening them."""
    words = []
    for name in names:
        try:
            found = (folder / name).stat()
        except OSError as error:  # a reject when the partition is read
            words.append(f"{name}\0{error.errno}")
        else:
            words.append(f"{name}\0{found.st_size}\0{found.st_mtime_ns}")
    return _digest(words)


def _digest(words: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for word in words:
        digest.update(word.encode("utf-8", "surrogateescape") + b"\1")
    return digest.hexdigest()
