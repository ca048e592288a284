"""Select the files that a run looks at, if it does not look at all files of its sources.

One kind of selection is a list of named files, for example from notifications of a file system. The
other is all files outside directories that are named for an earlier day. Rows of other files stay
in the datasets.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import chain
from pathlib import Path

from harvest.api.source import Partition, Source
from harvest.errors import PluginError, UsageError
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.files import (
    files_among,
    list_files,
    paths_below,
    report_unreadable,
    walk_files,
)
from harvest.toolkit.texts import printable_line

from .recipe import Recipe, day_of, day_of_directory

_SHOWN = 3


class Named:
    """Files selected by absolute path; a directory selects the files directly in it."""

    def __init__(self, paths: Iterable[str]):
        self._paths = frozenset(paths)
        self._above = frozenset(map(os.path.dirname, self._paths))
        # a missing file may have been read together with others of its directory
        self._gone = frozenset(path for path in self._paths if not os.path.lexists(path))
        self._with_files = self._paths.union(map(os.path.dirname, self._gone))
        self._in_locations: set[str] = set()
        self._listed: set[str] = set()
        self._files: set[Path] = set()
        self._real: dict[Path, str] = {}

    def files(self, location: Path) -> Sequence[Path]:
        """Return the named files that exist; missing ones cannot be read."""
        below = self._below(location)
        folders = [Path(path) for path in below if os.path.isdir(path)]  # noqa: PTH112
        named = {*below, *(str(file) for folder in folders for file in list_files(folder))}
        itself = [location] if str(location) in below and location.is_file() else []
        files = [*itself, *files_among(location, named)]
        listed = set(map(str, (*files, *folders)))
        self._files.update(files)
        self._in_locations.update(below.values())
        self._listed.update(name for path, name in below.items() if path in listed)
        return files

    def gone(self, location: Path) -> list[Path]:
        """Return missing files of a location that may have been read together with others."""
        below = self._below(location).items()
        gone = (path for path, name in below if name in self._gone)
        return list(map(Path, paths_below(location, gone)))

    def _below(self, location: Path) -> dict[str, str]:
        """Map named paths below a location (perhaps a link), as it spells them, to their names."""
        found = {}
        for top in dict.fromkeys((os.path.realpath(location), str(location))):
            for path in self._paths:
                if path == top or path.startswith(f"{top.rstrip('/')}/"):
                    found[str(location) + path[len(top) :]] = path
        return found

    def has(self, location: Path, path: str) -> bool:
        """Return whether a path or its directory is named, or a named path is directly in it.

        Also true for files in the directory of a named file that is missing.
        """
        if location not in self._real:  # computed once, not for each of a million paths
            self._real[location] = os.path.realpath(location)
        real = self._real[location] + path.removeprefix(str(location))
        return any(
            each in self._paths or each in self._above or os.path.dirname(each) in self._with_files  # noqa: PTH120
            for each in (path, real)
        )

    def remarks(self) -> list[str]:
        """Return sentences about the files that were selected and left out."""
        said = [f"{count_in_words(len(self._files), 'file')} of the list looked at"]
        others = {
            "gone": self._in_locations & self._gone,
            "behind a link, or not a file": self._in_locations - self._gone - self._listed,
            "in no location": self._paths - self._in_locations,
        }
        for state, names in others.items():
            if names:
                some = ", ".join(map(printable_line, sorted(names)[:_SHOWN]))
                more = ", ..." if len(names) > _SHOWN else ""
                said.append(
                    f"{count_in_words(len(names), 'name')} of the list {state}: {some}{more}"
                )
        return said


class Since:
    """All files, except in directories that are named for a day before ``day``.

    Names of days are YYYY-MM-DD, YYYYMMDD, or nested directories YYYY/M/D.
    """

    def __init__(self, day: date):
        self.day = day
        self._listed: set[str] = set()
        self._left: set[str] = set()

    def enters(self, directory: str) -> bool:
        """Return whether to look into a directory, by its name and the two names above it."""
        named = day_of_directory(directory)
        if named is None:
            return True
        (self._left if named < self.day else self._listed).add(directory)
        return named >= self.day

    def files(self, location: Path) -> Iterator[Path]:
        """Yield the selected files of a location, which may itself be a file."""
        if not location.is_dir():
            yield location
            return
        for _, files in walk_files(location, enter=self.enters):
            yield from files

    def has(self, location: Path, path: str) -> bool:
        """Return whether no directory above a path is named for an earlier day."""
        top = str(location)
        above = os.path.dirname(path)  # noqa: PTH120
        while len(above) > len(top):
            if not self.enters(above):
                return False
            above = os.path.dirname(above)  # noqa: PTH120
        return True

    def remarks(self) -> list[str]:
        return [
            f"since {self.day}: {count_in_words(len(self._listed), 'directory', 'directories')} "
            f"named for a day read, {len(self._left):,} of earlier days skipped"
        ]


def selection_of(recipe: Recipe, last: date | None = None) -> Named | Since | None:
    """Return the selection of a recipe, or None if the run looks at all files."""
    if recipe.changed is not None:
        return read_names(Path(recipe.changed).expanduser())
    day = day_of(recipe.since, last) if recipe.since is not None else None
    return Since(day) if day is not None else None


def partitions_in(source: Source, selection: Named | Since) -> Iterable[Partition] | None:
    """Return a source's partitions in the selected files; None if it can list only all files."""
    location = Path(source.location).expanduser().absolute()
    if not location.exists():
        return None
    gone = selection.gone(location) if isinstance(selection, Named) else []
    found = source.plan_files(chain(selection.files(location), gone))
    if found is None or not gone:
        return found
    paths = frozenset(map(str, gone))
    return (p for p in found if not p.inputs or not paths.issuperset(p.inputs))


def partitions_of(source: Source, selection: Named | Since | None = None) -> Iterator[Partition]:
    """Yield a source's partitions, all or in the selected files.

    A source that cannot list single files lists all; then origins without a selected file are left
    out. Partitions of one origin stay together, since unlisted ones of a listed origin leave the
    dataset. Raises SourceError as ``Source.plan``, and for a directory that cannot be listed.
    """
    with report_unreadable(Path(source.redact(source.location))):
        found = partitions_in(source, selection) if selection is not None else None
        if selection is None or found is not None:
            given: Iterable[object] = source.plan() if found is None else found
            for partition in given:
                if not isinstance(partition, Partition):
                    problem = f"plan() of source {source.name!r} gives {partition!r}, no Partition"
                    raise PluginError(problem, remedy="report this to the plugin's author")
                yield partition
            return
        location = Path(source.location).expanduser().absolute()
        plan = list(source.plan())
        origins = {
            each.origin
            for each in plan
            if not each.inputs or any(selection.has(location, path) for path in each.inputs)
        }
        yield from (partition for partition in plan if partition.origin in origins)


def read_names(path: Path) -> Named:
    """Read a list of file names, one per line; if it has NUL bytes, each name ends with one."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"the list of changed files cannot be read: {error.strerror}", where=str(path)
        ) from error
    names = data.split(b"\0" if b"\0" in data else b"\n")  # no file name contains a NUL byte
    return Named(os.path.abspath(os.fsdecode(name)) for name in names if name)  # noqa: PTH100
