"""What a directory tree is made of: which source reads which files, and what nobody knows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import attrs

from harvest.errors import HarvestError, SourceError
from harvest.plugins.detect import best, files_read
from harvest.plugins.registry import PluginManager
from harvest.toolkit.files import walk_files

from .recipe import Endpoint

__all__ = ["Known", "Survey", "Unknown", "survey"]

NAME_ALONE: Final = 0.5
"""How sure a source is of a file that has a fitting name and nothing else."""


@attrs.frozen
class Known:
    """The files of a tree that a source recognises.

    confidence: that of the surest file; reason: why it is one.
    files, size_bytes: of those recognised.
    locations: what to name so that the source reads all of them.
    others: files that nobody recognises, and that the source reads at these locations too.
    """

    source: str
    confidence: float
    reason: str
    files: int
    size_bytes: int
    locations: tuple[Path, ...]
    others: int


@attrs.frozen
class Unknown:
    """Files of one ending that no source recognises or reads; example is one of them."""

    ending: str
    files: int
    size_bytes: int
    example: Path


@attrs.frozen
class Survey:
    """What a tree is made of: most files first."""

    root: Path
    known: tuple[Known, ...]
    unknown: tuple[Unknown, ...]

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The sources of the run that harvests all of it."""
        return tuple(
            Endpoint(each.source, str(place)) for each in self.known for place in each.locations
        )


@attrs.define
class _Claim:
    """The files that a source recognises, with how sure it is of each, and the best reason."""

    paths: dict[Path, float] = attrs.field(factory=dict)
    surest: float = 0.0
    reason: str = ""

    def add(self, path: Path, confidence: float, reason: str) -> None:
        self.paths[path] = confidence
        if confidence > self.surest:
            self.surest, self.reason = confidence, reason


def survey(root: Path, plugins: PluginManager) -> Survey:
    """Look at every file of a tree, or at one file.

    A file is the surest source's; where several are equally sure, it is each one's.
    Raises SourceError where there is nothing, or a directory cannot be listed.
    """
    top = root.expanduser().absolute()
    if not top.exists():
        raise SourceError("no such file or directory", where=str(root), remedy="check the path")
    sizes, claims, owners = _look(top, plugins)
    known: list[Known] = []
    read: set[Path] = set()
    for name, claim in claims.items():
        found = _places(top, set(claim.paths), _Reader(plugins, name, owners))
        # a place where nothing but weak signs speak for the source is nobody's
        places = [
            (place, taken)
            for place, taken in found
            if max(claim.paths.get(path, 0.0) for path in taken) >= NAME_ALONE
        ]
        taken = set().union(*(taken for _, taken in places))
        mine = taken & set(claim.paths)
        if not mine:
            continue
        read |= taken
        known.append(
            Known(
                name,
                claim.surest,
                claim.reason,
                len(mine),
                sum(sizes[path] for path in mine),
                tuple(place for place, _ in places),
                sum(1 for path in taken if path in sizes and path not in owners),
            )
        )
    known.sort(key=lambda each: (-each.files, each.source))
    return Survey(top, tuple(known), _unknown(sizes, read))


def _look(
    top: Path, plugins: PluginManager
) -> tuple[dict[Path, int], dict[str, _Claim], dict[Path, set[str]]]:
    """Sizes of all files, the files of each source, and the sources of each file."""
    sizes: dict[Path, int] = {}
    claims: dict[str, _Claim] = {}
    owners: dict[Path, set[str]] = {}
    try:
        folders = [(top.parent, [top])] if top.is_file() else walk_files(top)
        for _, files in folders:
            for path in files:
                sizes[path] = path.stat().st_size if path.exists() else 0
                found = best(path, plugins) if path.exists() else []
                for candidate in found:
                    if candidate.confidence == found[0].confidence:
                        claim = claims.setdefault(candidate.source, _Claim())
                        claim.add(path, candidate.confidence, candidate.reason)
                        owners.setdefault(path, set()).add(candidate.source)
    except OSError as error:
        raise SourceError(
            f"cannot be read: {error.strerror}",
            where=str(error.filename or top),
            remedy="check its permissions",
        ) from error
    return sizes, claims, owners


@attrs.frozen
class _Reader:
    """A source, and what it would read where."""

    plugins: PluginManager
    name: str
    owners: Mapping[Path, set[str]]

    def reads(self, place: Path) -> set[Path] | None:
        """What it reads at a place; None where it refuses the place or takes others' files."""
        try:
            found = set(files_read(self.plugins.source(self.name), place))
        except (HarvestError, OSError):
            return None
        foreign = any(self.name not in self.owners.get(path, {self.name}) for path in found)
        return None if foreign else found


def _places(top: Path, wanted: set[Path], reader: _Reader) -> list[tuple[Path, set[Path]]]:
    """The fewest places at which a source reads all of its files, with what it reads there."""
    if top in wanted:
        return [(top, {top})]
    found = reader.reads(top)
    if found is not None and wanted <= found:
        return [(top, found)]
    below: dict[Path, set[Path]] = {}
    for path in wanted:
        below.setdefault(top / path.relative_to(top).parts[0], set()).add(path)
    here = {path for path in wanted if path.parent == top}
    places: list[tuple[Path, set[Path]]] = []
    if len(here) > 1 and found is not None and here <= found:
        places.append((top, found))
        below = {place: paths - found for place, paths in below.items() if paths - found}
    for place in sorted(below):
        places += _places(place, below[place], reader)
    return places


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
