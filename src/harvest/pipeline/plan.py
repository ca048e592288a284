"""What a run has to do: which partitions to read, for which sinks, and which it may skip."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import attrs
import cattrs
import orjson

from harvest import interrupt
from harvest.api.sink import Sink
from harvest.api.source import Partition, Source
from harvest.errors import SourceError
from harvest.storage.fingerprint import fingerprint
from harvest.storage.manifest import Manifest, Part, part_key, part_stem
from harvest.storage.staging import Staged, staged_parts
from harvest.toolkit.files import checksum
from harvest.toolkit.texts import printable

__all__ = [
    "Listed",
    "Plan",
    "Planned",
    "SourceUse",
    "list_partitions",
    "make_plan",
]

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

    part: its description, counts still empty.
    read_for, held_by: which sinks (by number) need it read, or have it already.
    staged_for: which hold it staged by an earlier run that was cut short, and where.
    """

    use: SourceUse
    partition: Partition
    part: Part
    read_for: tuple[int, ...]
    staged_for: Mapping[int, Staged]
    held_by: tuple[int, ...]

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
        gone = self.gone(number) | {p.part.key for p in self.partitions if p.is_for(number)}
        return {
            name for part in manifest if part.key not in gone for name, n in part.rows.items() if n
        }


def list_partitions(uses: Iterable[SourceUse]) -> Listed:
    """Ask every source what there is to read; raises SourceError when there is nothing."""
    listed = []
    for use in uses:
        for partition in use.source.plan():
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
    staged = [{} if force else staged_parts(sink.state) for sink in sinks]
    is_there = lru_cache(maxsize=8)(_is_there)  # all parts of a bundle name the same file
    planned: list[Planned] = []
    seen = _origins(listed)
    cut_anew = {place for key, place in (only or {}).items() if key not in seen}
    for (use, partition), key in zip(listed, seen, strict=True):
        place = (use.source.name, seen[key])
        if only is None or key in only or place in cut_anew:
            part = _describe(use, partition, run=run, limit=limit)
            earlier = [each.get(part.stem) for each in staged]
            usable = [
                each if _usable(each, kept, is_there) else None
                for each, kept in zip(earlier, columns, strict=True)
            ]
            planned.append(_decide(use, partition, part, manifests, usable, force=force))
    planned.sort(key=lambda p: p.part.order)
    replaced = [_replaced_keys(manifest, planned, set(seen)) for manifest in manifests]
    dropped = [drop & manifest.parts.keys() for manifest in manifests]
    if drop_deleted:
        places = list(_places(listed))
        dropped = [
            _gone_keys(manifest, places, seen) - others
            for manifest, others in zip(manifests, replaced, strict=True)
        ]
    return Plan(
        partitions=tuple(planned), replaced=tuple(replaced), dropped=tuple(dropped), frozen=columns
    )


def _origins(listed: Listed) -> dict[str, str]:
    """The origin of each listed partition by its key; raises SourceError for one listed twice."""
    origins: dict[str, str] = {}
    for use, partition in listed:
        key = part_key(use.source.name, partition)
        if key in origins:
            raise SourceError(
                "the same input is listed twice",
                where=origins[key],
                remedy="name each location once",
            )
        origins[key] = printable(partition.origin)
    return origins


def _describe(use: SourceUse, partition: Partition, *, run: str, limit: int | None) -> Part:
    key = part_key(use.source.name, partition)
    print_of_input = partition.fingerprint
    live = print_of_input is None and not partition.inputs
    if print_of_input is None:
        # without inputs and without a fingerprint of its own, every run is a new state
        print_of_input = run if live else fingerprint(partition.inputs)
    config = _config_digest(use.settings, limit)
    return Part(
        key=key,
        stem=part_stem(key, partition, print_of_input, use.version, config),
        source=use.source.name,
        partition=printable(partition.id),
        origin=printable(partition.origin),
        fingerprint=print_of_input,
        plugin=use.version,
        config=config,
        files=(),
        rows={},
        read=0,
        filtered={},
        folded={},
        rejected=0,
        rejects=None,
        notes=(),
        run=run,
        live=live,
    )


def _config_digest(settings: Mapping[str, Any], limit: int | None) -> str:
    plain = cattrs.unstructure({"settings": dict(settings), "limit": limit})
    data = orjson.dumps(plain, option=orjson.OPT_SORT_KEYS, default=str)
    return hashlib.sha256(data).hexdigest()[:16]


def _decide(
    use: SourceUse,
    partition: Partition,
    part: Part,
    manifests: Sequence[Manifest],
    usable: Sequence[Staged | None],
    *,
    force: bool,
) -> Planned:
    read_for, staged_for, held_by = [], {}, []
    for number, (manifest, staged) in enumerate(zip(manifests, usable, strict=True)):
        held = manifest.parts.get(part.key)
        if not force and held is not None and held.stem == part.stem and held.settled:
            held_by.append(number)
            continue
        if staged is not None:
            staged_for[number] = staged
        else:
            read_for.append(number)
    return Planned(
        use=use,
        partition=partition,
        part=part,
        read_for=tuple(read_for),
        staged_for=staged_for,
        held_by=tuple(held_by),
    )


def _usable(
    staged: Staged | None, frozen: Mapping[str, Any], is_there: Callable[[Path, int, str], bool]
) -> bool:
    """Whether a staged part is what reading would give, and every file of it as it was written."""
    if staged is None or not staged.part.settled or staged.part.frozen != frozen:
        return False
    part = staged.part
    files = [*part.files, *([part.rejects] if part.rejects else [])]
    return all(
        is_there(staged.directory / path, size, digest)
        for path, size, digest in {(file.path, file.size_bytes, file.sha256) for file in files}
    )


def _is_there(path: Path, size_bytes: int, sha256: str) -> bool:
    return path.is_file() and path.stat().st_size == size_bytes and checksum(path) == sha256


def _replaced_keys(
    manifest: Manifest, planned: Iterable[Planned], keys: set[str]
) -> frozenset[str]:
    """Keys of held parts of the same inputs that the sources now cut into other partitions."""
    now = {(p.part.source, p.part.origin) for p in planned if p.partition.inputs}
    return frozenset(
        part.key
        for part in manifest
        if (part.source, part.origin) in now and part.key not in keys and not part.live
    )


def _places(listed: Listed) -> Iterator[tuple[str, str]]:
    """Each source's name with its location as origins may spell it."""
    for use in {id(use): use for use, _ in listed}.values():
        name, location = use.source.name, use.source.location
        yield (name, location)
        path = Path(location).expanduser()
        if path.exists():
            yield (name, printable(str(path.absolute())))
            yield (name, printable(str(path.resolve())))


def _gone_keys(
    manifest: Manifest, places: Sequence[tuple[str, str]], listed: Container[str]
) -> frozenset[str]:
    """Keys of held parts of these places that are listed there no more."""

    def within(part: Part) -> bool:
        return any(
            part.source == source
            and (part.origin == place or part.origin.startswith(place.rstrip("/") + "/"))
            for source, place in places
        )

    return frozenset(
        part.key for part in manifest if part.key not in listed and not part.live and within(part)
    )
