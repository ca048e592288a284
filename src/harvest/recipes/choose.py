"""Choose the sources that read a location given without a source name."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import attrs

from harvest.api.source import Source
from harvest.errors import SourceError, UsageError
from harvest.plugin_code import contained
from harvest.plugins.registry import PluginManager
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.files import walk_files
from harvest.toolkit.texts import printable_line, shell_word

from .endpoints import Listed, bind
from .pipes import with_pipes
from .recipe import Endpoint, Recipe
from .survey import Known, Survey, absolute, survey

SURE: Final = 0.7
"""Confidence from which a source counts as sure; a file name alone gives less."""
OPTIONS_SHOWN: Final = 3
LOOKED_AT: Final = 20
"""Maximum number of files below a location that a source is asked to detect."""


def name_sources(
    recipe: Recipe, plugins: PluginManager, *, absent: bool = False
) -> tuple[Recipe, list[str]]:
    """Return the recipe with a source name at every location, and remarks about the choices.

    ``survey`` looks for sources in a directory: every source that is sure reads the files that it
    recognises. If none is sure, the surest reads them. If several sources are possible, one remark
    says which read it and which do not; another counts the unread files.

    absent: leave missing locations as they are, and pipes of which nothing was read.
    """
    recipe = with_pipes(bind(recipe, plugins))
    given = {(e.name, str(absolute(Path(e.location)))) for e in recipe.sources if e.name}
    named: list[Endpoint] = []
    remarks: list[str] = []
    for endpoint in recipe.sources:
        path = Path(endpoint.location).expanduser()
        unread = endpoint.pipe is not None and endpoint.pipe.file is None
        if endpoint.name or (absent and (unread or not path.exists())):
            named.append(endpoint)
            continue
        if endpoint.pipe is not None:
            if endpoint.pipe.file is None:
                problem = "a pipe does not show which source can read it"
                remedy = "name the source as NAME:LOCATION; `harvest plugins` lists them"
                raise UsageError(problem, where=printable_line(endpoint.pipe.origin), remedy=remedy)
            path = endpoint.pipe.file
        found = _survey(endpoint.location, path, plugins)
        chosen = _chosen(found, endpoint.location)
        # skip a place below a location already named for the same source: no double reading
        named += [
            attrs.evolve(endpoint, name=name, location=location)
            for name, location in _endpoints(chosen, found.root, endpoint.location)
            if not any((name, str(place)) in given for place in _upwards(location))
        ]
        remarks += _remarks(found, chosen, endpoint.location)
    return attrs.evolve(recipe, sources=tuple(named)), remarks


def unread_below(listed: Listed) -> Iterator[str]:
    """Yield remarks on sources that do not read the directories below their locations.

    This concerns a source that recognises one of the first files there, if none of its name reads
    it.
    """
    for source in {id(use): use.source for use, _ in listed}.values():
        first = islice(_files_below(Path(source.location).expanduser().absolute()), LOOKED_AT)
        unread = {str(path) for path in first if _knows(source, path)}
        for use, partition in listed:
            if not unread:
                break
            if use.source.name == source.name:
                unread.difference_update(partition.inputs)
        if unread:
            yield (
                f"{printable_line(source.location)}: {source.name} does not read so deep below it: "
                f"{printable_line(min(unread))}; name that directory, too, or leave out the source"
            )


def _files_below(location: Path) -> Iterator[Path]:
    if not location.is_dir():
        return
    with os.scandir(location) as entries:
        folders = sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
    for folder in folders:
        # no remark about directories that cannot be listed
        with contextlib.suppress(OSError):
            for _, files in walk_files(Path(folder), hidden=False):
                yield from files


def _knows(source: Source, path: Path) -> bool:
    try:
        with contained():
            found = source.detect(path)
    except OSError:
        return False  # no source recognises an unreadable path
    return found is not None and found.confidence >= SURE


def _upwards(location: str) -> tuple[Path, ...]:
    place = absolute(Path(location))
    return (place, *place.parents)


def _survey(location: str, path: Path, plugins: PluginManager) -> Survey:
    if not location:
        raise UsageError("a source has no location", remedy="write NAME:LOCATION")
    if not path.exists():
        problem = "no such file or directory"
        remedy = "check the path, or name the source as NAME:LOCATION"
        raise SourceError(problem, where=printable_line(location), remedy=remedy)
    found = survey(path, plugins)
    if not found.known and not found.doubtful:
        remedy = "name the source as NAME:LOCATION; `harvest plugins` lists them"
        raise UsageError("no source recognises it", where=printable_line(location), remedy=remedy)
    return found


def _chosen(found: Survey, location: str) -> Sequence[Known]:
    """Return all sure sources for a directory, or else the surest; raise UsageError on a tie."""
    each_sure = [known for known in found.known if known.confidence >= SURE]
    if each_sure and found.root.is_dir():
        return sorted(each_sure, key=lambda known: (-known.confidence, known.source))
    every = sorted((*found.known, *found.doubtful), key=lambda known: -known.confidence)
    equal = [known for known in every if known.confidence == every[0].confidence]
    if len(equal) > 1:
        raise UsageError(
            " and ".join(map(_sureness, equal)) + " could read it equally well",
            where=printable_line(location),
            remedy="name the source: "
            + " or ".join(_options(known, found.root, location) for known in equal),
        )
    return every[:1]


def _endpoints(chosen: Sequence[Known], root: Path, location: str) -> Iterator[tuple[str, str]]:
    """Yield the sources with their places, in the spelling of the location."""
    for known in chosen:
        for place in known.locations:
            below = place.relative_to(root)
            yield known.source, str(Path(location) / below) if below.parts else location


def _remarks(found: Survey, chosen: Sequence[Known], location: str) -> Iterator[str]:
    shown = printable_line(location)
    left = [known for known in (*found.known, *found.doubtful) if known not in chosen]
    left.sort(key=lambda known: (-known.confidence, known.source))
    if left or len(chosen) > 1:
        text = f"{shown}: read by {' and '.join(map(_sureness, chosen))}"
        if left:
            options = " ".join(_options(known, found.root, location) for known in left)
            text += f"; not by {' and '.join(map(_sureness, left))}, which {options} adds"
        yield text
    files = sum(group.files for group in found.unknown)
    files -= sum(known.files for known in chosen if known in found.doubtful)
    if files and found.root.is_dir():
        some = (str(group.example.relative_to(found.root)) for group in found.unknown[:3])
        such = ", ".join(map(printable_line, some))
        yield f"{shown}: {count_in_words(files, 'file')} that no source recognises, such as {such}"


def _sureness(known: Known) -> str:
    return f"{known.source} ({known.confidence:.0%} sure)"


def _options(known: Known, root: Path, location: str) -> str:
    """Return the command-line options that name a source at its places, if these are few."""
    places = [f"{name}:{place}" for name, place in _endpoints([known], root, location)]
    if len(places) > OPTIONS_SHOWN:
        return f"-s {known.source}:PLACE for each of its {len(places)} places"
    return " ".join(f"-s {shell_word(place)}" for place in places)
