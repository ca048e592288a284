"""Parts of a dataset as Arrow columns, and back.

A part is one row of five tables, *sections*, of which a reader loads those that it needs.  Texts
that many parts share (sources, directories, versions, files that hold rows of several parts) are
dictionary-encoded, digests are bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, Final

import attrs
import orjson
import pyarrow as pa

from harvest.api.sink import PartFile

from .files import is_digest, is_inside, is_name
from .part import Part, stem_of
from .tables import used

__all__ = [
    "ACCOUNT",
    "FILES",
    "KEYS",
    "NAMES",
    "SCHEMAS",
    "STATE",
    "astray_in",
    "file_of",
    "file_texts",
    "from_columns",
    "key_bytes",
    "origins",
    "reject_of",
    "to_columns",
]

_KEY: Final = re.compile(r"[0-9a-f]{16}")

KEYS: Final = "keys"
STATE: Final = "state"
NAMES: Final = "names"
ACCOUNT: Final = "account"
FILES: Final = "files"

_WORD: Final = pa.dictionary(pa.int32(), pa.string())
_NOTES: Final = pa.list_(_WORD)
_COUNTS: Final = pa.list_(pa.struct([("of", _WORD), ("count", pa.int64())]))
_PIECES: Final = pa.list_(
    pa.struct([("file", _WORD), ("rows", pa.int64()), ("first_row", pa.int64())])
)

SCHEMAS: Final[Mapping[str, pa.Schema]] = {
    KEYS: pa.schema([("key", pa.binary(8))]),
    # the fingerprint is a digest or, given by a source, any text; a stem that is not the one that
    # follows from the others is given
    STATE: pa.schema(
        [
            ("fingerprint", pa.binary(32)),
            ("fingerprint_text", pa.string()),
            ("facts", pa.binary(16)),
            ("plugin", _WORD),
            ("config", _WORD),
            ("stem", pa.string()),
            ("failed", pa.bool_()),
            ("limited", pa.bool_()),
            ("live", pa.bool_()),
            ("changed", pa.bool_()),
        ]
    ),
    # the origin is folder + name; a partition that is not the name is given
    NAMES: pa.schema(
        [("source", _WORD), ("folder", _WORD), ("name", pa.string()), ("partition", pa.string())]
    ),
    ACCOUNT: pa.schema(
        [
            ("run", _WORD),
            ("read", pa.int64()),
            ("rejected", pa.int64()),
            ("rows", _COUNTS),
            ("filtered", _COUNTS),
            ("folded", _COUNTS),
            ("notes", _NOTES),
        ]
    ),
    FILES: pa.schema([("files", _PIECES), ("rejects", pa.string())]),
}


def to_columns(parts: Sequence[Part]) -> dict[str, pa.Table]:
    """The sections of these parts, in their order.

    Raises ValueError for a part whose key is not 16 hexadecimal digits.
    """
    cut = [part.origin.rpartition("/") for part in parts]
    names = [name for _, _, name in cut]
    prints = [part.fingerprint for part in parts]
    values: dict[str, list[Any]] = {
        "key": [key_bytes(part.key) for part in parts],
        "fingerprint": [bytes.fromhex(text) if is_digest(text) else None for text in prints],
        "fingerprint_text": [None if is_digest(text) else text for text in prints],
        "facts": [bytes.fromhex(part.facts) or None for part in parts],
        "stem": [None if part.stem == _stem(part) else part.stem for part in parts],
        "folder": [folder + slash for folder, slash, _ in cut],
        "name": names,
        "partition": [
            None if part.partition == name else part.partition
            for part, name in zip(parts, names, strict=True)
        ],
        "rejects": [None if part.rejects is None else _rejects(part.rejects) for part in parts],
    }

    def column(field: pa.Field) -> pa.Array:
        given = values.get(field.name)
        given = [getattr(part, field.name) for part in parts] if given is None else given
        make = _MAKERS.get(field.type)
        return make(given) if make else pa.array(given, field.type)

    return {
        section: pa.table([column(field) for field in schema], schema=schema)
        for section, schema in SCHEMAS.items()
    }


def from_columns(sections: Mapping[str, pa.Table]) -> list[Part]:
    """The parts that sections hold, in their order."""
    columns: dict[str, list[Any]] = {}
    for table in sections.values():
        columns |= table.to_pydict()
    made = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return [_part(row) for row in made]


def _part(row: dict[str, Any]) -> Part:
    key = row["key"].hex()
    digest, folder, name = row.pop("fingerprint"), row.pop("folder"), row.pop("name")
    text = row.pop("fingerprint_text")
    fingerprint = text if digest is None else digest.hex()
    partition = name if row["partition"] is None else row["partition"]
    stem = row["stem"]
    if stem is None:
        stem = stem_of(key, partition, fingerprint, row["plugin"], row["config"])
    rejects = row["rejects"]
    counts = {
        each: {item["of"]: item["count"] for item in row[each]}
        for each in ("rows", "filtered", "folded")
    }
    return Part(
        **row
        | counts
        | {
            "key": key,
            "stem": stem,
            "origin": folder + name,
            "partition": partition,
            "fingerprint": fingerprint,
            "facts": (row["facts"] or b"").hex(),
            "files": tuple(file_of(**piece) for piece in row["files"]),
            "rejects": None if rejects is None else reject_of(rejects),
            "notes": tuple(row["notes"]),
        }
    )


def _rejects(file: PartFile) -> str:
    return _text_of(attrs.evolve(file, file_rows=file.rows))


def key_bytes(key: str) -> bytes:
    """A part's key as the columns have it; raises ValueError for what is not one."""
    if not _KEY.fullmatch(key):
        raise ValueError(f"not the key of a part: {key!r}")
    return bytes.fromhex(key)


