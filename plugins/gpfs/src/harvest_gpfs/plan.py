"""Which lists a location has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from harvest import SourceError
from harvest.toolkit.files import list_files

__all__ = ["lists_of"]

_PART: Final = re.compile(r"(?P<name>.+)\.part-(?P<number>\d+)-of-(?P<count>\d+)")
_PACKED: Final = (".gz", ".zst")


def lists_of(location: Path) -> list[Path]:
    """The list, or the lists of a directory, but hidden ones.

    Raises SourceError when there is nothing to read, or not all parts of a list.
    """
    if not location.is_dir():
        return [location]
    files = [file for file in list_files(location) if not file.name.startswith(".")]
    if not files:
        raise SourceError(
            "the directory holds no list", where=str(location), remedy="check the location"
        )
    _check_parts(location, files)
    return files


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
