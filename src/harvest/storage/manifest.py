"""The manifest: what a dataset consists of, and where each part came from.

``_harvest/manifest.json`` is the single truth about a dataset.  It is replaced by one rename;
whoever reads it sees a whole commit or none of it.  It begins with its own checksum, so that damage
is found before anything is done with it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import attrs
import cattrs
import orjson

from harvest import fault
from harvest.api.sink import PartFile
from harvest.api.source import Partition
from harvest.errors import DatasetError
from harvest.toolkit.files import write_atomically

from .files import is_digest, is_inside, is_name, write_durably

__all__ = [
    "FORMAT",
    "HISTORY",
    "KEEP_RUNS",
    "NAME",
    "Manifest",
    "Part",
    "Schema",
    "part_key",
    "part_stem",
    "read_part",
    "read_parts",
    "write_part",
    "write_parts",
]

FORMAT = 2
"""Version of the manifest's own format."""

NAME = "manifest.json"
HISTORY = "history"
"""Directory of manifests by run: of the one in force, and of states that are kept."""

KEEP_RUNS = 1
"""Earlier states of a dataset that are kept unless a number is set."""

_CHECKSUM_AT = len('{\n  "checksum": "')
_BLANK = "0" * 64


@attrs.frozen(kw_only=True)
class Part:
    """One partition as a dataset holds it.

    key: names source, origin and partition; stem: names their state too, and the files.
    fingerprint, plugin, config: of the input, the plugin's version, the settings it was read with.
    files: what the sink wrote; rows: how many of each record type.
    read, filtered, folded, rejected: the account; read = rows + filtered + folded + rejected.
    rejects: file of rejects below the state directory, if any.
    failed: the partition could not be read at all; it is tried again in every run.
    limited: reading was stopped by ``--limit``.
    changed: the input changed while it was read; it is read again in the next run.
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
    frozen: dict[str, Any] = attrs.field(factory=dict)

    @property
    def settled(self) -> bool:
        """Whether it need not be read again as long as its input stays as it is."""
        return not (self.failed or self.changed)

    @property
    def written(self) -> int:
        """Rows of all record types."""
        return sum(self.rows.values())

    @property
    def order(self) -> tuple[str, str, str]:
        """Where the part stands in the dataset."""
        return (self.source, self.origin, self.partition)


@attrs.frozen(kw_only=True)
class Schema:
    """What the rows of a record type have in a dataset.

    version: of the record type, when rows of it were last written.
    columns: type of each column, as :mod:`harvest.model.types` has it, without
        those that end every table.
    """

    version: int
    columns: Mapping[str, Any]


@attrs.frozen(kw_only=True)
class Manifest:
    """All parts of a dataset, by key and in the dataset's order.

    sink, location: what wrote it; token: names the commit that made it; run: the last run.
    runs: all runs that were committed, oldest first.
    kept: those of them whose state can be gone back to, beside the last; keep_runs: how many of
        them the dataset keeps.
    schemas: columns by record type; a dataset of an older harvest has none.
    """

    sink: str
    location: str
    token: str = ""
    run: str = ""
    runs: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    keep_runs: int = KEEP_RUNS
    schemas: Mapping[str, Schema] = attrs.field(factory=dict)
    parts: Mapping[str, Part] = attrs.field(factory=dict)

    def __iter__(self) -> Iterator[Part]:
        return iter(self.parts.values())

    def files(self) -> dict[str, tuple[PartFile, ...]]:
        """The sink's files of each part."""
        return {key: part.files for key, part in self.parts.items()}

    def record_types(self) -> dict[str, int]:
        """Rows of each record type in the dataset."""
        rows: dict[str, int] = {}
        for part in self:
            for name, count in part.rows.items():
                rows[name] = rows.get(name, 0) + count
        return dict(sorted(rows.items()))

    def with_parts(self, parts: Mapping[str, Part], *, run: str) -> Manifest:
        """The manifest of the next commit, in the dataset's order."""
        ordered = dict(sorted(parts.items(), key=lambda item: item[1].order))
        kept = (*self.kept, *([self.run] if self.run else []))
        return attrs.evolve(
            self,
            parts=ordered,
            token=run,
            run=run,
            runs=(*self.runs, run),
            kept=kept[len(kept) - min(len(kept), self.keep_runs) :],
        )

    @classmethod
    def load(cls, state: Path) -> Manifest | None:
        """The manifest in force, or None where nothing was ever committed.

        Raises DatasetError when it is damaged, or is missing although there was one.
        """
        path = state / NAME
        found = cls.read(path)
        if found is None and any(state.glob(f"{HISTORY}/*.json")):
            raise DatasetError(
                "the manifest is missing, though runs were committed here",
                where=str(path),
                remedy="restore it with `harvest verify DATASET --repair`",
            )
        return found

    @classmethod
    def read(cls, path: Path) -> Manifest | None:
        """The manifest in a file, or None where there is none; raises DatasetError as ``load``."""
        try:
            data = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            document = orjson.loads(data)
            if document["format"] != FORMAT:
                raise DatasetError(
                    f"the manifest has format {document['format']!r}; this harvest reads {FORMAT}",
                    where=str(path),
                    remedy="use the version of harvest that wrote it, or harvest into a new place",
                )
            if data[_CHECKSUM_AT : _CHECKSUM_AT + len(_BLANK)] != _seal(data):
                raise _damage(path, "checksum")
            values = {key: document[key] for key in _PLAIN}
            parts = [_converter().structure(p, Part) for p in document["parts"]]
            schemas = _converter().structure(document.get("schemas", {}), dict[str, Schema])
        except (orjson.JSONDecodeError, KeyError, TypeError, cattrs.BaseValidationError) as error:
            raise _damage(path, type(error).__name__) from error
        values |= {key: tuple(values[key]) for key in ("runs", "kept")}
        names = (values["run"], values["token"], *values["runs"], *values["kept"])
        astray = next((name for name in names if name and not is_name(name)), None)
        astray = astray or next((found for part in parts if (found := _astray(part))), None)
        if astray is not None:
            raise DatasetError(
                f"the manifest names {astray!r}, which may lie outside the dataset",
                where=str(path),
                remedy="restore it with `harvest verify DATASET --repair`",
            )
        return cls(**values, schemas=schemas, parts={part.key: part for part in parts})

    def save(self, state: Path) -> None:
        """Put this manifest in force, atomically and durably: the commit."""
        fault.point("manifest.before_rename")
        self.write(state / NAME)
        fault.point("manifest.after_rename")

    def write(self, path: Path) -> None:
        """Write it to a file, atomically and durably."""
        document = {
            "checksum": _BLANK,
            "format": FORMAT,
            **{key: getattr(self, key) for key in _PLAIN},
            "schemas": _converter().unstructure(self.schemas),
            "parts": [],
        }
        data = bytearray(_indent(document).removesuffix(b"]\n}"))
        # one by one: as plain containers, all parts would take several times their bytes
        for number, part in enumerate(self):
            data += b",\n    " if number else b"\n    "
            data += _indent(_converter().unstructure(part)).replace(b"\n", b"\n    ")
        data += b"\n  ]\n}" if self.parts else b"]\n}"
        data[_CHECKSUM_AT : _CHECKSUM_AT + len(_BLANK)] = _seal(data)
        write_atomically(path, data)