def origins(names: pa.Table) -> list[str]:
    """The origins of the rows of a section of names."""
    found = names.select(["folder", "name"]).to_pydict()
    return [a + b for a, b in zip(found["folder"], found["name"], strict=True)]


def _stem(part: Part) -> str:
    return stem_of(part.key, part.partition, part.fingerprint, part.plugin, part.config)


def _words(texts: Sequence[str]) -> pa.DictionaryArray:
    return pa.array(texts, pa.string()).dictionary_encode()


def _listed(lists: Sequence[Sequence[Any]], of: Callable[[list[Any]], pa.Array]) -> pa.ListArray:
    """An array of lists; ``of`` makes the array of all their values."""
    ends = pa.array(accumulate((len(each) for each in lists), initial=0), pa.int32())
    return pa.ListArray.from_arrays(ends, of([value for each in lists for value in each]))


def _counts(counts: Sequence[Mapping[str, int]]) -> pa.ListArray:
    def of(items: list[tuple[str, int]]) -> pa.Array:
        words = _words([word for word, _ in items])
        numbers = pa.array([count for _, count in items], pa.int64())
        return pa.StructArray.from_arrays([words, numbers], names=["of", "count"])

    return _listed([list(each.items()) for each in counts], of)


def _pieces(files: Sequence[Sequence[PartFile]]) -> pa.ListArray:
    def of(items: list[PartFile]) -> pa.Array:
        words = _words([_text_of(file) for file in items])
        rows = pa.array([file.rows for file in items], pa.int64())
        first = pa.array([file.first_row for file in items], pa.int64())
        return pa.StructArray.from_arrays([words, rows, first], names=["file", "rows", "first_row"])

    return _listed(files, of)


_MAKERS: Final[Mapping[pa.DataType, Callable[[list[Any]], pa.Array]]] = {
    _WORD: _words,
    _COUNTS: _counts,
    _PIECES: _pieces,
    _NOTES: lambda notes: _listed(notes, _words),
}


# --- files ----------------------------------------------------------------------------------------


def _text_of(file: PartFile) -> str:
    """A file as one text: all but which rows of it are meant, which of rejects are all."""
    return _text(
        file.path, file.record_type, file.size_bytes, file.sha256, file.offset, file.file_rows
    )


@lru_cache(maxsize=4_096)
def _text(*known: Any) -> str:
    return orjson.dumps(known).decode()


@lru_cache(maxsize=16_384)
def _known(text: str) -> tuple[Any, ...]:
    return tuple(orjson.loads(text))


def file_of(file: str, rows: int | None = None, first_row: int | None = None) -> PartFile:
    """A file from its text, and which rows are meant; all where that is not given."""
    path, record_type, size, digest, offset, file_rows = _known(file)
    return PartFile(
        path=path,
        record_type=record_type,
        rows=file_rows if rows is None else rows,
        size_bytes=size,
        sha256=digest,
        offset=offset,
        first_row=first_row,
        file_rows=file_rows,
    )


def reject_of(file: str) -> PartFile:
    """A file of rejects from its text."""
    return attrs.evolve(file_of(file), file_rows=None)


def file_texts(files: pa.Table) -> pa.Array:
    """The texts of the files that hold rows of a section of files; in each of its chunks once."""
    found = [used(chunk.flatten().field("file")) for chunk in files.column("files").chunks]
    return pa.concat_arrays([pa.array([], pa.string()), *found])


# --- names that lead out of the dataset -----------------------------------------------------------


def astray_in(section: str, table: pa.Table) -> str | None:
    """A name in a section that could lead out of the dataset."""
    if section == FILES:
        for text in (*_file_texts(table), *_distinct(table.column("rejects"))):
            path, _, _, digest, *_ = _known(text)
            if not is_inside(path):
                return str(path)
            if not is_digest(digest):
                return str(digest)
    plain = {STATE: "stem", ACCOUNT: "run"}
    if section in plain:
        names = _distinct(table.column(plain[section]))
        return next((name for name in names if name and not is_name(name)), None)
    return None


def _file_texts(table: pa.Table) -> Iterable[str]:
    for chunk in table.column("files").chunks:
        yield from chunk.values.field("file").dictionary.to_pylist()


def _distinct(column: pa.ChunkedArray) -> list[str]:
    found: list[str] = column.drop_null().unique().to_pylist()
    return found
