"""The source ``dask``, which reads capture directories and cluster dumps."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Final

from harvest import Detection, Partition, ReadContext, Record, Source, SourceError, file_partition
from harvest.toolkit.files import folders_of, input_path, list_files, may_be, walk_files

from ..types import CAPTURED_TYPES, RECORD_TYPES, RunDirective
from .container import MAGIC
from .dump import dump_format

DEPTH: Final = 4
"""Number of directory levels below the location to search for captures."""
SUFFIX: Final = ".cap"
MARK: Final = "capture.json"
"""The file that marks a capture directory."""


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
        """Yield one partition per capture file; a location that is a file is not checked.

        Raises SourceError if the location is missing or contains no capture file.
        """
        location = input_path(self.location)
        if not location.is_dir():
            if location.name == MARK:
                raise SourceError(
                    "holds no rows itself", where=str(location), remedy="name its directory"
                )
            yield _partition(location, location.parent.parent)
            return
        captures = list(_captures(walk_files(location, depth=DEPTH, hidden=False)))
        if not captures:
            raise SourceError(
                "holds no capture file of a Dask run",
                where=str(location),
                remedy=f"looked {DEPTH} levels deep for *{SUFFIX} files next to a {MARK}; check "
                "the location, name a cluster dump itself, or wait until the capture has begun",
            )
        itself = any(directory == location for directory, _ in captures)
        base = location.parent if itself else location
        for _, files in captures:
            for file in files:
                yield _partition(file, base)

    def plan_files(self, files: Iterable[Path]) -> Iterable[Partition] | None:
        """Return one partition per capture file in the directories of ``files``.

        Returns None if a file is directly in the location: it may change the ids of all captures,
        so ``plan`` is needed.
        """
        location = input_path(self.location)
        paths = list(files)
        if not location.is_dir() or any(path.parent == location for path in paths):
            return None
        itself = any(_captures([(location, list_files(location))]))
        base = location.parent if itself else location
        folders = folders_of(location, paths, depth=DEPTH, hidden=False)
        captures = _captures((folder, list_files(folder)) for folder in folders)
        return [_partition(file, base) for _, files in captures for file in files]

    def read(self, partition: Partition, ctx: ReadContext) -> Iterable[Any]:
        """Yield the rows of one capture file.

        Raises OSError if the file cannot be opened or read.
        """
        from .reader import read_file  # it needs msgpack and Arrow, which planning does not

        yield from read_file(partition, ctx)


def _partition(file: Path, base: Path) -> Partition:
    return file_partition(file, id=file.relative_to(base).as_posix())


def _captures(listed: Iterable[tuple[Path, list[Path]]]) -> Iterator[tuple[Path, list[Path]]]:
    """Select the directories that contain capture files, and yield each with its capture files.

    Other directories may have unrelated files of the same suffix, for example packet captures.
    """
    for folder, files in listed:
        ours = [file for file in files if file.name.endswith(SUFFIX)]
        marked = any(file.name == MARK for file in files)
        if ours and (marked or any(may_be(file, _is_ours) for file in ours)):
            yield folder, ours


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC
