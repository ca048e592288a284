"""The source ``dask``, which reads capture directories and cluster dumps."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, TypeAlias

from harvest import Detection, Partition, ReadContext, Record, Source, SourceError, file_partition
from harvest.toolkit.files import folders_of, input_path, list_files, may_be, walk_files

from ..types import CAPTURED_TYPES, RECORD_TYPES, RunDirective
from .container import MAGIC, dump_format

__all__ = ["DEPTH", "MARK", "SUFFIX", "DaskSource", "Files"]

DEPTH: Final = 4
"""Number of directory levels below the location to search for runs."""
SUFFIX: Final = ".cap"
MARK: Final = "capture.json"
"""The file that marks a capture directory."""

Files: TypeAlias = Mapping[Path, Mapping[str, Any]]
"""The files of a run to read, each with the options of its partition."""


class DaskSource(Source):
    """Reads capture directories, which record a Dask cluster while it runs.

    The location is a capture directory, a directory that holds some (four levels deep), one
    ``.cap`` file, or a cluster dump.  Each file, the record of one process or a dump, is one
    partition.
    """

    name: ClassVar[str] = "dask"
    record_types: ClassVar[tuple[type[Record], ...]] = (
        *(cls for cls in RECORD_TYPES if cls is not RunDirective),
        *CAPTURED_TYPES,
    )

    @classmethod
    def detect(cls, path: Path) -> Detection | None:
        """Recognize a capture file by its magic number, a cluster dump by its first keys."""
        if not path.is_file():
            return None
        if _is_ours(path):
            return Detection(0.95, "has the magic number of a capture file")
        found = dump_format(path)
        return Detection(0.9, f"begins as a cluster dump of Dask ({found})") if found else None

    def plan(self) -> Iterator[Partition]:
        """Yield one partition per file of each run.

        Raises SourceError if the location is missing or holds no file to read.
        """
        location = self.path()
        folder = location if location.is_dir() else location.parent
        listed = walk_files(location, depth=DEPTH, hidden=False) if folder == location else ()
        runs = list(self.runs(listed)) or [(folder, self.named(location))]
        yield from _partitions(runs, folder, itself=any(each == folder for each, _ in runs))

    def plan_files(self, files: Iterable[Path]) -> Iterable[Partition] | None:
        """Return one partition per file of the runs that contain ``files``.

        Returns None if a file is directly in the location: it may change all partitions' ids, so
        ``plan`` is needed.
        """
        location, paths = self.path(), list(files)
        if not location.is_dir() or any(path.parent == location for path in paths):
            return None
        itself = any(self.runs([(location, list_files(location))]))
        folders = folders_of(location, paths, depth=DEPTH, hidden=False)
        runs = self.runs((folder, list_files(folder)) for folder in folders)
        return list(_partitions(runs, location, itself=itself))

    def path(self) -> Path:
        """Return the location as a path; raise SourceError if it is missing."""
        return input_path(self.location)

    def runs(self, listed: Iterable[tuple[Path, list[Path]]]) -> Iterator[tuple[Path, Files]]:
        """Select the runs among directories with their files; yield each with the files to read.

        Other directories may have unrelated files of the same suffix, for example packet captures.
        """
        for folder, files in listed:
            ours = [file for file in files if file.name.endswith(SUFFIX)]
            marked = any(file.name == MARK for file in files)
            if ours and (marked or any(may_be(file, _is_ours) for file in ours)):
                yield folder, {file: {} for file in ours}

    def named(self, location: Path) -> Files:
        """Return the files to read where a user named a file, or a directory without a run.

        Raises SourceError if there is none; a file is not checked.
        """
        if location.is_dir():
            raise SourceError(
                "holds no capture file of a Dask run",
                where=str(location),
                remedy=f"looked {DEPTH} levels deep for *{SUFFIX} files next to a {MARK}; check "
                "the location, name a cluster dump itself, or wait until the capture has begun",
            )
        if location.name == MARK:
            remedy = "name its directory"
            raise SourceError("holds no rows itself", where=str(location), remedy=remedy)
        return {location: {}}

    def read(self, partition: Partition, ctx: ReadContext) -> Iterable[Any]:
        """Yield the rows of one capture file.

        Raises OSError if the file cannot be opened or read.
        """
        from .reader import read_file  # it needs msgpack and Arrow, which planning does not

        yield from read_file(partition, ctx)


def _partitions(
    runs: Iterable[tuple[Path, Files]], folder: Path, *, itself: bool
) -> Iterator[Partition]:
    """Yield the partitions of runs in a directory, or of the run that it is itself."""
    base = folder.parent if itself else folder
    for _, files in runs:
        for file, options in files.items():
            yield file_partition(file, id=file.relative_to(base).as_posix(), options=options)


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC
