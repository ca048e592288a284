"""A part: one partition as a dataset holds it and as staging describes it.

Sinks are not trusted: the rows that a sink reports are compared with the rows it was given.
"""

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

    key: identifies source, origin and partition.
    stem: identifies the state of input, plugin and settings, too; file names begin with it.
    fingerprint, plugin, config: state of the input, version of the plugin, digest of the settings.
    files: files that the sink wrote; rows: number of rows of each record type.
    read, filtered, ``folded``, rejected: counts; ``read = rows + filtered + folded + rejected``.
    rejects: file of rejects below the state directory, if any.
    failed: the partition could not be read at all; every run tries again.
    limited: ``--limit`` stopped the reading.
    changed: the input changed during reading; the next run reads it again.
    facts: digest of the input's metadata if that is enough to detect changes; else empty.
    frozen: in staging only: the column types that the rows were cast to, by record type and column;
        empty if they keep their own.
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
        """Whether the part need not be read again while its input is unchanged."""
        return not (self.failed or self.changed)

    @property
    def written(self) -> int:
        return sum(self.rows.values())

    @property
    def order(self) -> tuple[str, str, str]:
        return (self.source, self.origin, self.partition)


def astray(part: Part) -> str | None:
    """Return a name in a part that could point outside the dataset, or None."""
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
    """Return the key that identifies a partition in a dataset; equal input gives an equal key."""
    return _digest(source, partition.origin, partition.id)[:16]


def part_stem(key: str, partition: str, *state: str) -> str:
    """Return the stem of file names for a partition in one state of input, plugin and settings."""
    slug = _NOT_IN_NAMES.sub("_", partition.rpartition("/")[2])[:40]
    return f"{slug.strip('_') or 'part'}-{key}-{_digest(*state)[:12]}"


def key_of(stem: str) -> str | None:
    """Extract the part's key from a stem; None if the text is not a stem."""
    words = stem.rsplit("-", 2)
    return words[1] if len(words) > 2 else None


def _digest(*words: str) -> str:
    text = "\0".join(words).encode("utf-8", "surrogateescape")
    return hashlib.sha256(text).hexdigest()


def read_parts(path: Path) -> tuple[Part, ...]:
    """Read the description of staged parts; return () if missing, truncated or astray."""
    try:
        parts = converter().structure(orjson.loads(read_plain(path)), tuple[Part, ...])
    except (FileNotFoundError, orjson.JSONDecodeError, TypeError, cattrs.BaseValidationError):
        return ()
    except DatasetError:  # no plain file
        return ()
    return parts if all(astray(part) is None for part in parts) else ()


def write_parts(path: Path, parts: Sequence[Part]) -> None:
    """Describe staged parts in a directory that is not yet in place."""
    path.write_bytes(orjson.dumps(plain(parts)))
    fsync_file(path)


@cache
def converter() -> cattrs.Converter:
    """Return the converter between parts and plain containers."""
    return cattrs.Converter()


def plain(value: Any) -> Any:
    """Convert a value of attrs classes to plain containers, for JSON output."""
    return converter().unstructure(value)


def require_rows(
    sink: Sink, given: Mapping[str, int], files: Iterable[PartFile], *, does: str, where: str
) -> None:
    """Raise PluginError unless a part's files hold exactly the rows that the sink was given."""
    held = Counter[str]()
    for file in files:
        held[file.record_type] += file.rows
    if held == given:  # the usual case
        return
    together = held.pop("events", 0)  # rows of several types: only their sum is known
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
