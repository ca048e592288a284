"""Asking all sources which of them can read a path."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import attrs

from harvest.api.source import Source
from harvest.errors import PluginError, out_of_files
from harvest.plugin_code import contained

from .registry import PluginManager


@attrs.frozen
class Candidate:
    """A source that can read a path: how sure it is, from 0 to 1, and why."""

    source: str
    confidence: float
    reason: str


@contained()
def best(path: Path, plugins: PluginManager) -> list[Candidate]:
    """All sources that recognise ``path`` itself, surest first.

    What lies below a directory is looked at by ``harvest.recipes.survey``.  A source that cannot
    be imported takes no part; ``harvest plugins`` shows it.  An unreadable path is recognised by
    nobody.
    """
    found = []
    for name, spec in plugins.sources.items():
        try:
            detection = plugins.load(spec).detect(path)
        except PluginError:
            continue
        except OSError as error:
            if out_of_files(error):  # no fault of the file
                raise
            continue
        if detection is not None:
            found.append(Candidate(name, detection.confidence, detection.reason))
    return sorted(found, key=lambda c: (-c.confidence, c.source))


def files_read(cls: type[Source], location: Path) -> Iterator[Path]:
    """The files that a source would read at a location, each once, by their absolute paths.

    Raises SourceError where the source refuses the location.
    """
    seen: set[str] = set()
    source = cls.configured(location)
    for partition in source.plan():
        for name in partition.inputs:
            if name not in seen and Path(name).is_file():
                seen.add(name)
                yield Path(name)
