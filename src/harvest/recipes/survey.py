"""Survey a directory tree: which source reads which files, and which are unrecognized.

Each source is asked about each file.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import attrs

from harvest.api.source import Detection, Source
from harvest.errors import HarvestError, PluginError, SourceError, out_of_files
from harvest.plugin_code import contained
from harvest.plugins.registry import PluginManager
from harvest.toolkit.files import report_unreadable, walk_files
from harvest.toolkit.steps import step

from .recipe import Endpoint


@attrs.frozen
class Candidate:
    """A source that can read a path, with its confidence from 0 to 1 and the reason."""

    source: str
    confidence: float
    reason: str


@contained()
def best(path: Path, plugins: PluginManager) -> list[Candidate]:
    """Return all sources that recognise ``path`` itself, surest first.

    ``survey`` looks at the content of directories. A source that cannot be imported is skipped;
    ``harvest plugins`` shows it. No source recognises an unreadable path.
    """
    found = []
    for name, spec in plugins.sources.items():
        try:
            detection = plugins.load(spec).detect(path)
        except PluginError:
            continue
        except OSError as error:
            if out_of_files(error):  # not caused by the file
                raise
            continue
        if isinstance(detection, Detection):
            found.append(Candidate(name, detection.confidence, detection.reason))
        elif detection is not None:
            problem = f"detect() of source {name!r} gives {detection!r}, no Detection"
            raise PluginError(problem, remedy="report this to the plugin's author")
    return sorted(found, key=lambda c: (-c.confidence, c.source))


def files_read(cls: type[Source], location: Path) -> Iterator[Path]:
    """Yield the files that a source would read at a location, each once, as absolute paths."""
    names = dict.fromkeys(name for each in cls.configured(location).plan() for name in each.inputs)
    yield from (path for path in map(Path, names) if path.is_file())


NAME_ALONE: Final = 0.5
"""Confidence in a file that only has a fitting name."""
NAMED_AT_MOST: Final = 10_000
"""Maximum number of files to name individually in a directory with foreign files."""


@attrs.frozen
class Known:
    """The files of a tree that a source recognises.

    confidence: the highest, that of the file ``example``; reason: its reason.
    files, size_bytes: number and total size of the recognised files.
    locations: locations at which the source reads all of them.
    others: number of unrecognized files that the source also reads there.
    """

    source: str
    confidence: float
    reason: str
    example: Path
    files: int
    size_bytes: int
    locations: tuple[Path, ...]
    others: int


@attrs.frozen
class Unknown:
    """Files with one ending that no source recognises or reads; ``example`` is one of them."""

    ending: str
    files: int
    size_bytes: int
    example: Path


@attrs.frozen
class Survey:
    """The composition of a tree, most files first.

    known: files that sources recognise, not only by weak signs.
    doubtful: sources that recognise files only by weak signs, or less surely than others.
    datasets: directories with a dataset, which were not entered.
    """

    root: Path
    known: tuple[Known, ...]
    doubtful: tuple[Known, ...]
    unknown: tuple[Unknown, ...]
    datasets: tuple[Path, ...]

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The sources of a run that harvests everything recognised."""
        return tuple(
            Endpoint(each.source, str(place)) for each in self.known for place in each.locations
        )


@attrs.define
class _Tree:
    """All files of a tree with their sizes, and the sources that recognise them.

    own: by source, files that no other source is surer of; lesser: others that it recognises.
    owners: the sources that own a file.
    """

    plugins: PluginManager
    sizes: dict[Path, int] = attrs.field(factory=dict)
    own: dict[str, dict[Path, Candidate]] = attrs.field(factory=dict)
    lesser: dict[str, dict[Path, Candidate]] = attrs.field(factory=dict)
    owners: dict[Path, set[str]] = attrs.field(factory=dict)
    datasets: list[Path] = attrs.field(factory=list)

    def add(self, path: Path, found: list[Candidate]) -> None:
        """Add a file with its candidates, surest first; the surest sources own the file."""
        for candidate in found:
            name = candidate.source
            own, lesser = self.own.setdefault(name, {}), self.lesser.setdefault(name, {})
            if candidate.confidence == found[0].confidence:
                own[path] = candidate
                self.owners.setdefault(path, set()).add(name)
            else:
                lesser[path] = candidate

    def strangers(self, found: set[Path]) -> int:
        """Count the files among these that no source recognises."""
        return sum(1 for path in found if path in self.sizes and path not in self.owners)

    def reads(self, name: str, place: Path, own: set[Path]) -> set[Path] | None:
        """Return the files a source reads at a place; None if it refuses, or reads others' files.

        own: its own files directly at the place. If it refuses those, the run will show the reason:
            they count as read.
        """
        try:
            found = set(files_read(self.plugins.source(name), place))
        except (HarvestError, OSError):
            return own or None
        foreign = any(name not in self.owners.get(path, {name}) for path in found)
        return None if foreign else found

    def places(self, name: str, top: Path, wanted: set[Path]) -> list[tuple[Path, set[Path]]]:
        """Return the fewest places at which a source reads all its files, with the files of each.

        If a place has unrecognized files that the source would read, its own files are named
        individually, unless they are many.
        """
        if not wanted:
            return []
        if top in wanted:
            return [(top, {top})]
        here = {path for path in wanted if path.parent == top}
        found = self.reads(name, top, here)
        if found is not None and self.strangers(found) and len(wanted & found) <= NAMED_AT_MOST:
            found = None
        if found is not None and wanted <= found:
            return [(top, found)]
        below: dict[Path, set[Path]] = {}
        for path in wanted:
            below.setdefault(top / path.relative_to(top).parts[0], set()).add(path)
        places: list[tuple[Path, set[Path]]] = []
        if here and found is not None and here <= found:
            places.append((top, found))
            below = {place: paths - found for place, paths in below.items() if paths - found}
        for place in sorted(below):
            places += self.places(name, place, below[place])
        return places

    def known(self, name: str, found: list[tuple[Path, set[Path]]]) -> Known:
        """Build the entry of a source that reads these files at these places."""
        claimed = self.own[name] or self.lesser[name]
        example, surest = max(claimed.items(), key=lambda item: item[1].confidence)
        taken = set().union(*(taken for _, taken in found))
        mine = taken & claimed.keys()
        return Known(
            source=name, confidence=surest.confidence, reason=surest.reason, example=example,
            files=len(mine), size_bytes=sum(self.sizes[path] for path in mine),
            locations=tuple(place for place, _ in found), others=self.strangers(taken),
        )  # fmt: skip


