"""The source ``ncem``: timestamps of 4D-STEM scans.

Inputs are directories with receiver statuses, data, log and HDF5 files, or the CSV tables that were
collected from them.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

import attrs

from harvest import Detection, Partition, ReadContext, Record, Source, SourceError, file_partition
from harvest.toolkit.files import folders_of, input_path, walk_names

from .config import NcemConfig
from .directory import OTHER, partitions
from .recognition import LOOK_BYTES, parse_name, recognise
from .records import DataFile, ReceiverStatus


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
        if path.suffix.lower() in (".csv", "") and (table := recognise(path)):
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
        found = list(partitions(path, walk_names(path)))
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
        return list(partitions(path, folders))

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
