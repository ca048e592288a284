"""The plan of a run: which partitions to read for which sinks, and which to skip."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs
import cattrs
import orjson
import pyarrow as pa

from harvest import interrupt
from harvest.api.source import Partition
from harvest.errors import SourceError
from harvest.recipes.endpoints import Listed, SourceUse
from harvest.storage.manifest import Manifest
from harvest.storage.part import part_key
from harvest.toolkit.texts import printable

from .deciding import Deciding, Earlier, Planned, order_of

if TYPE_CHECKING:
    from .prepare import PreparedRun

_BATCH: Final = 65_536
"""Number of partitions that are compared with the datasets together."""


@attrs.frozen(kw_only=True)
class Plan:
    """The decisions for a run's partitions, and the parts that each sink loses.

    partitions: partitions that at least one sink needs, in the dataset's order.
    listed: all that the sources list; unchanged: numbers of those that every sink holds unchanged.
    replaced, dropped: by sink, keys of parts that others replace, or whose input is gone.
    frozen: by sink, the columns to which rows of record types are fitted.
    """

    partitions: tuple[Planned, ...]
    listed: Listed
    unchanged: Sequence[int]
    replaced: tuple[frozenset[str], ...]
    dropped: tuple[frozenset[str], ...]
    frozen: tuple[Mapping[str, Any], ...]

    @property
    def to_read(self) -> tuple[Planned, ...]:
        return tuple(p for p in self.partitions if p.read_for)

    @property
    def count(self) -> int:
        return len(self.partitions) + len(self.unchanged)

    def skipped(self) -> Iterator[tuple[SourceUse, Partition]]:
        return (self.listed[row] for row in self.unchanged)

    def gone(self, number: int) -> frozenset[str]:
        return self.replaced[number] | self.dropped[number]

    def staying(self, number: int, manifest: Manifest) -> set[str]:
        """Return the record types that keep rows in a sink's dataset which are not rewritten."""
        gone = self.gone(number) | {p.key for p in self.partitions if p.is_for(number)}
        rows = manifest.parts.changed({}, gone).record_types()
        return {name for name, count in rows.items() if count}


def make_plan(prepared: PreparedRun, manifests: Sequence[Manifest], run: str) -> Plan:
    """Compare the sources' listing with the content of the datasets; run: id of the planned run."""
    listed, recipe = prepared.listed, prepared.recipe
    frozen = tuple(map(prepared.drift.frozen, manifests))
    keys = _keys(listed)
    wanted = _wanted(listed, keys, prepared.only)
    earlier = [
        Earlier(sink, manifest, keys, kept, prepared.force)
        for sink, manifest, kept in zip(prepared.sinks, manifests, frozen, strict=True)
    ]
    deciding = Deciding(listed=listed, keys=keys, earlier=earlier, run=run)
    configs = {id(use): _config_digest(use.settings, recipe.limit) for use in _uses(listed)}
    for use, rows in _batches(listed, wanted):
        interrupt.check()
        deciding.decide(use, configs[id(use)], rows)
    # a source may divide the same inputs into other partitions than before
    some = [(use, p) for use, p in (listed[row] for row in wanted) if p.inputs]
    read_from = {(use.source.name, printable(p.origin)) for use, p in some}
    replaced = [each.unlisted_of(read_from) for each in earlier]
    dropped = [frozenset(manifest.parts.pick(prepared.drop)) for manifest in manifests]
    if recipe.deleted == "drop" and not prepared.partial:
        places = list(_places(listed))
        gone = [each.unlisted_below(places) for each in earlier]
        dropped = [
            mine | (more - others)
            for mine, more, others in zip(dropped, gone, replaced, strict=True)
        ]
    return Plan(
        partitions=tuple(sorted(deciding.planned, key=lambda p: order_of(p.use, p.partition))),
        listed=listed,
        unchanged=deciding.unchanged,
        replaced=tuple(replaced),
        dropped=tuple(dropped),
        frozen=frozen,
    )


def _keys(listed: Listed) -> pa.Array:
    """Return the key of each listed partition; raise SourceError for one listed twice."""
    packed = bytearray()
    for use, partition in listed:
        packed += bytes.fromhex(part_key(use.source.name, partition))
    buffers = [None, pa.py_buffer(bytes(packed))]
    keys = pa.Array.from_buffers(pa.binary(8), len(listed), buffers)
    if len(keys.view(pa.int64()).unique()) < len(keys):
        last = {key: row for row, key in enumerate(keys.to_pylist())}
        row = next(row for row, key in enumerate(keys.to_pylist()) if last[key] != row)
        problem = "the same input is listed twice"
        remedy = "name each location once"
        raise SourceError(problem, where=printable(listed[row][1].origin), remedy=remedy)
    return keys


def _wanted(
    listed: Listed, keys: pa.Array, only: Mapping[str, tuple[str, str]] | None
) -> Sequence[int]:
    """Return the rows of wanted keys, or of all partitions of the origin of one that is gone."""
    if only is None:
        return range(len(listed))
    known = [key.hex() for key in keys.to_pylist()]
    cut_anew = {only[key] for key in only.keys() - set(known)}
    return [
        row
        for row, ((use, partition), key) in enumerate(zip(listed, known, strict=True))
        if key in only or (use.source.name, printable(partition.origin)) in cut_anew
    ]


def _batches(listed: Listed, wanted: Sequence[int]) -> Iterator[tuple[SourceUse, list[int]]]:
    """Yield the numbers of the wanted partitions, in batches of one source."""
    for start in range(0, len(wanted), _BATCH):
        together = groupby(wanted[start : start + _BATCH], key=lambda row: id(listed[row][0]))
        for rows in (list(same) for _, same in together):
            yield listed[rows[0]][0], rows


def _uses(listed: Listed) -> Iterable[SourceUse]:
    return {id(use): use for use, _ in listed}.values()


def _config_digest(settings: Mapping[str, Any], limit: int | None) -> str:
    plain = cattrs.unstructure({"settings": dict(settings), "limit": limit})
    data = orjson.dumps(plain, option=orjson.OPT_SORT_KEYS, default=str)
    return hashlib.sha256(data).hexdigest()[:16]


def _places(listed: Listed) -> Iterator[tuple[str, str]]:
    """Yield each source's name with its location, in the spellings that origins may have."""
    for use in _uses(listed):
        name, location = use.source.name, use.source.location
        yield (name, location)
        path = Path(location).expanduser()
        if path.exists():
            yield (name, printable(str(path.absolute())))
            yield (name, printable(str(path.resolve())))
