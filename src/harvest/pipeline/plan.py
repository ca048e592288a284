"""What a run has to do: which partitions to read, for which sinks, and which it may skip."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import attrs
import cattrs
import orjson

from harvest import interrupt
from harvest.api.sink import Sink
from harvest.api.source import Partition, Source
from harvest.errors import SourceError
from harvest.storage.fingerprint import facts, fingerprint
from harvest.storage.manifest import Manifest
from harvest.storage.part import Part, part_key, part_stem
from harvest.storage.staging import Staged, staged_parts
from harvest.toolkit.texts import printable

from .comparing import Earlier, Held, Unlisted
from .selection import Selection, partitions_of

__all__ = [
    "Listed",
    "Plan",
    "Planned",
    "SourceUse",
    "list_partitions",
    "make_plan",
]

_BATCH: Final = 65_536
"""Partitions that are compared with the datasets at once."""

Listed: TypeAlias = "list[tuple[SourceUse, Partition]]"
"""Partitions with the source that reads them."""


@attrs.frozen(kw_only=True)
class SourceUse:
    """A source of a run.

    settings: the values it was configured with; version: of the plugin's distribution.
    plugin: the distribution or the file that the user named for it; None where none was.
    """

    source: Source
    settings: Mapping[str, Any]
    version: str
    plugin: str | None = None


@attrs.frozen(kw_only=True)
class Planned:
    """A partition of the plan.

    key: of its part; fingerprint, facts: of its input, empty where no sink needs it.
    config: digest of the settings; run: the run that is planned.
    read_for, held_by: which sinks (by number) need it read, or have it already.
    staged_for: which hold it staged by an earlier run that was cut short, and where.
    """

    use: SourceUse
    partition: Partition
    key: str
    fingerprint: str
    facts: str
    config: str
    run: str
    read_for: tuple[int, ...]
    staged_for: Mapping[int, Staged]
    held_by: tuple[int, ...]

    @property
    def part(self) -> Part:
        """Its description, counts still empty; of one that some sink needs."""
        partition, source = self.partition, self.use.source.name
        return Part(
            key=self.key,
            stem=self.stem,
            source=source,
            partition=printable(partition.id),
            origin=printable(partition.origin),
            fingerprint=self.fingerprint,
            plugin=self.use.version,
            config=self.config,
            files=(),
            rows={},
            read=0,
            filtered={},
            folded={},
            rejected=0,
            rejects=None,
            notes=(),
            run=self.run,
            live=partition.fingerprint is None and not partition.inputs,
            facts=self.facts,
        )

    @property
    def stem(self) -> str:
        """The stem of its part."""
        state = (self.fingerprint, self.use.version, self.config)
        return part_stem(self.key, self.partition, *state)

    @property
    def order(self) -> tuple[str, str, str]:
        """Where it stands in the dataset."""
        partition = self.partition
        return (self.use.source.name, printable(partition.origin), printable(partition.id))

    def is_for(self, number: int) -> bool:
        """Whether a sink gets it in this run."""
        return number in (*self.read_for, *self.staged_for)


@attrs.frozen(kw_only=True)
class Plan:
    """All partitions of a run, and for each sink the parts that it loses.

    replaced: keys of parts whose place others take; dropped: keys of parts whose input is gone, if
        these are to be dropped; frozen: the columns that record types are brought to.
    """

    partitions: tuple[Planned, ...]
    replaced: tuple[frozenset[str], ...]
    dropped: tuple[frozenset[str], ...]
    frozen: tuple[Mapping[str, Any], ...]

    @property
    def to_read(self) -> tuple[Planned, ...]:
        """Partitions that some sink needs read."""
        return tuple(p for p in self.partitions if p.read_for)

    def gone(self, number: int) -> frozenset[str]:
        """Keys of the parts that leave a sink's dataset."""
        return self.replaced[number] | self.dropped[number]

    def staying(self, number: int, manifest: Manifest) -> set[str]:
        """Record types of which a sink's dataset keeps rows that are not written anew."""
        gone = self.gone(number) | {p.key for p in self.partitions if p.is_for(number)}
        rows = manifest.parts.changed({}, gone).record_types()
        return {name for name, count in rows.items() if count}


def list_partitions(uses: Iterable[SourceUse], selection: Selection | None = None) -> Listed:
    """Ask every source what there is to read, or of it what is selected.

    Raises SourceError when there is nothing to read.
    """
    listed = []
    for use in uses:
        for partition in partitions_of(use.source, selection):
            interrupt.check()
            listed.append((use, partition))
    return listed


