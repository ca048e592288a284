"""The source ``ncem``: timestamps of 4D-STEM scans.

It reads what the experiment left: directories with receiver statuses, data, log and HDF5 files,
or the CSV tables that were gathered from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from harvest import Detection, Partition, ReadContext, Record, Source, SourceError

from .config import NcemConfig
from .names import parse_name
from .records import DataFile, ReceiverStatus

__all__ = ["NcemSource"]


class NcemSource(Source):
    """Receiver statuses and data files of a directory, a single file, or a CSV table."""

    name: ClassVar[str] = "ncem"
    record_types: ClassVar[tuple[type[Record], ...]] = (ReceiverStatus, DataFile)
    Config: ClassVar[type] = NcemConfig
    config: NcemConfig

    @classmethod
    def detect(cls, path: Path) -> Detection | None:
        """By the header of a table, the keys of a receiver status, or file names."""
        if not path.is_file():
            return None
        if name := parse_name(path.name):
            if name.kind == "status":
                with path.open("rb") as file:
                    start = file.read(4096)
                if b'"time"' in start and b'"UUID"' in start:
                    return Detection(0.95, "a receiver status: name and keys")
                return Detection(0.6, "a file named like a receiver status")
            if name.kind == "h5":
                return Detection(0.6, "a file named like Distiller's HDF5 files")
            return Detection(0.5, f"a file named like the experiment's {name.kind} files")
        if path.suffix.lower() == ".csv":
            from .tables import recognise

            if table := recognise(path):
                what = "receiver times" if table.receivers else "HDF5 write times"
                return Detection(0.9, f"the header of a table of {what}")
        return None

    def plan(self) -> Iterable[Partition]:
        """One partition per table, and per 500 scan numbers of a directory's files."""
        path = Path(self.location).expanduser().absolute()
        if not path.exists():
            raise SourceError(
                "no such file or directory", where=str(path), remedy="check the location"
            )
        if path.is_dir():
            from .directory import partitions

            try:
                found = list(partitions(path))
            except OSError as error:
                raise SourceError(
                    f"cannot be listed: {error.strerror}",
                    where=str(error.filename or path),
                    remedy="check the permissions",
                ) from error
            if all(p.options["what"] == "other" for p in found):
                raise SourceError(
                    "holds no receiver status, data, log or HDF5 file, nor a table of them",
                    where=str(path),
                    remedy="check the location",
                )
            return found
        return [self._single(path)]

    def _single(self, path: Path) -> Partition:
        origin = str(path)
        if name := parse_name(path.name):
            what = "status" if name.kind == "status" else "files"
            return Partition(
                id=path.name,
                origin=origin,
                inputs=(origin,),
                size_bytes=path.stat().st_size if what == "status" else 200,
                options={"what": what, "folder": str(path.parent), "names": (path.name,)},
            )
        return Partition(
            id=path.name,
            origin=origin,
            inputs=(origin,),
            size_bytes=path.stat().st_size,
            options={"what": "table"},
        )

    def read(self, partition: Partition, ctx: ReadContext) -> Iterable[Any]:
        """Rows of a table, or of the files of one group."""
        what = partition.options["what"]
        if what == "other":
            from .directory import OTHER

            ctx.read(partition.options["count"])
            ctx.filtered(partition.options["count"], OTHER)
            return ()
        if what == "table":
            return self._table(partition.path, ctx)
        from .files import read_files, read_statuses

        reader = read_statuses if what == "status" else read_files
        folder = Path(partition.options["folder"])
        return reader(folder, partition.options["names"], self.config, ctx)

    def _table(self, path: Path, ctx: ReadContext) -> Iterator[Any]:
        from .tables import read_table, recognise

        try:
            table = recognise(path)
            if table is None:
                raise SourceError(
                    "neither the name nor the header is one of the experiment's",
                    where=str(path),
                    remedy="give a directory, a receiver status, or a table with the header "
                    "scan_number,time0,... or distiller_id,scan_number,datetime",
                )
            yield from read_table(path, table, self.config, ctx)
        except OSError as error:
            raise SourceError(
                f"cannot be read: {error.strerror}", where=str(path), remedy="check the file"
            ) from error
