"""Read some partitions again: damaged ones, or those with rejects.

The record of the run that read a partition names its input and settings.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import attrs

from harvest.api.sink import Sink
from harvest.api.source import Partition
from harvest.errors import DatasetError
from harvest.plugins.registry import PluginManager
from harvest.reading.pipes import names_pipe
from harvest.recipes.endpoints import SourceUse
from harvest.recipes.recipe import Endpoint, Recipe
from harvest.storage.part import Part, part_key
from harvest.storage.target import Target
from harvest.toolkit.texts import printable

from .prepare import PreparedRun, prepare_sinks
from .record import read_record, recipe_of
from .result import RunResult
from .runner import carry_out
from .session import Session

_THROUGH_PIPE: Final = "it came through a pipe, which can be read only once; harvest it again"


@attrs.frozen(kw_only=True)
class Again:
    """The outcome of reading partitions again.

    result: of the run that read them; None if nothing could be read or dropped.
    gone: parts whose input no longer exists or is unknown, each with the reason.
    """

    result: RunResult | None
    gone: tuple[tuple[Part, str], ...]


def read_again(
    target: Target,
    parts: Iterable[Part],
    plugins: PluginManager,
    *,
    action: str,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    drop_gone: bool = False,
    check_old: bool = False,
    committed: Callable[[Sink, RunResult], object],
) -> Again:
    """Read parts of a locked dataset again, and commit the result.

    parts: parts of the state in force; settings: override the recorded ones.
    drop_gone: drop parts whose input is gone; otherwise they stay as they are.
    check_old: whether files of the state in force may be damaged.
    committed: called when the dataset has changed.
    """
    wanted = {part.key: part for part in parts}
    inputs = _list_inputs(target, wanted, plugins, settings or {})
    gone = tuple(inputs.gone(wanted.values()))
    lost = {part.key for part, _ in gone}
    only = {k: (p.source, p.origin) for k, p in wanted.items() if k not in lost}
    if not only and not (lost and drop_gone):
        return Again(result=None, gone=gone)
    (sink,) = prepare_sinks(inputs.recipe, plugins)
    prepared = PreparedRun(
        recipe=attrs.evolve(inputs.recipe, limit=None),
        plugins=plugins,
        uses=inputs.uses,
        listed=list(inputs.listed.values()),
        sinks=[sink],
        force=True,
        only=only,
        drop=frozenset(lost if drop_gone else ()),
        action=action,
        check_old=check_old,
        committed=committed,
    )
    return Again(result=carry_out(prepared, [attrs.evolve(target, sink=sink)]), gone=gone)


@attrs.define
class _Inputs:
    """The present listing of the sources of earlier runs.

    recipe: merged from these runs; uses: the sources that can list their input.
    listed: partitions by key.
    reasons: why a source cannot list its input, by name; why a part's input is unknown, by key.
    """

    recipe: Recipe
    uses: list[SourceUse] = attrs.field(factory=list)
    listed: dict[str, tuple[SourceUse, Partition]] = attrs.field(factory=dict)
    reasons: dict[str, str] = attrs.field(factory=dict)

    def gone(self, parts: Iterable[Part]) -> Iterator[tuple[Part, str]]:
        """Yield the parts whose input no longer exists, each with the reason."""
        origins = {(use.source.name, printable(p.origin)) for use, p in self.listed.values()}
        for part in parts:
            if part.key not in self.listed and (part.source, part.origin) not in origins:
                gone = self.reasons.get(part.source, "its input no longer exists")
                yield part, self.reasons.get(part.key, gone)


def _list_inputs(
    target: Target,
    wanted: Mapping[str, Part],
    plugins: PluginManager,
    settings: Mapping[str, Mapping[str, Any]],
) -> _Inputs:
    location = Endpoint(target.sink.name, target.sink.location)
    inputs = _Inputs(recipe=Recipe(sinks=(location,)))
    for run in sorted({part.run for part in wanted.values()}, reverse=True):
        mine = [part for part in wanted.values() if part.run == run]
        try:
            record = read_record(target.sink, target.manifest, run)
        except DatasetError as error:
            inputs.reasons |= dict.fromkeys((part.key for part in mine), str(error))
            continue
        names = {part.source for part in mine}
        through_pipes = [part.key for part in mine if names_pipe(part.origin)]
        inputs.reasons |= dict.fromkeys(through_pipes, _THROUGH_PIPE)
        record["sources"] = [
            source
            for source in record["sources"]
            if source["name"] in names and not names_pipe(source["location"])
        ]
        if not record["sources"]:
            continue
        _require_files(record, plugins)
        recipe = recipe_of(record, location, settings)
        inputs.recipe = recipe.merged(settings=inputs.recipe.settings)
        listing = Session(recipe, plugins).list(go_on=True)
        inputs.reasons |= {source.name: str(error) for source, error in listing.failures}
        inputs.uses += listing.uses
        for use, partition in listing.listed:
            inputs.listed.setdefault(part_key(use.source.name, partition), (use, partition))
    return inputs


def _require_files(record: Mapping[str, Any], plugins: PluginManager) -> None:
    """Raise DatasetError for a source in a Python file that the user has not named in this call.

    Code that only a dataset names is never executed.
    """
    for source in record["sources"]:
        writer = record["source_plugins"].get(source["name"], "").rpartition(" ")[0]
        if source["name"] not in plugins.sources and writer.endswith(".py"):
            file = source.get("plugin", writer)
            raise DatasetError(
                f"run {record['run']} read {source['name']} by the file {file}",
                remedy=f"if you trust it, name it: harvest --plugin {file} ...",
            )
