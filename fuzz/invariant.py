"""What must hold for every input, however damaged: the promise that the fuzzer tries to break.

A source reads any bytes to their end and gives rows or rejects.  It raises nothing but the
SourceError by which a partition says that it cannot be read; what it read equals what it gave,
folded, filtered and rejected; every reject says where and why; and every sink can write its rows.
"""

import io
from collections.abc import Iterable
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from harvest import Collected, RecordType, Source, SourceError, collect, record_type
from harvest.api.source import RAW_LIMIT
from harvest.model.json import encode_lines

from .scratch import folder

__all__ = ["check", "check_source", "check_tables", "require", "write"]


class BrokenPromiseError(AssertionError):
    """An input for which the promise does not hold."""


def require(holds: object, what: str) -> None:
    """Raise when a promise does not hold; not an assert, which ``python -O`` leaves out."""
    if not holds:
        raise BrokenPromiseError(what)


def write(name: str, data: bytes) -> Path:
    """Put an input where a source finds it."""
    path = folder() / name
    path.write_bytes(data)
    return path


def check_source(source: Source, *, keep: Iterable[str] = ()) -> Collected | None:
    """Read a location and check the promise; None where the source refused it as a whole.

    keep: texts of the input that must show up again, in a row or in a reject.
    """
    try:
        found = collect(source)
    except SourceError as error:
        require(error.message, "an unreadable partition says nothing")
        return None
    check(found, source, keep=keep)
    return found


def check(found: Collected, source: Source, *, keep: Iterable[str] = ()) -> None:
    """The promise, for what a source gave."""
    require(
        found.units is None or found.units == found.accounted,
        f"read {found.units} units, accounted for {found.accounted}",
    )
    for reject in found.rejects:
        require(reject.reason.strip(), "a reject without a reason")
        require(reject.origin, "a reject without an origin")
        require(reject.position is None or reject.position >= 1, f"position {reject.position}")
        require(len(reject.raw) <= RAW_LIMIT, "a reject keeps too much")
    kinds = {record_type(cls).name: record_type(cls) for cls in source.record_types}
    lines = check_tables((kinds[name], table) for name, table in found.tables.items())
    told = b"\n".join([lines, *(reject.raw for reject in found.rejects)])
    for text in keep:
        require(text.encode() in told, f"{text!r} of the input is in no row and no reject")


def check_tables(tables: Iterable[tuple[RecordType, pa.Table]]) -> bytes:
    """Rows are sound Arrow data that both sinks can write; gives them as JSON lines."""
    texts = []
    for kind, table in tables:
        table.validate(full=True)
        lines = bytes(encode_lines(kind, table))
        rows = lines.splitlines()
        require(len(rows) == table.num_rows, f"{len(rows)} lines of JSON for {table.num_rows} rows")
        for row in rows:
            orjson.loads(row)
        pq.write_table(table, io.BytesIO())
        texts.append(lines)
    return b"".join(texts)
