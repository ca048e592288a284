"""Asking all sources which of them can read a path.

A source recognises files.  A directory is recognised by the files that the source would read there
(those that ``plan`` lists), so that detection and reading agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import attrs

from harvest.api.settings import structure
from harvest.api.source import Detection, Source
from harvest.errors import HarvestError, PluginError

from .registry import PluginManager

__all__ = ["LOOKED_AT", "Candidate", "best", "files_read"]

LOOKED_AT: Final = 1_000
"""Files of a directory that are looked at; more only until the first is recognised."""


@attrs.frozen
class Candidate:
    """A source that can read a path: how sure it is, from 0 to 1, and why."""

    source: str
    confidence: float
    reason: str


def best(path: Path, plugins: PluginManager) -> list[Candidate]:
    """All sources that recognise ``path``, surest first.

    A source that cannot be imported takes no part; ``harvest plugins`` shows it.  An unreadable
    path is recognised by nobody.
    """
    found = []
    for name, spec in plugins.sources.items():
        try:
            cls = plugins.load(spec)
        except PluginError:
            continue
        detection = _detection(cls, path)
        if detection is None and path.is_dir():
            detection = _by_its_files(cls, path)
        if detection is not None:
            found.append(Candidate(name, detection.confidence, detection.reason))
    return sorted(found, key=lambda c: (-c.confidence, c.source))


def _detection(cls: type[Source], path: Path) -> Detection | None:
    try:
        return cls.detect(path)
    except (PermissionError, FileNotFoundError):
        return None


def _by_its_files(cls: type[Source], directory: Path) -> Detection | None:
    """The surest of its files, less sure by the share of those that are not recognised."""
    surest, example, recognised, seen = None, directory, 0, 0
    for file in _files_to_look_at(cls, directory):
        if seen >= LOOKED_AT and recognised:
            break
        seen += 1
        found = _detection(cls, file)
        if found is None:
            continue
        recognised += 1
        if surest is None or found.confidence > surest.confidence:
            surest, example = found, file
    if surest is None:
        return None
    of = "" if recognised == seen else f" of {seen:,}"
    plural = "" if (seen if of else recognised) == 1 else "s"
    root = directory.absolute()
    name = example.relative_to(root) if example.is_relative_to(root) else example
    return Detection(
        surest.confidence * recognised / seen,
        f"{recognised:,}{of} file{plural}: {surest.reason} ({name})",
    )


def _files_to_look_at(cls: type[Source], directory: Path) -> Iterator[Path]:
    """The files that a source would read in a directory, each once.

    Where it refuses the directory, those directly below it: it may know them, and lack others.
    """
    seen: set[Path] = set()
    try:
        for path in files_read(cls, directory):
            seen.add(path)
            yield path
    except HarvestError:
        yield from (p for p in _files_of(directory) if p.absolute() not in seen)
    except PermissionError:
        return


def files_read(cls: type[Source], location: Path) -> Iterator[Path]:
    """The files that a source would read at a location, each once, by their absolute paths.

    Raises SourceError where the source refuses the location.
    """
    seen: set[str] = set()
    source = cls(str(location), structure(cls.Config, {}, plugin=cls.name))
    for partition in source.plan():
        for name in partition.inputs:
            if name not in seen and Path(name).is_file():
                seen.add(name)
                yield Path(name)


def _files_of(directory: Path) -> list[Path]:
    try:
        return sorted(path for path in directory.iterdir() if path.is_file())
    except PermissionError:
        return []
