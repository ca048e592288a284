"""The source ``darshan``, with one partition per log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from harvest import Detection, Partition, ReadContext, Record, Source, SourceError, file_partition
from harvest.toolkit.files import input_path, out_of_files, walk_names

from . import records
from .read.container import HEADER_BYTES, DamagedError, has_magic
from .read.regions import DarshanConfig

if TYPE_CHECKING:
    from .read.tables import Rows

SUFFIXES = (".darshan", ".darshan_partial")


class DarshanSource(Source):
    """Reads one Darshan log, or all logs below a directory."""

    name: ClassVar[str] = "darshan"
    record_types: ClassVar[tuple[type[Record], ...]] = records.ALL
    Config: ClassVar[type] = DarshanConfig

    @classmethod
    def detect(cls, path: Path) -> Detection | None:
        """Recognise a log by its magic number."""
        if not path.is_file():
            return None
        with path.open("rb") as file:
            if has_magic(file.read(16)):
                return Detection(1.0, "Darshan's magic number")
        return Detection(0.5, "its name") if path.name.endswith(SUFFIXES) else None

    def plan(self) -> Iterable[Partition]:
        """Plan one partition per log; raise SourceError if a directory has none.

        Below a directory, logs are the files with Darshan's file ending or magic number.
        """
        path = input_path(self.location)
        if not path.is_dir():
            yield file_partition(path, id=path.name)
            return
        listed = ((folder.rstrip("/"), names) for folder, names in walk_names(path))
        logs = _logs(path, (f"{folder}/{name}" for folder, names in listed for name in names))
        first = next(logs, None)
        if first is None:
            raise SourceError(
                "the directory has no Darshan log",
                where=str(path),
                remedy="name a directory with *.darshan files, or a log",
            )
        yield first
        yield from logs

    def plan_files(self, files: Iterable[Path]) -> Iterable[Partition] | None:
        """Plan one partition per log among some files."""
        path = input_path(self.location)
        if not path.is_dir():
            return [file_partition(path, id=path.name) for file in files if file == path]
        return _logs(path, map(str, files))

    def read(self, partition: Partition, ctx: ReadContext) -> Iterator[Rows]:
        """Yield the rows of one log; unreadable parts become rejects."""
        from .read.log import check_log, rows_of  # numpy and Arrow, which planning does without

        with partition.path.open("rb") as file:
            try:
                log = check_log(file, partition.path, self.config)
            except DamagedError as error:
                ctx.read(1)
                file.seek(0)
                ctx.reject(file.read(HEADER_BYTES), str(error), record_type="darshan.job")
                return
            yield from rows_of(log, ctx)
        ctx.advance(partition.size_bytes)


def _logs(folder: Path, files: Iterable[str]) -> Iterator[Partition]:
    """Yield a partition for each file below a directory that has a log's ending or magic number."""
    above = f"{str(folder).rstrip('/')}/"
    for path in files:
        if path.endswith(SUFFIXES) or _is_log(path):
            yield file_partition(path, id=path.removeprefix(above))


def _is_log(path: str) -> bool:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return has_magic(file.read(16))
    except OSError as error:
        if out_of_files(error):
            raise
        # an unreadable file without a log's ending is not ours to report
        return False
