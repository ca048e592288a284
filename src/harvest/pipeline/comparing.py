"""What datasets hold, compared with what sources list: by columns, not part by part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from harvest.storage.columns import KEYS, NAMES, STATE
from harvest.storage.manifest import Manifest
from harvest.storage.parts import Parts
from harvest.storage.staging import Staged
from harvest.toolkit.plain import is_content

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
        """Which of some listed partitions, by number, are held as these facts have them.

        plugin, config: how they are read now.
        """
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
    """What an earlier run that was cut short left staged for a sink.

    frozen: the columns that record types are brought to now.
    """

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
