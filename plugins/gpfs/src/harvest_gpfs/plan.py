"""Which lists a location has, and the ranges in which they are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from harvest import Partition, SourceError, file_partition
from harvest.toolkit.files import list_files
from harvest_toolkit.lines import line_starts
from harvest_toolkit.streams import compression

from .parse.layout import LONGEST_LINE

if TYPE_CHECKING:
    from .parse.escaping import Escaping

__all__ = ["partitions"]

_PART: Final = re.compile(r"(?P<name>.+)\.part-(?P<number>\d+)-of-(?P<count>\d+)")
_PACKED: Final = (".gz", ".zst")


def partitions(
    location: Path, range_bytes: int, find_escaping: Callable[[Path], Escaping]
) -> Iterator[Partition]:
    """The partitions of a list or of a directory of lists.

    range_bytes: size from which a plain list is read in several ranges.
    find_escaping: of a list that is read in several ranges, which must all be read alike.
    Raises SourceError when there is nothing to read, or not all parts of a list.
    """
    files = [location]
    if location.is_dir():
        files = [file for file in list_files(location) if not file.name.startswith(".")]
        if not files:
            raise SourceError(
                "the directory holds no list", where=str(location), remedy="check the location"
            )
        _check_parts(location, files)
    for file in files:
        yield from _ranges(file, range_bytes, find_escaping)


def _check_parts(directory: Path, files: Sequence[Path]) -> None:
    """All parts of each list that was split must be there, and nothing twice."""
    seen: dict[str, str] = {}
    parts: dict[tuple[str, int], set[int]] = {}
    for file in files:
        name = file.name.removesuffix(file.suffix) if file.suffix in _PACKED else file.name
        if name in seen:
            raise SourceError(
                f"the same list is there twice, as {seen[name]} and {file.name}",
                where=str(directory),
                remedy="keep one of them, or name the lists one by one",
            )
        seen[name] = file.name
        if found := _PART.fullmatch(name):
            parts.setdefault((found["name"], int(found["count"])), set()).add(int(found["number"]))
    for (name, count), there in sorted(parts.items()):
        missing = sorted(set(range(1, count + 1)) - there)
        beyond = sorted(number for number in there if not 1 <= number <= count)
        if beyond:
            raise SourceError(
                f"{name} has a part {beyond[0]} of {count}",
                where=str(directory),
                remedy="parts are numbered from 1; check their names",
            )
        if missing:
            listed = ", ".join(map(str, missing[:10])) + (", ..." if len(missing) > 10 else "")
            raise SourceError(
                f"{len(missing)} of the {count} parts of {name} are missing: {listed}",
                where=str(directory),
                remedy="bring them back, or name the parts that are there one by one",
            )


def _ranges(
    path: Path, range_bytes: int, find_escaping: Callable[[Path], Escaping]
) -> Iterable[Partition]:
    """A list as one partition, or as several ranges that begin where lines do."""
    try:
        with path.open("rb") as file:
            packed = compression(file.read(4)) is not None
        size = path.stat().st_size
        starts = [0] if packed else line_starts(path, range_bytes, LONGEST_LINE)
        if len(starts) == 1:
            return [file_partition(path, id=path.name)]
        escaping = list(attrs.astuple(find_escaping(path)))
    except OSError:
        return [file_partition(path, id=path.name)]  # reading it reports why
    return [
        Partition(
            id=f"{path.name}@{start:014d}",
            origin=str(path),
            inputs=(str(path),),
            start=start,
            stop=stop,
            size_bytes=stop - start,
            options={"last": stop == size, "escaping": escaping},
        )
        for start, stop in pairwise([*starts, size])
    ]
