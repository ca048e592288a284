"""The manifest: the list of a dataset's parts, and the input of each part.

``_harvest/manifest.json`` is the single source of truth about a dataset. One rename replaces it, so
a reader sees a whole commit or nothing of it. It lists the segments that hold the parts
(``segment``), with their checksums. It begins with its own checksum, so damage is found before the
content is used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import attrs
import cattrs
import orjson

from harvest import fault
from harvest.errors import DatasetError
from harvest.toolkit.files import write_atomically
from harvest.toolkit.plain import read_plain

from .files import is_name
from .part import Part, converter
from .parts import Parts
from .segment import RESTORE, SEGMENTS, Entry, Segment, damage, outside
from .stored_files import StoredFiles

FORMAT: Final = 3
"""Version of the manifest's format."""

NAME = "manifest.json"
HISTORY = "history"
"""Directory of manifests by run: the one in force, and those of kept states."""

KEEP_RUNS = 1
"""Default number of earlier states that a dataset keeps."""

GIVEN_UP: Final = ""
"""Marks, instead of a checksum, a lost run record that `verify` no longer reports."""

_CHECKSUM_AT = len('{\n  "checksum": "')
_BLANK = "0" * 64


@attrs.frozen(kw_only=True)
class Schema:
    """The columns of a record type in a dataset.

    version: version of the record type when its rows were last written.
    columns: type of each column, in the notation of :mod:`harvest.model.types`, without the columns
        that end every table.
    """

    version: int
    columns: Mapping[str, Any]


def _in_columns(parts: Mapping[str, Part]) -> Parts:
    return parts if isinstance(parts, Parts) else Parts().changed(parts)


@attrs.frozen(kw_only=True)
class Manifest:
    """All parts of a dataset, by key and in the dataset's order.

    sink, location: the sink that wrote the dataset, and where.
    token: id of the commit that wrote the manifest; run: the last run.
    runs: all committed runs, oldest first.
    records: SHA-256 of each run's record, or GIVEN_UP.
    kept: runs whose state can be restored, without the last; keep_runs: how many to keep.
    schemas: columns by record type.
    """

    sink: str
    location: str
    token: str = ""
    run: str = ""
    runs: tuple[str, ...] = ()
    records: Mapping[str, str] = attrs.field(factory=dict)
    kept: tuple[str, ...] = ()
    keep_runs: int = KEEP_RUNS
    schemas: Mapping[str, Schema] = attrs.field(factory=dict)
    parts: Parts = attrs.field(factory=Parts, converter=_in_columns)

    def __iter__(self) -> Iterator[Part]:
        return iter(self.parts.values())

    @property
    def files(self) -> StoredFiles:
        return StoredFiles(self.parts)

    def record_types(self) -> dict[str, int]:
        return self.parts.record_types()

    def after(self, run: str, parts: Mapping[str, Part], gone: Iterable[str]) -> Manifest:
        """Return the manifest of the next commit: add or replace parts, and remove others."""
        kept = (*self.kept, *([self.run] if self.run else []))
        return attrs.evolve(
            self,
            parts=self.parts.changed(parts, gone),
            token=run,
            run=run,
            runs=(*self.runs, run),
            kept=kept[len(kept) - min(len(kept), self.keep_runs) :],
        )

    def check(self) -> Manifest:
        """Read all segments and return this manifest; raise DatasetError if one is damaged."""
        for segment in self.parts.segments:
            segment.check()
        return self

    @classmethod
    def load(cls, state: Path) -> Manifest | None:
        """Read the manifest in force; return None if nothing was ever committed."""
        path = state / NAME
        found = cls.read(path)
        if found is None and any(state.glob(f"{HISTORY}/*.json")):
            problem = "the manifest is missing, though runs were committed here"
            raise DatasetError(problem, where=str(path), remedy=RESTORE)
        return found

    @classmethod
    def read(cls, path: Path) -> Manifest | None:
        """Read a manifest file; return None if it is missing, raise DatasetError if damaged."""
        directory = _state_of(path) / SEGMENTS
        before = b""
        while True:
            try:
                data = read_plain(path)
            except (FileNotFoundError, NotADirectoryError):
                return None
            try:
                return cls._from_bytes(path, data, directory)
            except FileNotFoundError as error:
                # a commit may happen between reading the list and opening its segments: retry
                if data == before:
                    raise damage(path, f"{error.filename} is missing") from error
                before = data

    @classmethod
    def _from_bytes(cls, path: Path, data: bytes, directory: Path) -> Manifest:
        try:
            document = orjson.loads(data)
            if document["format"] != FORMAT:
                raise DatasetError(
                    f"the manifest has format {document['format']!r}; this harvest reads {FORMAT}",
                    where=str(path),
                    remedy="use the version of harvest that wrote it, or harvest into a new place",
                )
            if not _is_sealed(data):
                raise damage(path, "checksum")
            values = {key: document[key] for key in _PLAIN}
            values["records"] = converter().structure(document["records"], dict[str, str])
            schemas = converter().structure(document["schemas"], dict[str, Schema])
            entries = converter().structure(document["segments"], list[Entry])
        except (orjson.JSONDecodeError, KeyError, TypeError, cattrs.BaseValidationError) as error:
            raise damage(path, type(error).__name__) from error
        values |= {key: tuple(values[key]) for key in ("runs", "kept")}
        names = (values["run"], values["token"], *values["runs"], *values["kept"])
        names += tuple(entry.file for entry in entries)
        astray = next((name for name in names if name and not is_name(name)), None)
        if astray is not None:
            raise outside(path, astray)
        opened = [Segment.open(directory, entry) for entry in entries]
        return cls(**values, schemas=schemas, parts=Parts(opened))

    def save(self, state: Path) -> Manifest:
        """Put this manifest in force, atomically and durably; return the stored one."""
        fault.point("manifest.before_rename")
        stored = self.write(state / NAME)
        fault.point("manifest.after_rename")
        return stored

    def stored(self, state: Path) -> Manifest:
        """Return the same manifest, with all of its parts written to segment files."""
        return attrs.evolve(self, parts=self.parts.stored(state / SEGMENTS))

    def write(self, path: Path) -> Manifest:
        """Write the manifest to a file of its state directory, atomically and durably."""
        stored = self.stored(_state_of(path))
        document = {
            "checksum": _BLANK,
            "format": FORMAT,
            **{key: getattr(self, key) for key in _PLAIN},
            "records": dict(self.records),
            "parts": len(self.parts),
            "schemas": converter().unstructure(self.schemas),
            "segments": [converter().unstructure(s.entry) for s in stored.parts.segments],
        }
        data = bytearray(orjson.dumps(document, option=orjson.OPT_INDENT_2))
        data[_CHECKSUM_AT : _CHECKSUM_AT + len(_BLANK)] = _seal(data)
        write_atomically(path, data)
        return stored