def make_plan(
    listed: Listed,
    sinks: Sequence[Sink],
    manifests: Sequence[Manifest],
    *,
    run: str,
    force: bool = False,
    limit: int | None = None,
    drop_deleted: bool = False,
    only: Mapping[str, tuple[str, str]] | None = None,
    drop: frozenset[str] = frozenset(),
    frozen: Sequence[Mapping[str, Any]] = (),
) -> Plan:
    """Compare what the sources list with what the datasets hold.

    drop_deleted: parts of these locations that are not listed any more leave the dataset.
    only: keys of the partitions that are wanted, each with its source and origin; None for all.
        Where a key is not listed any more, all partitions of its origin are wanted.
    drop: keys of parts that leave the datasets in any case.
    frozen: for each sink, the columns that record types are brought to; none where not given.
    Raises SourceError when a partition is listed twice.
    """
    columns = tuple(frozen) or ({},) * len(sinks)
    keys = _keys(listed)
    wanted = _wanted(listed, keys, only)
    held = [Held(manifest, force) for manifest in manifests]
    staged = [
        Earlier({} if force else staged_parts(sink.state), kept)
        for sink, kept in zip(sinks, columns, strict=True)
    ]
    planned: list[Planned] = []
    uses = {id(use): use for use, _ in listed}
    configs = {at: _config_digest(use.settings, limit) for at, use in uses.items()}
    for start in range(0, len(wanted), _BATCH):
        interrupt.check()
        rows = wanted[start : start + _BATCH]
        some = [(*listed[row], keys[row], configs[id(listed[row][0])]) for row in rows]
        planned += _decide_all(some, held, staged, run)
    planned.sort(key=lambda p: p.order)
    unlisted = [Unlisted(manifest, keys) for manifest in manifests]
    replaced = [each.of(_read_from(listed, wanted)) for each in unlisted]
    dropped = [frozenset(manifest.parts.pick(drop)) for manifest in manifests]
    if drop_deleted:
        places = list(_places(listed))
        dropped = [
            each.within(places) - others for each, others in zip(unlisted, replaced, strict=True)
        ]
    return Plan(
        partitions=tuple(planned), replaced=tuple(replaced), dropped=tuple(dropped), frozen=columns
    )


def _keys(listed: Listed) -> list[str]:
    """The key of each listed partition; raises SourceError for one listed twice."""
    keys = [part_key(use.source.name, partition) for use, partition in listed]
    seen: set[str] = set()
    if len(set(keys)) < len(keys):
        for (_, partition), key in zip(listed, keys, strict=True):
            if key in seen:
                raise SourceError(
                    "the same input is listed twice",
                    where=printable(partition.origin),
                    remedy="name each location once",
                )
            seen.add(key)
    return keys


def _wanted(
    listed: Listed, keys: Sequence[str], only: Mapping[str, tuple[str, str]] | None
) -> Sequence[int]:
    """Which of the listed partitions the run is about."""
    if only is None:
        return range(len(listed))
    known = set(keys)
    cut_anew = {place for key, place in only.items() if key not in known}
    return [
        row
        for row, ((use, partition), key) in enumerate(zip(listed, keys, strict=True))
        if key in only or (use.source.name, printable(partition.origin)) in cut_anew
    ]


def _config_digest(settings: Mapping[str, Any], limit: int | None) -> str:
    plain = cattrs.unstructure({"settings": dict(settings), "limit": limit})
    data = orjson.dumps(plain, option=orjson.OPT_SORT_KEYS, default=str)
    return hashlib.sha256(data).hexdigest()[:16]


def _decide_all(
    some: Sequence[tuple[SourceUse, Partition, str, str]],
    held: Sequence[Held],
    staged: Sequence[Earlier],
    run: str,
) -> Iterator[Planned]:
    """What is to be done with partitions, each with its source, key and digest of settings."""
    known = [None if p.fingerprint is not None else facts(p.inputs) for _, p, _, _ in some]
    keys = [key for _, _, key, _ in some]
    read = [(use.version, config) for use, _, _, config in some]
    answers = [each.compared(keys, known, read) for each in held]
    for at, (use, partition, key, config) in enumerate(some):
        unchanged = all(same[at] for same, _ in answers)
        now = "" if unchanged else _fingerprint(partition, run)
        holders = [
            number
            for number, (same, prints) in enumerate(answers)
            if same[at] or (not unchanged and prints[at] == now)
        ]
        others = [number for number in range(len(held)) if number not in holders]
        usable: dict[int, Staged] = {}
        for number in others:
            stem = part_stem(key, partition, now, use.version, config)
            if (found := staged[number].usable(stem)) is not None:
                usable[number] = found
        yield Planned(
            use=use,
            partition=partition,
            key=key,
            fingerprint=now,
            facts="" if unchanged else (known[at] or b"").hex(),
            config=config,
            run=run,
            read_for=tuple(number for number in others if number not in usable),
            staged_for=usable,
            held_by=tuple(holders),
        )


def _fingerprint(partition: Partition, run: str) -> str:
    if partition.fingerprint is not None:
        return partition.fingerprint
    # without inputs and without a fingerprint of its own, every run is a new state
    return fingerprint(partition.inputs) if partition.inputs else run


def _read_from(listed: Listed, wanted: Sequence[int]) -> Iterator[tuple[str, str]]:
    """Source and origin of partitions with inputs: a source may cut these anew."""
    for use, partition in (listed[row] for row in wanted):
        if partition.inputs:
            yield use.source.name, printable(partition.origin)


def _places(listed: Listed) -> Iterator[tuple[str, str]]:
    """Each source's name with its location as origins may spell it."""
    for use in {id(use): use for use, _ in listed}.values():
        name, location = use.source.name, use.source.location
        yield (name, location)
        path = Path(location).expanduser()
        if path.exists():
            yield (name, printable(str(path.absolute())))
            yield (name, printable(str(path.resolve())))
