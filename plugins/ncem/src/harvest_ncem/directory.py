"""Grouping files in directories of the experiment into partitions.

Files of one directory are grouped by scan number, so that a new scan changes only the last group.
Receiver statuses have groups of their own, since they are read. Of other files, only metadata are
read (raw files are large, and may be on tape).
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from harvest import Partition, file_partition
from harvest.toolkit.files import may_be

from .recognition import LOOK_BYTES, parse_name, recognise

SCANS_PER_GROUP = 500
"""Number of scan numbers whose files form a partition: about 2,000 receiver statuses."""

OTHER = "not a receiver status, data, log or HDF5 file, nor a table of them"


def partitions(root: Path, folders: Iterable[tuple[str, Sequence[str]]]) -> Iterator[Partition]:
    """Plan the partitions of directories at and below ``root``, given with their file names.

    The order is fixed if the directories are in a fixed order.
    """
    above = f"{str(root).rstrip('/')}/"
    for folder, names in folders:
        inside = f"{folder.rstrip('/')}/"
        yield from _folder(folder, inside, inside.removeprefix(above), names)


def _folder(folder: str, inside: str, relative: str, names: Sequence[str]) -> Iterator[Partition]:
    """Plan a directory's partitions; inside, relative: start of its files' paths and ids."""
    groups: dict[tuple[bool, int], list[str]] = {}
    tables: list[str] = []
    other: list[str] = []
    for name in names:
        found = parse_name(name)
        if found is not None:
            key = (found.kind == "status", found.scan_number // SCANS_PER_GROUP)
            groups.setdefault(key, []).append(name)
        elif name.lower().endswith(".csv") and may_be(Path(inside + name), recognise):
            tables.append(name)
        else:
            other.append(name)
    for name in tables:
        yield file_partition(inside + name, id=f"{relative}{name}", options={"what": "table"})
    for (read, group), members in sorted(groups.items(), key=lambda g: (not g[0][0], g[0][1])):
        first = group * SCANS_PER_GROUP
        word = "status" if read else "files"
        yield Partition(
            id=f"{relative}{word}-{first:010d}",
            origin=folder,
            inputs=tuple(inside + name for name in members),
            size_bytes=LOOK_BYTES * len(members),
            options={"what": word, "folder": folder, "names": tuple(members)},
            fingerprint=None if read else _stamp(inside, members),
        )
    if other:
        yield Partition(
            id=f"{relative}other",
            origin=folder,
            inputs=(folder,),
            options={"what": "other", "count": len(other)},
            fingerprint=_digest(other),
        )


def _stamp(inside: str, names: Iterable[str]) -> str:
    """Compute a fingerprint of files by name, size and times, without opening them.

    inside: the directory of the files, with a slash at its end.
    """
    words = []
    for name in names:
        try:
            found = os.stat(inside + name)  # noqa: PTH116 - of very many
        except OSError as error:  # reported as a reject when the partition is read
            words.append(f"{name}\0{error.errno}")
        else:
            words.append(f"{name}\0{found.st_size}\0{found.st_mtime_ns}")
    return _digest(words)


def _digest(words: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for word in words:
        digest.update(word.encode("utf-8", "surrogateescape") + b"\1")
    return digest.hexdigest()
