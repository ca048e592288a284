"""What is to be done with each of the partitions that are listed: read it, use it, or leave it."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from functools import reduce

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from harvest.api.source import Partition
from harvest.recipes.endpoints import SourceUse
from harvest.storage.fingerprint import facts, fingerprint, map_waiting
from harvest.storage.part import Part, part_stem
from harvest.storage.staging import Staged
from harvest.toolkit.texts import printable

from .comparing import Earlier, Held, State


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

    @property
    def order(self) -> tuple[str, str, str]:
        """Where it stands in the dataset."""
        return order_of(self.use, self.partition)

    def is_for(self, number: int) -> bool:
        """Whether a sink gets it in this run."""
        return number in (*self.read_for, *self.staged_for)


def order_of(use: SourceUse, partition: Partition) -> tuple[str, str, str]:
    """Where a partition stands in the dataset."""
    return (use.source.name, printable(partition.origin), printable(partition.id))


@attrs.define(kw_only=True)
class Deciding:
    """What is decided for the partitions of a run, some at a time.

    held, staged: of each sink.
    planned: those that some sink needs; unchanged: the numbers of the others.
    """

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
        """What is to be done with a partition; known: its facts; states: by ``Held.states``."""
        now = None
        staged = [number for number, each in enumerate(self.staged) if each.has(key)]
        if known is None or staged or any(isinstance(there, str) for there in states):
            now = _fingerprint(partition, self.run)
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
            use=use,
            partition=partition,
            key=key,
            fingerprint=now,
            facts=known,
            config=config,
            run=self.run,
            read_for=tuple(others),
            staged_for=staged_for,
            held_by=held_by,
        )


def _facts(partition: Partition) -> bytes | None:
    return None if partition.fingerprint is not None else facts(partition.inputs)


def _fingerprint(partition: Partition, run: str) -> str:
    if partition.fingerprint is not None:
        return partition.fingerprint
    # without inputs and without a fingerprint of its own, every run is a new state
    return fingerprint(partition.inputs) if partition.inputs else run
