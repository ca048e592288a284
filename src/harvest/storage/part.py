"""One partition as a dataset holds it, and as it lies described in staging.

A sink is not believed: the rows that it says it holds are counted against those it was given.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import attrs
import cattrs
import orjson

from harvest.api.sink import PartFile, Sink
from harvest.api.source import Partition
from harvest.errors import DatasetError, PluginError
from harvest.toolkit.files import fsync_file
from harvest.toolkit.plain import read_plain

from .files import is_digest, is_inside, is_name

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


@attrs.frozen(kw_only=True)
class Part:
    """One partition as a dataset holds it.

    key: names source, origin and partition; stem: names their state too, and the files.
    fingerprint, plugin, config: of the input, the plugin's version, the settings it was read with.
    files: what the sink wrote; rows: how many of each record type.
    read, filtered, ``folded``, rejected: the account; ``read = rows + filtered + folded +
        rejected``.
    rejects: file of rejects below the state directory, if any.
    failed: the partition could not be read at all; it is tried again in every run.
    limited: reading was stopped by ``--limit``.
    changed: the input changed while it was read; it is read again in the next run.
    facts: what the system says of the input's files, where that alone shows that they are
        unchanged; else empty.
    frozen: while it is staged, the columns that its rows were brought to: record type -> column ->
        type; empty where they have their own.
    """

    key: str
    stem: str
    source: str
    partition: str
    origin: str
    fingerprint: str
    plugin: str
    config: str
    files: tuple[PartFile, ...]
    rows: dict[str, int]
    read: int
    filtered: dict[str, int]
    folded: dict[str, int]
    rejected: int
    rejects: PartFile | None
    notes: tuple[str, ...]
    run: str
    failed: bool = False
    limited: bool = False
    live: bool = False
    changed: bool = False
    facts: str = ""
    frozen: dict[str, Any] = attrs.field(factory=dict)

    @property
    def settled(self) -> bool:
        """Whether it need not be read again as long as its input stays as it is."""
        return not (self.failed or self.changed)

    @property
    def written(self) -> int:
        return sum(self.rows.values())

    @property
    def order(self) -> tuple[str, str, str]:
        return (self.source, self.origin, self.partition)


def astray(part: Part) -> str | None:
    """A name of a part that could lead out of the dataset."""
    for name in (part.key, part.stem, part.run):
        if name and not is_name(name):
            return name
    files = part.files if part.rejects is None else (*part.files, part.rejects)
    for file in files:
        if not is_inside(file.path):
            return file.path
        if not is_digest(file.sha256):
            return file.sha256
    return None


def part_key(source: str, partition: Partition) -> str:
    """Names a partition among all of a dataset; the same input gives the same key."""
    return _digest(source, partition.origin, partition.id)[:16]


def part_stem(key: str, partition: str, *state: str) -> str:
    """The stem of file names for a partition in one state of input, plugin and settings."""
    slug = _NOT_IN_NAMES.sub("_", partition.rpartition("/")[2])[:40]
    return f"{slug.strip('_') or 'part'}-{key}-{_digest(*state)[:12]}"


def key_of(stem: str) -> str | None:
    """The key of the part that has a stem."""
    words = stem.rsplit("-", 2)
    return words[1] if len(words) > 2 else None


def _digest(*words: str) -> str:
    text = "\0".join(words).encode("utf-8", "surrogateescape")
    return hashlib.sha256(text).hexdigest()


def read_part(path: Path) -> Part | None:
    """A staged part's description; None where it is absent, was cut short or leads elsewhere."""
    part: Part | None = _read(path, Part)
    whole = part is not None and astray(part) is None and part.stem == path.parent.name
    return part if whole else None


def read_parts(path: Path) -> tuple[Part, ...]:
    """As ``read_part``, of parts that are staged together; none instead of None."""
    parts: tuple[Part, ...] = _read(path, tuple[Part, ...]) or ()
    return parts if all(astray(part) is None for part in parts) else ()


def _read(path: Path, kind: Any) -> Any:
    try:
        return converter().structure(orjson.loads(read_plain(path)), kind)
    except (FileNotFoundError, orjson.JSONDecodeError, cattrs.BaseValidationError, DatasetError):
        return None


def write_part(path: Path, part: Part | Sequence[Part]) -> None:
    """Describe a part, or those staged together, in a directory that is yet to be put in place."""
    path.write_bytes(orjson.dumps(plain(part)))
    fsync_file(path)


@cache
def converter() -> cattrs.Converter:
    """Turns parts and what they hold into plain containers and back."""
    return cattrs.Converter()


def plain(value: Any) -> Any:
    """A value of attrs classes as plain containers, for JSON output."""
    return converter().unstructure(value)


def require_rows(
    sink: Sink, given: Mapping[str, int], files: Iterable[PartFile], *, does: str, where: str
) -> None:
    """Raise PluginError unless the files of a part hold just the rows that a sink was given."""
    held = Counter[str]()
    for file in files:
        held[file.record_type] += file.rows
    if held == given:  # as nearly always
        return
    together = held.pop("events", 0)  # of several types, of which only the sum is known
    for name in sorted({*given, *held}):
        rows, found = given.get(name, 0), held[name]
        if found > rows or (found < rows and not together):
            raise _refusal(sink, name, rows, found, does=does, where=where)
    rows, found = sum(given.values()), held.total() + together
    if found != rows:
        names = " and ".join(sorted(given))
        raise _refusal(sink, names, rows, found, does=does, where=where)


def _refusal(
    sink: Sink, names: str, rows: int, found: int, *, does: str, where: str
) -> PluginError:
    plugin = f"{type(sink).__module__}.{type(sink).__qualname__}"
    return PluginError(
        f"sink {sink.name!r} ({plugin}) was given {rows} rows of {names} and {does} {found}",
        where=where,
        remedy="report this to the plugin's author; nothing of this run was committed",
    )