_PLAIN = ("sink", "location", "token", "run", "runs", "kept", "keep_runs")


def _state_of(path: Path) -> Path:
    """Return the state directory of a manifest or of its copy in the history."""
    return path.parent.parent if path.parent.name == HISTORY else path.parent


def segments_of(path: Path) -> set[str] | None:
    """Return the segment files that a manifest lists; None if the manifest cannot be read."""
    try:
        names = {entry["file"] for entry in _document(path).get("segments", ())}
        return names if all(map(is_name, names)) else None
    except FileNotFoundError:
        return set()
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError, DatasetError):
        return None


def is_in_force(manifest: Manifest, state: Path) -> bool:
    """Whether the state in force is that of a manifest; what it consists of is not opened."""
    try:
        return bool(_document(state / NAME)["token"] == manifest.token)
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError, DatasetError):
        return False


def _document(path: Path) -> Any:
    """What is written in a manifest; raises DatasetError where that is damaged."""
    data = read_plain(path)
    if not _is_sealed(data):
        raise damage(path, "checksum")
    return orjson.loads(data)


def _is_sealed(data: bytes) -> bool:
    return data[_CHECKSUM_AT : _CHECKSUM_AT + len(_BLANK)] == _seal(data)


def _seal(data: bytes | bytearray) -> bytes:
    """Return the checksum of a document's bytes, with the checksum's own place blank."""
    whole = memoryview(data)  # avoids copies of a long document
    digest = hashlib.sha256(whole[:_CHECKSUM_AT])
    digest.update(_BLANK.encode())
    digest.update(whole[_CHECKSUM_AT + len(_BLANK) :])
    return digest.hexdigest().encode()