_PLAIN = ("sink", "location", "token", "run", "runs", "kept", "keep_runs")


def _indent(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2)


def _seal(data: bytes | bytearray) -> bytes:
    """The checksum of a document: of all its bytes, the checksum's place left blank."""
    whole = memoryview(data)  # which may be long: no copies of it
    digest = hashlib.sha256(whole[:_CHECKSUM_AT])
    digest.update(_BLANK.encode())
    digest.update(whole[_CHECKSUM_AT + len(_BLANK) :])
    return digest.hexdigest().encode()


def _damage(path: Path, what: str) -> DatasetError:
    return DatasetError(
        f"the manifest is damaged ({what})",
        where=str(path),
        remedy="restore it with `harvest verify DATASET --repair`",
    )


def _astray(part: Part) -> str | None:
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


def part_stem(key: str, partition: Partition, *state: str) -> str:
    """The stem of file names for a partition in one state of input, plugin and settings."""
    tail = partition.id.rsplit("/", 1)[-1]
    slug = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "_" for c in tail)[:40]
    return f"{slug.strip('_') or 'part'}-{key}-{_digest(*state)[:12]}"


def _digest(*words: str) -> str:
    text = "\0".join(words).encode("utf-8", "surrogateescape")
    return hashlib.sha256(text).hexdigest()


def read_part(path: Path) -> Part | None:
    """A staged part's description; None where it is absent, was cut short or leads elsewhere."""
    try:
        part = _converter().structure(orjson.loads(path.read_bytes()), Part)
        return part if _astray(part) is None and part.stem == path.parent.name else None
    except (FileNotFoundError, orjson.JSONDecodeError, cattrs.BaseValidationError):
        return None


def read_parts(path: Path) -> tuple[Part, ...] | None:
    """As ``read_part``, of parts that are staged together."""
    try:
        parts = _converter().structure(orjson.loads(path.read_bytes()), tuple[Part, ...])
        return parts if all(_astray(part) is None for part in parts) else None
    except (FileNotFoundError, orjson.JSONDecodeError, cattrs.BaseValidationError):
        return None


def write_part(path: Path, part: Part) -> None:
    """Keep a part's description in a directory that is yet to be put in its place."""
    write_durably(path, orjson.dumps(_converter().unstructure(part)))


def write_parts(path: Path, parts: Sequence[Part]) -> None:
    """As ``write_part``, of parts that are staged together."""
    write_durably(path, orjson.dumps(_converter().unstructure(tuple(parts))))


@cache
def _converter() -> cattrs.Converter:
    return cattrs.Converter()


def plain(value: Any) -> Any:
    """A value of attrs classes as plain containers, for JSON output."""
    return _converter().unstructure(value)
