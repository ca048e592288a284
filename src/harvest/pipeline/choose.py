"""Which sources read a location that is given without the name of one."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import attrs

from harvest.errors import SourceError, UsageError
from harvest.plugins.detect import Candidate, best
from harvest.plugins.registry import PluginManager
from harvest.toolkit.texts import printable_line

from .recipe import Endpoint, Recipe

__all__ = ["SURE", "name_sources"]

SURE: Final = 0.7
"""From here on a source is sure of what it recognises: a file name alone gives less."""


def name_sources(
    recipe: Recipe, plugins: PluginManager, *, absent: bool = False
) -> tuple[Recipe, list[str]]:
    """The recipe with the name of a source at every location, and what is to be said about it.

    A directory is read by every source that is sure of it, or by the surest if none is; a file has
    one format and is read by the surest.  Where several come into question, one line says which
    read it and which do not.

    absent: leave a location that is not there as it is.
    Raises SourceError where it is not there, UsageError where no source or not one alone is
    surest.
    """
    given = {(e.name, _place(e.location)) for e in recipe.sources if e.name}
    named: list[Endpoint] = []
    remarks: list[str] = []
    for endpoint in recipe.sources:
        path = Path(endpoint.location).expanduser()
        if endpoint.name or (absent and not path.exists()):
            named.append(endpoint)
            continue
        found = _candidates(endpoint.location, path, plugins)
        chosen = _chosen(found, path)
        named += [
            Endpoint(each.source, endpoint.location)
            for each in chosen
            if (each.source, _place(endpoint.location)) not in given
        ]
        if len(found) > 1:
            remarks.append(_remark(endpoint.location, chosen, found[len(chosen) :]))
    return attrs.evolve(recipe, sources=tuple(named)), remarks


def _place(location: str) -> str:
    return os.path.abspath(Path(location).expanduser())  # noqa: PTH100 - no link is followed


def _candidates(location: str, path: Path, plugins: PluginManager) -> list[Candidate]:
    if not location:
        raise UsageError("a source has no location", remedy="write NAME:LOCATION")
    if not path.exists():
        raise SourceError(
            "no such file or directory",
            where=printable_line(location),
            remedy="check the path, or name the source as NAME:LOCATION",
        )
    found = best(path, plugins)
    if not found:
        raise UsageError(
            "no source recognises it",
            where=printable_line(location),
            remedy="name the source as NAME:LOCATION; `harvest plugins` lists them",
        )
    return found


def _chosen(found: Sequence[Candidate], path: Path) -> Sequence[Candidate]:
    """Those of the candidates, surest first, that read a path."""
    sure = [each for each in found if each.confidence >= SURE]
    if len(sure) > 1 and path.is_dir():
        return sure
    equal = [each for each in found if each.confidence == found[0].confidence]
    if len(equal) > 1:
        raise UsageError(
            " and ".join(map(_sureness, equal)) + " could read it equally well",
            where=printable_line(str(path)),
            remedy="name the source: " + " or ".join(_option(each, str(path)) for each in equal),
        )
    return found[:1]


def _remark(location: str, chosen: Sequence[Candidate], left: Sequence[Candidate]) -> str:
    text = f"{printable_line(location)}: read by {' and '.join(map(_sureness, chosen))}"
    if left:
        options = " ".join(_option(each, location) for each in left)
        text += f"; not by {' and '.join(map(_sureness, left))}, which {options} adds"
    return text


def _sureness(candidate: Candidate) -> str:
    return f"{candidate.source} ({candidate.confidence:.0%} sure)"


def _option(candidate: Candidate, location: str) -> str:
    return f"-s {shlex.quote(f'{candidate.source}:{printable_line(location)}')}"