@contained()
def survey(root: Path, plugins: PluginManager) -> Survey:
    """Survey every file of a tree, or one file.

    A file belongs to the surest source, or to each of several equally sure ones.
    """
    top = absolute(root)
    if not top.exists():
        raise SourceError("no such file or directory", where=str(root), remedy="check the path")
    tree = _look(top, plugins)
    known: list[Known] = []
    doubtful: list[Known] = []
    read: set[Path] = set()
    for name, own in tree.own.items():
        found = tree.places(name, top, set(own))
        # a place with only weak signs belongs to no source
        strong = [
            (place, taken)
            for place, taken in found
            if any(own[path].confidence >= NAME_ALONE for path in own.keys() & taken)
        ]
        taken = set().union(*(taken for _, taken in strong))
        if taken & own.keys():
            read |= taken
            known.append(tree.known(name, strong))
        else:
            doubtful.append(tree.known(name, found or [(top, set(tree.lesser[name]))]))
    known.sort(key=lambda each: (-each.files, each.source))
    doubtful.sort(key=lambda each: (-each.confidence, each.source))
    return Survey(
        top, tuple(known), tuple(doubtful), _unknown(tree.sizes, read), tuple(sorted(tree.datasets))
    )


def absolute(path: Path) -> Path:
    """Return an absolute path; resolve ``..`` by text, without following links."""
    return Path(os.path.abspath(path.expanduser()))  # noqa: PTH100 - no link is followed


def _look(top: Path, plugins: PluginManager) -> _Tree:
    tree = _Tree(plugins)
    whole: dict[Path, list[Candidate]] = {}
    with report_unreadable(top):
        for folder, files in _folders(top, tree.datasets):
            step(f"{len(tree.sizes):,} files, now {folder.name}")
            for candidate in best(folder, plugins) if folder != top or top.is_dir() else ():
                for path in files_read(plugins.source(candidate.source), folder):
                    whole.setdefault(path, []).append(candidate)
            for path in files:
                there = path.exists()
                tree.sizes[path] = path.stat().st_size if there else 0
                found = [*whole.pop(path, ()), *(best(path, plugins) if there else ())]
                tree.add(path, sorted(found, key=lambda each: -each.confidence))
    return tree


def _folders(top: Path, datasets: list[Path]) -> Iterator[tuple[Path, list[Path]]]:
    """Yield the directories of a tree with their files; record datasets without entering them."""
    if top.is_file():
        yield top, [top]
        return

    def enters(folder: str) -> bool:
        if is_dataset := Path(folder, "_harvest", "manifest.json").is_file():
            datasets.append(Path(folder))
        # the state of a dataset that is a file, or of one in which no run has committed
        is_state = folder.endswith(("/_harvest", "._harvest"))
        return not is_dataset and not is_state

    if enters(os.fspath(top)) or not datasets:
        yield from walk_files(top, enter=enters)


def _unknown(sizes: Mapping[Path, int], read: set[Path]) -> tuple[Unknown, ...]:
    groups: dict[str, list[Path]] = {}
    for path in sizes:
        if path not in read:
            groups.setdefault(os.path.splitext(path.name)[1], []).append(path)  # noqa: PTH122
    found = [
        Unknown(ending, len(paths), sum(sizes[p] for p in paths), min(paths))
        for ending, paths in groups.items()
    ]
    return tuple(sorted(found, key=lambda each: (-each.files, each.ending)))
