"""Decide for each listed partition whether to read it, use staged work, or skip it."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from itertools import starmap
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from harvest.api.sink import Sink
from harvest.api.source import Partition
from harvest.recipes.endpoints import Listed, SourceUse
from harvest.storage.columns import KEYS, NAMES, STATE
from harvest.storage.fingerprint import facts, fingerprint, map_waiting
from harvest.storage.manifest import Manifest
from harvest.storage.part import Part, part_stem
from harvest.storage.parts import Parts
from harvest.storage.staging import Staged, staged_parts
from harvest.toolkit.plain import is_content
from harvest.toolkit.texts import printable


class Earlier:
    """What earlier runs left in a dataset: parts that it holds, and staged parts.

    keys: keys of all listed partitions; frozen: the columns to which rows are fitted.
    force: use nothing of it.
    """

    def __init__(
        self, sink: Sink, manifest: Manifest, keys: pa.Array, frozen: Mapping[str, Any], force: bool
    ):
        self._parts = manifest.parts
        held = Parts() if force else manifest.parts
        self._rows = held.rows_of(keys)
        read = ("facts", "fingerprint", "fingerprint_text", "plugin", "config", "failed", "changed")
        self._state = held.table(STATE).select(read)
        self._staged = {
            stem: staged
            for stem, staged in ({} if force else staged_parts(sink.state)).items()
            if staged.part.settled and staged.part.frozen == frozen
        }
        self.staged_keys = {staged.part.key for staged in self._staged.values()}
        self._is_there = lru_cache(maxsize=8)(is_content)  # parts of a bundle name the same file
        # without parts of live sources, which list others in each run
        outside = self._parts.rows_outside(keys)
        live = self._parts.table(STATE).column("live").take(outside)
        self._unlisted = outside.filter(pc.invert(live))

    def held(self, listed: pa.Array, facts: pa.Array, plugin: str, config: str) -> pa.Table:
        """Compare listed partitions (row numbers) with settled parts of this plugin and settings.

        same: whether such a part has these facts; fits: whether there is such a part, and
        fingerprint, fingerprint_text: its fingerprint.
        """
        held = self._state.take(self._rows.take(listed))
        fits = pc.invert(pc.or_(held["failed"], held["changed"]))
        for name, value in (("plugin", plugin), ("config", config)):
            fits = pc.and_(fits, pc.equal(held[name].cast(pa.string()), value))
        same = pc.fill_null(pc.and_(fits, pc.equal(held["facts"], facts)), False)
        prints = held.select(("fingerprint", "fingerprint_text"))
        return prints.add_column(0, "fits", fits).add_column(0, "same", same)

    def staged(self, stem: str) -> Staged | None:
        """Return a staged part that equals what reading would give, if its files are intact."""
        found = self._staged.get(stem)
        if found is None:
            return None
        files = [*found.part.files, *([found.part.rejects] if found.part.rejects else [])]
        known = {(found.directory / file.path, file.sha256, file.size_bytes) for file in files}
        return found if all(starmap(self._is_there, known)) else None

    def unlisted_of(self, places: Iterable[tuple[str, str]]) -> frozenset[str]:
        """Return the keys of unlisted parts of these inputs, given as (source, origin)."""
        if not len(self._unlisted):
            return frozenset()
        wanted = set(places)
        names = pa.array([origin.rpartition("/")[2] for _, origin in wanted], pa.string())
        held = self._parts.table(NAMES).column("name").take(self._unlisted)
        alike = self._unlisted.filter(pc.is_in(held, value_set=names))
        return frozenset(key for key, place in self._places(alike) if place in wanted)

    def unlisted_below(self, places: Sequence[tuple[str, str]]) -> frozenset[str]:
        """Return the keys of unlisted parts below these places, given as (source, location)."""
        return frozenset(
            key
            for key, (source, origin) in self._places(self._unlisted)
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
        source, origin, name = order_of(self.use, partition)
        return Part(
            key=self.key,
            stem=stem,
            source=source,
            partition=name,
            origin=origin,
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
    """Decisions for the partitions of a run, made in batches.

    listed, keys: all that the sources list; earlier: what each dataset has.
    """

    listed: Listed
    keys: pa.Array
    earlier: Sequence[Earlier]
    run: str
    planned: list[Planned] = attrs.field(factory=list)
    unchanged: array[int] = attrs.field(factory=lambda: array("q"))

    def decide(self, use: SourceUse, config: str, rows: Sequence[int]) -> None:
        """Decide for partitions of one source, given by their numbers; config: its settings."""
        some = [self.listed[row][1] for row in rows]
        known = map_waiting(_facts, some)
        at, now = pa.array(rows, pa.int64()), pa.array(known, pa.binary())
        held = [each.held(at, now, use.version, config) for each in self.earlier]
        same = reduce(pc.and_, (each["same"] for each in held)).combine_chunks()
        self.unchanged.extend(at.filter(same).to_pylist())
        left = pc.indices_nonzero(pc.invert(same))
        keys = self.keys.take(at.take(left)).to_pylist()
        states = zip(*(map(_state, each.take(left).to_pylist()) for each in held), strict=True)
        for place, key, state in zip(left.to_pylist(), keys, states, strict=True):
            planned = self._planned(use, some[place], key.hex(), known[place], config, state)
            if len(planned.held_by) == len(self.earlier):
                self.unchanged.append(rows[place])
            else:
                self.planned.append(planned)

    def _planned(
        self,
        use: SourceUse,
        partition: Partition,
        key: str,
        known: bytes | None,
        config: str,
        held: Sequence[tuple[bool, str | None]],
    ) -> Planned:
        """Decide about one partition; known: its facts; held: its ``_state`` in each dataset."""
        now: str | None = None
        staged = [number for number, each in enumerate(self.earlier) if key in each.staged_keys]
        if known is None or staged or any(before is not None for _, before in held):
            # a partition without inputs and fingerprint has a new state in every run
            now = partition.fingerprint
            if now is None:
                now = fingerprint(partition.inputs) if partition.inputs else self.run
        held_by = tuple(
            number
            for number, (same, before) in enumerate(held)
            if same or (before is not None and before == now)
        )
        staged_for: dict[int, Staged] = {}
        if staged and now is not None:
            stem = part_stem(key, partition.id, now, use.version, config)
            found = {n: self.earlier[n].staged(stem) for n in staged if n not in held_by}
            staged_for = {n: each for n, each in found.items() if each is not None}
        others = (n for n in range(len(held)) if n not in held_by and n not in staged_for)
        return Planned(
            use=use, partition=partition, key=key, fingerprint=now, facts=known, config=config,
            run=self.run, read_for=tuple(others), staged_for=staged_for, held_by=held_by,
        )  # fmt: skip


def _state(row: Mapping[str, Any]) -> tuple[bool, str | None]:
    """Return whether a row of ``Earlier.held`` has the facts, or else a fingerprint to compare."""
    before = row["fingerprint_text"] if row["fingerprint"] is None else row["fingerprint"].hex()
    return row["same"], before if row["fits"] and not row["same"] else None


def _facts(partition: Partition) -> bytes | None:
    return None if partition.fingerprint is not None else facts(partition.inputs)
