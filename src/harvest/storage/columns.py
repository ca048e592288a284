"""The parts of a dataset as Arrow columns: conversion in both directions.

A part is one row of five tables, the *sections*. A reader loads only the sections that it needs.
Texts that many parts share (sources, directories, versions, shared files) are dictionary-encoded.
Checksums are bytes.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import attrs
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from harvest.api.sink import PartFile

from .files import is_digest, is_inside, is_name
from .part import Part, part_stem

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
    # a fingerprint is a digest, or any text if the source gives its own; the stem is stored only
    # where it differs from the stem that the other columns yield
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
    # the origin is folder + name; the partition is stored only where it differs from the name
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


_AS_THEY_ARE: Final = (
    *("source", "plugin", "config", "run", "read", "rejected"),
    *("failed", "limited", "live", "changed"),
)
_COUNTED: Final = ("rows", "filtered", "folded")


def to_columns(parts: Sequence[Part]) -> dict[str, pa.Table]:
    """Convert parts to the table of each section, one row per part, in the order given."""
    cut = [part.origin.rpartition("/") for part in parts]
    prints = [part.fingerprint for part in parts]
    columns: dict[str, list[Any]] = {
        "key": [key_bytes(part.key) for part in parts],
        "fingerprint": [bytes.fromhex(text) if is_digest(text) else None for text in prints],
        "fingerprint_text": [None if is_digest(text) else text for text in prints],
        "facts": [bytes.fromhex(part.facts) or None for part in parts],
        "stem": [None if part.stem == _stem(part) else part.stem for part in parts],
        "folder": [folder + slash for folder, slash, _ in cut],
        "name": [name for _, _, name in cut],
        "partition": [
            None if part.partition == name else part.partition
            for part, (_, _, name) in zip(parts, cut, strict=True)
        ],
        "files": [[(_text_of(f), f.rows, f.first_row) for f in part.files] for part in parts],
        "rejects": [part.rejects and _text_of(part.rejects, part.rejects.rows) for part in parts],
        "notes": [part.notes for part in parts],
    }
    for name in _AS_THEY_ARE:
        columns[name] = [getattr(part, name) for part in parts]
    for name in _COUNTED:
        columns[name] = [list(getattr(part, name).items()) for part in parts]
    return {name: pa.table(columns, schema=schema) for name, schema in SCHEMAS.items()}


def _stem(part: Part) -> str:
    return part_stem(part.key, part.partition, part.fingerprint, part.plugin, part.config)


def part_of(row: Mapping[str, Any]) -> Part:
    """Build a part from one row with the columns of all sections."""
    key, name, digest = row["key"].hex(), row["name"], row["fingerprint"]
    fingerprint = row["fingerprint_text"] if digest is None else digest.hex()
    partition = name if row["partition"] is None else row["partition"]
    stem = row["stem"]
    if stem is None:
        stem = part_stem(key, partition, fingerprint, row["plugin"], row["config"])
    as_they_are: dict[str, Any] = {each: row[each] for each in _AS_THEY_ARE}
    counted = {each: {item["of"]: item["count"] for item in row[each]} for each in _COUNTED}
    return Part(
        **as_they_are | counted, key=key, stem=stem, origin=row["folder"] + name,
        partition=partition, fingerprint=fingerprint, facts=(row["facts"] or b"").hex(),
        files=tuple(file_of(**piece) for piece in row["files"]),
        rejects=None if row["rejects"] is None else reject_of(row["rejects"]),
        notes=tuple(row["notes"]),
    )  # fmt: skip


def key_bytes(key: str) -> bytes:
    """Convert a part's key to its binary form; raise ValueError if the text is not a key."""
    if not _KEY.fullmatch(key):
        raise ValueError(f"not the key of a part: {key!r}")
    return bytes.fromhex(key)


def _text_of(file: PartFile, file_rows: int | None = None) -> str:
    """Encode a file as JSON text, without its row range; ``file_rows`` overrides its row count."""
    rows = file.file_rows if file_rows is None else file_rows
    return _text(file.path, file.record_type, file.size_bytes, file.sha256, file.offset, rows)


@lru_cache(maxsize=4_096)
def _text(*known: Any) -> str:
    return orjson.dumps(known).decode()


@lru_cache(maxsize=16_384)
def _known(text: str) -> tuple[Any, ...]:
    return tuple(orjson.loads(text))


def file_of(file: str, rows: int | None = None, first_row: int | None = None) -> PartFile:
    """Decode a file from its text; the default is all rows of the file."""
    path, record_type, size, digest, offset, file_rows = _known(file)
    return PartFile(
        path=path, record_type=record_type, rows=file_rows if rows is None else rows,
        size_bytes=size, sha256=digest, offset=offset, first_row=first_row, file_rows=file_rows,
    )  # fmt: skip


def reject_of(file: str) -> PartFile:
    """Decode a file of rejects from its text."""
    return attrs.evolve(file_of(file), file_rows=None)


def astray_in(section: str, table: pa.RecordBatch) -> str | None:
    """Return the first name in a section that could point outside the dataset, or None."""
    if section == FILES:
        pieces = table.column("files").values.field("file").dictionary.to_pylist()
        for text in (*pieces, *_distinct(table.column("rejects"))):
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


def _distinct(column: pa.Array) -> list[str]:
    found: list[str] = column.drop_null().unique().to_pylist()
    return found


def compact(table: pa.Table) -> pa.Table:
    """Return the same rows in one chunk, and drop unused dictionary values."""
    table = table.unify_dictionaries().combine_chunks()
    columns = [
        _without_unused(column.combine_chunks()) if column.num_chunks else column
        for column in table.columns
    ]
    return pa.table(columns, schema=table.schema)


def _without_unused(values: pa.Array) -> pa.Array:
    kind = values.type
    if pa.types.is_dictionary(kind):
        kept = values.indices.drop_null().unique()
        codes = pc.index_in(values.indices, value_set=kept)
        return pa.DictionaryArray.from_arrays(codes, values.dictionary.take(kept))
    if pa.types.is_list(kind):
        ends = pc.subtract(values.offsets, values.offsets[0])
        return pa.ListArray.from_arrays(ends, _without_unused(values.flatten()))
    if pa.types.is_struct(kind):
        fields = [_without_unused(each) for each in values.flatten()]
        return pa.StructArray.from_arrays(fields, names=[field.name for field in kind])
    return values
