"""What datasets hold, compared with what sources list: by columns, not part by part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from harvest.storage.columns import KEYS, NAMES, STATE, key_bytes
from harvest.storage.manifest import Manifest
from harvest.storage.parts import Parts
from harvest.storage.staging import Staged
from harvest.toolkit.files import checksum

__all__ = ["Earlier", "Held", "Unlisted"]


def _as_keys(keys: Sequence[str]) -> pa.Array:
    return pa.array([key_bytes(key) for key in keys], pa.binary(8))


class Held:
    """What a dataset holds, to be compared with what is listed.

    force: nothing of it counts.
    """

    def __init__(self, manifest: Manifest, force: bool):
        self._parts = Parts() if force else manifest.parts

    def compared(
        self, keys: Sequence[str], facts: Sequence[bytes | None], read: Sequence[tuple[str, str]]
    ) -> tuple[list[bool], list[str | None]]:
        """For partitions: which are unchanged by these facts; and the fingerprints of the others.

        read: plugin and settings.  The fingerprint is None where the part is not held, was read in
        another way or is not settled.
        """
        rows = self._parts.rows_of(_as_keys(keys))
        state = self._parts.table(STATE).take(rows)
        before, digest = state.column("facts"), state.column("fingerprint")
        same = pc.equal(before, pa.array(facts, pa.binary(16))).to_pylist()
        plugins, configs = _plain(state, "plugin"), _plain(state, "config")
        unsettled = pc.or_(state.column("failed"), state.column("changed")).to_pylist()
        texts = state.column("fingerprint_text").to_pylist()
        usable = [
            unfit is False and how == (plugin, config)
            for unfit, how, plugin, config in zip(unsettled, read, plugins, configs, strict=True)
        ]
        unchanged = [fits and bool(equal) for fits, equal in zip(usable, same, strict=True)]
        prints = [
            None if not fits else text if raw is None else raw.hex()
            for fits, text, raw in zip(usable, texts, digest.to_pylist(), strict=True)
        ]
        return unchanged, prints


def _plain(table: pa.Table, name: str) -> list[str | None]:
    """The values of a dictionary-encoded column."""
    found: list[str | None] = []
    for chunk in table.column(name).chunks:
        words = [*chunk.dictionary.to_pylist(), None]
        found += [words[code] for code in chunk.indices.fill_null(len(words) - 1).to_pylist()]
    return found


class Earlier:
    """What an earlier run that was cut short left staged for a sink.

    frozen: the columns that record types are brought to now.
    """

    def __init__(self, staged: Mapping[str, Staged], frozen: Mapping[str, Any]):
        self._staged = staged
        self._frozen = frozen
        self._is_there = lru_cache(maxsize=8)(_is_there)  # parts of a bundle name the same file

    def usable(self, stem: str) -> Staged | None:
        """A staged part that is what reading would give, with every file of it as it was."""
        staged = self._staged.get(stem)
        if staged is None or not staged.part.settled or staged.part.frozen != self._frozen:
            return None
        part = staged.part
        files = [*part.files, *([part.rejects] if part.rejects else [])]
        known = {(file.path, file.size_bytes, file.sha256) for file in files}
        whole = all(self._is_there(staged.directory / path, *rest) for path, *rest in known)
        return staged if whole else None


def _is_there(path: Path, size_bytes: int, sha256: str) -> bool:
    return path.is_file() and path.stat().st_size == size_bytes and checksum(path) == sha256


class Unlisted:
    """Parts that a dataset holds and that are not listed now; without those of live sources."""

    def __init__(self, manifest: Manifest, keys: Sequence[str]):
        self._parts = manifest.parts
        rows = self._parts.rows_outside(_as_keys(keys))
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
        held = self._parts.table(KEYS).column("key").take(rows).to_pylist()
        for key, place in zip(held, self._parts.origins_at(rows), strict=True):
            yield key.hex(), place
