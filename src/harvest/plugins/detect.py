"""Asking all sources which of them can read a path."""

from __future__ import annotations

from pathlib import Path

import attrs

from harvest.errors import PluginError

from .manager import PluginManager

__all__ = ["Candidate", "best"]


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
        try:
            detection = cls.detect(path)
        except PermissionError:
            continue
        if detection is not None:
            found.append(Candidate(name, detection.confidence, detection.reason))
    return sorted(found, key=lambda c: (-c.confidence, c.source))
