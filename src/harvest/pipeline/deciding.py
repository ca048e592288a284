"""What to do with each listed partition: read it, use it, or leave it."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from typing import Any, Final, Literal, TypeAlias

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from harvest.api.source import Partition
from harvest.recipes.endpoints import SourceUse
from harvest.storage.columns import KEYS, NAMES, STATE
from harvest.storage.fingerprint import facts, fingerprint, map_waiting
from harvest.storage.manifest import Manifest
from harvest.storage.part import Part, part_stem
from harvest.storage.parts import Parts
from harvest.storage.staging import Staged
from harvest.toolkit.plain import is_content
from harvest.toolkit.texts import printable

State: TypeAlias = "Literal[True] | str | None"
"""Of what a dataset has: True where it is unchanged, or the fingerprint that decides."""


class Held:
    """What a dataset holds of the partitions that are listed.

    keys: of all of these; force: nothing of it counts.
    """

    def __init__(self, manifest: Manifest, keys: pa.Array, force: bool):
        parts = Parts() if force else manifest.parts
        self._rows = parts.rows_of(keys)
        self._state = parts.table(STATE)

    def unchanged(self, listed: pa.Array, facts: pa.Array, plugin: str, config: str) -> pa.Array:
        """Which of some listed partitions, by number, are held as these facts have them."""
        state = self._at(listed, "facts", *_READ)
        same = pc.and_(_fits(state, plugin, config), _equal(state, "facts", facts))
        return pc.fill_null(same, fill_value=False)

    def states(self, listed: pa.Array, same: pa.Array, plugin: str, config: str) -> list[State]:
        """The states of some; None for what is not held, not settled or was read otherwise.

        same: which are unchanged by their facts.
        """
        state = self._at(listed, "fingerprint", "fingerprint_text", *_READ)
        fits = _fits(state, plugin, config).to_pylist()
        texts = state.column("fingerprint_text").to_pylist()
        digests = state.column("fingerprint").to_pylist()
        return [
            True if equal else None if not fit else text if digest is None else digest.hex()
            for equal, fit, text, digest in zip(same.to_pylist(), fits, texts, digests, strict=True)
        ]

    def _at(self, listed: pa.Array, *columns: str) -> pa.Table:
        return self._state.select(columns).take(self._rows.take(listed))


_READ: Final = ("plugin", "config", "failed", "changed")


def _fits(state: pa.Table, plugin: str, config: str) -> pa.Array:
    """Which were read in this way, and are settled; null for what is not held."""
    unsettled = pc.or_(state.column("failed"), state.column("changed"))
    alike = pc.and_(_equal(state, "plugin", plugin), _equal(state, "config", config))
    return pc.and_(alike, pc.invert(unsettled))


def _equal(state: pa.Table, name: str, value: Any) -> pa.Array:
    column = state.column(name)
    plain = column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
    return pc.equal(plain, value)


class Earlier:
    """What an earlier run that was cut short left staged for a sink."""

    def __init__(self, staged: Mapping[str, Staged], frozen: Mapping[str, Any]):
        self._staged = staged
        self._keys = {each.part.key for each in staged.values()}
        self._frozen = frozen
        self._is_there = lru_cache(maxsize=8)(is_content)  # parts of a bundle name the same file

    def has(self, key: str) -> bool:
        """Whether a part of this key is staged, in whatever state."""
        return key in self._keys

    def usable(self, stem: str) -> Staged | None:
        """A staged part that is what reading would give, with every file of it as it was."""
        staged = self._staged.get(stem)
        if staged is None or not staged.part.settled or staged.part.frozen != self._frozen:
            return None
        part = staged.part
        files = [*part.files, *([part.rejects] if part.rejects else [])]
        known = {(file.path, file.sha256, file.size_bytes) for file in files}
        whole = all(self._is_there(staged.directory / path, *rest) for path, *rest in known)
        return staged if whole else None


class Unlisted:
    """Parts that a dataset holds and that are not listed now; without those of live sources."""

    def __init__(self, manifest: Manifest, keys: pa.Array):
        self._parts = manifest.parts
        rows = self._parts.rows_outside(keys)
        live = self._parts.table(STATE).column("live").take(rows)
        self._rows = rows.filter(pc.invert(live))

    def of(self, places: Iterable[tuple[str, str]]) -> frozenset[str]:
        """Keys of those of these inputs, by source and origin."""
        if not len(self._rows):
            return frozenset()
        wanted = set(places)
        names = pa.array([origin.rpartition("/")[2] for _, origin in wanted], pa.string())
        held = self._parts.table(NAMES).column("name").take(self._rows)
        alike = self._rows.filter(pc.is_in(held, value_set=names))
        return frozenset(key for key, place in self._places(alike) if place in wanted)

    def within(self, places: Sequence[tuple[str, str]]) -> frozenset[str]:
        """Keys of those in these places, by source and location."""
        return frozenset(
            key
            for key, (source, origin) in self._places(self._rows)
            if any(
                source == name and (origin == place or origin.startswith(place.rstrip("/") + "/"))
                for name, place in places
            )
        )

    def _places(self, rows: pa.Array) -> Iterator[tuple[str, tuple[str, str]]]:
        """The keys of rows, each with its source and origin."""
        for row in self._parts.read(rows.to_pylist(), KEYS, NAMES):
            yield row["key"].hex(), (row["source"], row["folder"] + row["name"])


@attrs.frozen(kw_only=True)
class Planned:
    """A partition that some sink needs.

    key: of its part; facts: of its input, None where these do not show a change.
    fingerprint: of its input; None where nothing is compared with it, and facts show a change: it
        is taken when the partition is read, so that a plan opens no file that need not be.
    config: digest of the settings; run: the run that is planned.
    read_for, held_by: which sinks (by number) need it read, or have it already.
    staged_for: which hold it staged by an earlier run that was cut short, and where.
    """

    use: SourceUse
    partition: Partition
    key: str
    fingerprint: str | None
    facts: bytes | None
    config: str
    run: str
    read_for: tuple[int, ...]
    staged_for: Mapping[int, Staged]
    held_by: tuple[int, ...]

    @property
    def part(self) -> Part:
        """Its description, counts still empty; without a stem where it has no fingerprint yet."""
        partition = self.partition
        stem = ""
        if self.fingerprint is not None:
            state = (self.fingerprint, self.use.version, self.config)
            stem = part_stem(self.key, partition.id, *state)
        return Part(
            key=self.key,
            stem=stem,
            source=self.use.source.name,
            partition=printable(partition.id),
            origin=printable(partition.origin),
            fingerprint=self.fingerprint or "",
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
            facts=(self.facts or b"").hex(),
        )

    def is_for(self, number: int) -> bool:
        return number in (*self.read_for, *self.staged_for)


def order_of(use: SourceUse, partition: Partition) -> tuple[str, str, str]:
    """The order of a partition in the dataset."""
    return (use.source.name, printable(partition.origin), printable(partition.id))


@attrs.define(kw_only=True)
class Deciding:
    """What is decided for the partitions of a run, some at a time."""

    held: Sequence[Held]
    staged: Sequence[Earlier]
    run: str
    planned: list[Planned] = attrs.field(factory=list)
    unchanged: array[int] = attrs.field(factory=lambda: array("q"))

    def decide(
        self, use: SourceUse, config: str, at: pa.Array, keys: pa.Array, some: Sequence[Partition]
    ) -> None:
        """Decide for some partitions of one source; at: their numbers; keys: of their parts."""
        read = (use.version, config)
        known = map_waiting(_facts, some)
        digests = pa.array(known, pa.binary(16))
        same = [each.unchanged(at, digests, *read) for each in self.held]
        left = pc.invert(reduce(pc.and_, same))
        self.unchanged.extend(at.filter(pc.invert(left)).to_pylist())
        rest, keys = at.filter(left), keys.filter(left)
        states = [
            each.states(rest, equal.filter(left), *read)
            for each, equal in zip(self.held, same, strict=True)
        ]
        places = pc.indices_nonzero(left).to_pylist()
        rows = zip(places, rest.to_pylist(), keys.to_pylist(), *states, strict=True)
        for place, row, key, *state in rows:
            planned = self._planned(use, some[place], key.hex(), known[place], config, state)
            if len(planned.held_by) == len(self.held):
                self.unchanged.append(row)
            else:
                self.planned.append(planned)

    def _planned(
        self,
        use: SourceUse,
        partition: Partition,
        key: str,
        known: bytes | None,
        config: str,
        states: Sequence[State],
    ) -> Planned:
        """What to do with a partition; known: its facts; states: by ``Held.states``."""
        now: str | None = None
        staged = [number for number, each in enumerate(self.staged) if each.has(key)]
        if known is None or staged or any(isinstance(there, str) for there in states):
            # without inputs and without a fingerprint of its own, every run is a new state
            now = partition.fingerprint
            if now is None:
                now = fingerprint(partition.inputs) if partition.inputs else self.run
        held_by = tuple(
            n for n, there in enumerate(states) if there is not None and there in (True, now)
        )
        staged_for: dict[int, Staged] = {}
        if staged and now is not None:
            stem = part_stem(key, partition.id, now, use.version, config)
            found = {n: self.staged[n].usable(stem) for n in staged if n not in held_by}
            staged_for = {n: each for n, each in found.items() if each is not None}
        others = (n for n in range(len(states)) if n not in held_by and n not in staged_for)
        return Planned(
            use=use, partition=partition, key=key, fingerprint=now, facts=known, config=config,
            run=self.run, read_for=tuple(others), staged_for=staged_for, held_by=held_by,
        )  # fmt: skip


def _facts(partition: Partition) -> bytes | None:
    return None if partition.fingerprint is not None else facts(partition.inputs)
