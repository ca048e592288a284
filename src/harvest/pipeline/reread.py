"""Reading some partitions again: those that are damaged, or those with rejects.

What a partition was read from, and with which settings, is in the record of the run that read
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs
import orjson

from harvest.api.sink import Sink
from harvest.errors import DatasetError, SourceError
from harvest.plugins.registry import PluginManager
from harvest.storage.commit import RUNS
from harvest.storage.manifest import Part, part_key
from harvest.toolkit.texts import printable

from .plan import Listed, SourceUse
from .prepare import PreparedRun, prepare_sinks, prepare_sources
from .recipe import Endpoint, Recipe
from .record import recipe_of
from .runner import RunResult, carry_out

__all__ = ["Again", "read_again", "read_record"]


@attrs.frozen(kw_only=True)
class Again:
    """What became of partitions that were to be read again.

    result: of the run that did it; None where nothing could be read or dropped.
    gone: those whose input no longer exists, each with the reason.
    """

    result: RunResult | None
    gone: tuple[tuple[Part, str], ...]


def read_again(
    sink: Sink,
    parts: Iterable[Part],
    plugins: PluginManager,
    *,
    action: str,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    drop_gone: bool = False,
    keep_state: bool = True,
    wait_s: float = 0,
) -> Again:
    """Read parts of a dataset again and commit what they give.

    settings: on top of those that the parts were read with.
    drop_gone: parts whose input is gone leave the dataset; otherwise they stay as they are.
    Raises DatasetError when the record of a run is missing or lacks a secret, and as ``execute``.
    """
    wanted = {part.key: part for part in parts}
    uses: list[SourceUse] = []
    listed: dict[str, tuple[SourceUse, Any]] = {}
    reasons: dict[str, str] = {}
    merged = Recipe()
    for run in sorted({part.run for part in wanted.values()}, reverse=True):
        record = read_record(sink, run)
        mine = [part for part in wanted.values() if part.run == run]
        names = {part.source for part in mine}
        record["sources"] = [s for s in record["sources"] if s["name"] in names]
        recipe = recipe_of(record, Endpoint(sink.name, sink.location), settings or {})
        merged = recipe.merged(settings=merged.settings)
        for use in prepare_sources(recipe, plugins):
            try:
                found = [(use, partition) for partition in use.source.plan()]
            except SourceError as error:
                reasons[use.source.name] = str(error)
                continue
            uses.append(use)
            for item in found:
                listed.setdefault(part_key(use.source.name, item[1]), item)
    origins = {(use.source.name, printable(p.origin)) for use, p in listed.values()}
    gone = tuple(
        (part, reasons.get(part.source, "its input no longer exists"))
        for part in wanted.values()
        if part.key not in listed and (part.source, part.origin) not in origins
    )
    lost = {part.key for part, _ in gone}
    only = {k: (p.source, p.origin) for k, p in wanted.items() if k not in lost}
    if not only and not (lost and drop_gone):
        return Again(result=None, gone=gone)
    remaining: Listed = list(listed.values())
    (made,) = prepare_sinks(merged, plugins)
    result = carry_out(
        PreparedRun(
            recipe=attrs.evolve(merged, limit=None),
            plugins=plugins,
            uses=uses,
            listed=remaining,
            sinks=[made],
            force=True,
            only=only,
            drop=frozenset(lost if drop_gone else ()),
            wait_s=wait_s,
            action=action,
            keep_state=keep_state,
        )
    )
    return Again(result=result, gone=gone)


def read_record(sink: Sink, run: str) -> dict[str, Any]:
    """The record of a run; raises DatasetError when it is missing or damaged."""
    path = sink.state / RUNS / f"{run}.json"
    try:
        record: dict[str, Any] = orjson.loads(path.read_bytes())
    except (FileNotFoundError, orjson.JSONDecodeError) as error:
        raise DatasetError(
            f"the record of a run is {'damaged' if path.exists() else 'missing'}",
            where=str(path),
            remedy="what it read must be named again: harvest run --force -s NAME:LOCATION ...",
        ) from error
    return record
