"""Decide for each listed partition whether to read it, use staged work, or skip it."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from typing import Any, Literal, TypeAlias

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
"""State of a held part: True if its facts are unchanged, else its fingerprint to compare.

None if it is not held, not settled, or was read with other settings.
"""


class Held:
    """The parts that a dataset holds of the listed partitions.

    keys: keys of all listed partitions; force: treat the dataset as empty.
    """

    def __init__(self, manifest: Manifest, keys: pa.Array, force: bool):
        parts = Parts() if force else manifest.parts
        self._rows = parts.rows_of(keys)
        read = ("facts", "fingerprint", "fingerprint_text", "plugin", "config", "failed", "changed")
        self._state = parts.table(STATE).select(read)

    def at(self, listed: pa.Array, facts: pa.Array, plugin: str, config: str) -> pa.Table:
        """Return the fingerprints of the parts of listed partitions (row numbers), and two masks.

        fits: held, settled, and read by this plugin with these settings; same: also with these
        facts.
        """
        state = self._state.take(self._rows.take(listed))
        fits = pc.invert(pc.or_(state["failed"], state["changed"]))
        for name, value in (("plugin", plugin), ("config", config)):
            fits = pc.and_(fits, pc.equal(state[name].cast(pa.string()), value))
        same = pc.and_(fits, pc.equal(state["facts"], facts))
        masks = [pc.fill_null(mask, fill_value=False) for mask in (fits, same)]
        texts = (state["fingerprint"], state["fingerprint_text"])
        return pa.table([*texts, *masks], names=["digest", "text", "fits", "same"])


def _state(digest: bytes | None, text: str | None, fits: bool, same: bool) -> State:
    if same or not fits:
        return same or None
    return text if digest is None else digest.hex()


class Earlier:
    """Parts that an earlier, interrupted run left staged for a sink."""

    def __init__(self, staged: Mapping[str, Staged], frozen: Mapping[str, Any]):
        self._staged = staged
        self._keys = {each.part.key for each in staged.values()}
        self._frozen = frozen
        self._is_there = lru_cache(maxsize=8)(is_content)  # parts of a bundle name the same file

    def has(self, key: str) -> bool:
        """Return whether a part with this key is staged, in any state."""
        return key in self._keys

    def usable(self, stem: str) -> Staged | None:
        """Return a staged part that equals what reading would give, if its files are intact."""
        staged = self._staged.get(stem)
        if staged is None or not staged.part.settled or staged.part.frozen != self._frozen:
            return None
        part = staged.part
        files = [*part.files, *([part.rejects] if part.rejects else [])]
        known = {(file.path, file.sha256, file.size_bytes) for file in files}
        whole = all(self._is_there(staged.directory / path, *rest) for path, *rest in known)
        return staged if whole else None


class Unlisted:
    """Parts that a dataset holds but no source lists any more, without those of live sources."""

    def __init__(self, manifest: Manifest, keys: pa.Array):
        self._parts = manifest.parts
        rows = self._parts.rows_outside(keys)
        live = self._parts.table(STATE).column("live").take(rows)
        self._rows = rows.filter(pc.invert(live))

    def of(self, places: Iterable[tuple[str, str]]) -> frozenset[str]:
        """Return the keys of unlisted parts of these inputs, given as (source, origin)."""
        if not len(self._rows):
            return frozenset()
        wanted = set(places)
        names = pa.array([origin.rpartition("/")[2] for _, origin in wanted], pa.string())
        held = self._parts.table(NAMES).column("name").take(self._rows)
        alike = self._rows.filter(pc.is_in(held, value_set=names))
        return frozenset(key for key, place in self._places(alike) if place in wanted)

    def within(self, places: Sequence[tuple[str, str]]) -> frozenset[str]:
        """Return the keys of unlisted parts below these places, given as (source, location)."""
        return frozenset(
            key
            for key, (source, origin) in self._places(self._rows)
            if any(
                source == name and (origin == place or origin.startswith(place.rstrip("/") + "/"))
                for name, place in places
            )
        )

    def _places(self, rows: pa.Array) -> Iterator[tuple[str, tuple[str, str]]]:
        for row in self._parts.read(rows.to_pylist(), KEYS, NAMES):
            yield row["key"].hex(), (row["source"], row["folder"] + row["name"])


@attrs.frozen(kw_only=True)
class Planned:
    """A partition that at least one sink needs.

    key: key of its part; facts: facts of its input, None if they cannot show a change.
    fingerprint: fingerprint of its input. None if facts show a change and there is nothing to
        compare: reading takes it, so that planning opens no file needlessly.
    config: digest of the settings; run: the planned run.
    read_for, held_by: numbers of the sinks that need it read, or that already hold it.
    staged_for: staged parts of an earlier, interrupted run, by number of the sink.
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
        """Description of its part, with empty counts; no stem while the fingerprint is unknown."""
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
    """Return the sort key of a partition in the dataset."""
    return (use.source.name, printable(partition.origin), printable(partition.id))


@attrs.define(kw_only=True)
class Deciding:
    """Decisions for the partitions of a run, made in batches."""

    held: Sequence[Held]
    staged: Sequence[Earlier]
    run: str
    planned: list[Planned] = attrs.field(factory=list)
    unchanged: array[int] = attrs.field(factory=lambda: array("q"))

    def decide(
        self, use: SourceUse, config: str, at: pa.Array, keys: pa.Array, some: Sequence[Partition]
    ) -> None:
        """Decide for partitions of one source; at: their numbers; keys: keys of their parts."""
        known = map_waiting(_facts, some)
        digests = pa.array(known, pa.binary(16))
        held = [each.at(at, digests, use.version, config) for each in self.held]
        same = reduce(pc.and_, [each["same"] for each in held])
        self.unchanged.extend(at.filter(same).to_pylist())
        left = pc.invert(same)
        lists = ([c.to_pylist() for c in each.filter(left).columns] for each in held)
        states = [map(_state, *columns) for columns in lists]
        places = pc.indices_nonzero(left).to_pylist()
        numbers, those = at.filter(left).to_pylist(), keys.filter(left).to_pylist()
        for place, row, key, *state in zip(places, numbers, those, *states, strict=True):
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
        """Decide what to do with one partition; known: its facts; states: from ``Held.states``."""
        now: str | None = None
        staged = [number for number, each in enumerate(self.staged) if each.has(key)]
        if known is None or staged or any(isinstance(there, str) for there in states):
            # a partition without inputs and fingerprint has a new state in every run
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
