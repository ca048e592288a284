"""The source ``ncem``: timestamps of 4D-STEM scans.

Inputs are directories with receiver statuses, data, log and HDF5 files, or the CSV tables that were
collected from them.

Files of one directory are grouped by scan number, so that a new scan changes only the last group.
Receiver statuses have groups of their own, since they are read. Of other files, only metadata are
read (raw files are large, and may be on tape).
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import attrs

from harvest import Detection, Partition, ReadContext, Record, Source, SourceError, file_partition
from harvest.toolkit.files import folders_of, input_path, may_be, walk_names
from harvest_toolkit.csv_header import is_csv

from .config import NcemConfig
from .recognition import LOOK_BYTES, parse_name, recognise
from .records import DataFile, ReceiverStatus

SCANS_PER_GROUP = 500
"""Number of scan numbers whose files form a partition: about 2,000 receiver statuses."""

OTHER = "not a receiver status, data, log or HDF5 file, nor a table of them"


class NcemSource(Source):
    """Source of receiver statuses and data files: a directory, a single file, or a CSV table."""

    name: ClassVar[str] = "ncem"
    record_types: ClassVar[tuple[type[Record], ...]] = (ReceiverStatus, DataFile)
    Config: ClassVar[type] = NcemConfig
    config: NcemConfig

    @classmethod
    def detect(cls, path: Path) -> Detection | None:
        """Detect the header of a table, the keys of a receiver status, or a file name."""
        if not path.is_file():
            return None
        if name := parse_name(path.name):
            if name.kind == "status":
                with path.open("rb") as file:
                    start = file.read(4096)
                if b'"time"' in start and b'"UUID"' in start:
                    return Detection(0.95, "a receiver status: name and keys")
                return Detection(0.5, "a file named like a receiver status")
            if name.kind == "h5":
                return Detection(0.5, "a file named like Distiller's HDF5 files")
            return Detection(0.5, f"a file named like the experiment's {name.kind} files")
        # input from a pipe has no file name suffix
        if (is_csv(path.name) or not path.suffix) and (table := recognise(path)):
            what = "receiver times" if table.receivers else "HDF5 write times"
            if table.order:
                return Detection(0.6, f"{what}: {table.order.reason}")
            return Detection(0.9, f"the header of a table of {what}")
        return None

    def plan(self) -> Iterable[Partition]:
        """Plan one partition per table, and per 500 scan numbers of a directory's files."""
        path = input_path(self.location)
        if not path.is_dir():
            return [_single(path)]
        found = [
            part for folder, names in walk_names(path) for part in _folder(path, folder, names)
        ]
        if all(partition.options["what"] == "other" for partition in found):
            raise SourceError(
                "holds no receiver status, data, log or HDF5 file, nor a table of them",
                where=str(path),
                remedy="check the location",
            )
        return found

    def plan_files(self, files: Iterable[Path]) -> Iterable[Partition] | None:
        """Plan the partitions of the directories that contain some files."""
        path = input_path(self.location)
        if not path.is_dir():
            return [_single(file) for file in files if file == path]
        folders = (next(walk_names(folder)) for folder in folders_of(path, files))
        return [part for folder, names in folders for part in _folder(path, folder, names)]

    def read(self, partition: Partition, ctx: ReadContext) -> Iterable[Any]:
        """Read the rows of a table, or of the files of one group."""
        from . import files, tables  # imported late: they need polars, which planning does not

        what = partition.options["what"]
        if what == "other":
            ctx.read(partition.options["count"])
            ctx.filtered(partition.options["count"], OTHER)
            return ()
        if what == "table":
            return tables.read_table(partition.path, self.config, ctx)
        reader = files.read_statuses if what == "status" else files.read_files
        folder = Path(partition.options["folder"])
        return reader(folder, partition.options["names"], self.config, ctx)


def _single(path: Path) -> Partition:
    """Plan a single file: one of the experiment's files by its name, otherwise a table."""
    whole = file_partition(path, id=path.name)
    name = parse_name(path.name)
    if name is None:
        return attrs.evolve(whole, options={"what": "table"})
    options = {"folder": str(path.parent), "names": (path.name,)}
    if name.kind == "status":
        return attrs.evolve(whole, options={"what": "status", **options})
    # only its metadata are read
    return attrs.evolve(whole, size_bytes=LOOK_BYTES, options={"what": "files", **options})


def _folder(root: Path, folder: str, names: Sequence[str]) -> Iterator[Partition]:
    """Plan the partitions of the files of a directory at or below ``root``, in a fixed order."""
    inside = f"{folder.rstrip('/')}/"  # as the paths of its files begin, and without root their ids
    relative = inside.removeprefix(f"{str(root).rstrip('/')}/")
    groups: dict[tuple[bool, int], list[str]] = {}
    other: list[str] = []
    for name in names:
        found = parse_name(name)
        if found is not None:
            key = (found.kind == "status", found.scan_number // SCANS_PER_GROUP)
            groups.setdefault(key, []).append(name)
        elif is_csv(name) and may_be(Path(inside + name), recognise):
            yield file_partition(inside + name, id=f"{relative}{name}", options={"what": "table"})
        else:
            other.append(name)
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
