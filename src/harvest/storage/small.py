"""The rows of small partitions in staging: one Arrow file for all of them.

For partitions of few rows, making and describing a directory each, and files of every sink's own
kind, would cost as much as reading.  So their rows are staged together, and a sink that lets
partitions share files (``Sink.shares_files``) gets them when the run commits.

The file is a sequence of Arrow IPC streams.  The first one lists, for each record type and
partition, how many rows there are and how many Arrow bytes they take; then comes one for each
record type, with its own schema, that holds the rows of all these partitions.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Final

import attrs
import pyarrow as pa

from harvest import fault
from harvest.api.sink import PartFile, SmallRows
from harvest.model.arrow import concat_tables, size_of
from harvest.toolkit.files import flush
from harvest.toolkit.plain import DATA_BYTES, read_plain

from .part import Part, write_part
from .staging import ATTEMPTS, BUNDLED, STAGING, Staged, bundle_name, make_attempt, put_in_place

ROWS: Final = "rows.arrow"
"""The file, below a staging directory, that holds rows of small partitions."""

SMALL_BYTES: Final = 1 << 20
"""Arrow bytes of a small partition, at most."""


@attrs.frozen
class Small:
    """A partition of few rows, by record type, that are to be staged for one sink.

    rejects: the file of its rejects, which is to be staged as ``part.rejects`` says.
    """

    part: Part
    tables: Mapping[str, pa.Table]
    rejects: Path | None


def stage_small(state: Path, small: Sequence[Small]) -> tuple[Staged, ...]:
    """Stage several partitions in one directory; state: of the sink that they are for."""
    name = bundle_name(each.part.stem for each in small)
    place = state / STAGING / name
    attempt = place.parent / ATTEMPTS / f"{name}-{secrets.token_hex(6)}"
    make_attempt(attempt)
    try:
        files = write_small_parts(attempt, [each.tables for each in small])
        parts = [
            attrs.evolve(each.part, files=tuple(mine))
            for each, mine in zip(small, files, strict=True)
        ]
        for each, part in zip(small, parts, strict=True):
            if each.rejects is not None and part.rejects is not None:
                each.rejects.rename(attempt / part.rejects.path)
                each.rejects.parent.rmdir()
        fault.point("partition.staged")
        write_part(attempt / BUNDLED, parts)
        fault.point("partition.done")
        return put_in_place(parts, attempt, place)
    except BaseException:
        shutil.rmtree(attempt, ignore_errors=True)
        raise


def _write(path: Path, tables: Mapping[str, Sequence[pa.Table]]) -> None:
    """Write the rows of partitions, by record type in their order."""
    listed = [
        (name, table.num_rows, size_of(table) if table.num_rows else 0)
        for name, each in tables.items()
        for table in each
    ]
    names, rows, sizes = zip(*listed, strict=True)
    memory = pa.BufferOutputStream()  # or each column would be a write of its own
    _append(memory, pa.table({"record_type": names, "rows": rows, "bytes": sizes}))
    for each in tables.values():
        _append(memory, concat_tables(each))
    path.write_bytes(memory.getvalue())


def _append(memory: pa.BufferOutputStream, table: pa.Table) -> None:
    with pa.ipc.new_stream(memory, table.schema) as stream:
        stream.write_table(table)


@attrs.frozen
class _Rows:
    """The rows of one record type in a file, and of which partitions they are.

    sizes: Arrow bytes of each partition's rows, by the first of them and how many there are; the
        same number, whichever other partitions are in the file.
    """

    table: pa.Table
    sizes: Mapping[tuple[int, int], int]


def _read(path: Path) -> dict[str, _Rows]:
    """What a file holds, by record type."""
    memory = pa.BufferReader(read_plain(path, DATA_BYTES))
    listed = _following(memory).to_pydict()
    sizes: dict[str, dict[tuple[int, int], int]] = {}
    first: dict[str, int] = {}
    for name, rows, size in zip(*listed.values(), strict=True):
        sizes.setdefault(name, {})[first.get(name, 0), rows] = size
        first[name] = first.get(name, 0) + rows
    return {name: _Rows(_following(memory), each) for name, each in sizes.items()}


def _following(memory: pa.BufferReader) -> pa.Table:
    with pa.ipc.open_stream(memory) as stream:
        return stream.read_all()


def write_small_parts(
    staging: Path, parts: Sequence[Mapping[str, pa.Table]]
) -> list[list[PartFile]]:
    """Stage the rows of partitions, by record type; for each, its files below ``staging``."""
    tables: dict[str, list[pa.Table]] = {}
    for part in parts:
        for name, table in part.items():
            tables.setdefault(name, []).append(table)
    if not tables:
        return [[] for _ in parts]
    _write(staging / ROWS, tables)
    size, digest = flush(staging / ROWS)
    whole = {name: sum(table.num_rows for table in each) for name, each in tables.items()}
    first = dict.fromkeys(tables, 0)
    files: list[list[PartFile]] = []
    for part in parts:
        files.append([])
        for name, table in part.items():
            files[-1].append(
                PartFile(
                    path=ROWS,
                    record_type=name,
                    rows=table.num_rows,
                    size_bytes=size,
                    sha256=digest,
                    first_row=first[name],
                    file_rows=whole[name],
                )
            )
            first[name] += table.num_rows
    return files


def small_parts(staged: Mapping[str, Staged]) -> dict[str, Callable[[], dict[str, SmallRows]]]:
    """For each staged part whose rows are in no file of its sink yet, what reads them."""
    read = lru_cache(maxsize=1)(_read)  # those in one file follow one another
    return {
        key: partial(read_small, item.directory, item.part.files, read)
        for key, item in staged.items()
        if any(file.path == ROWS for file in item.part.files)
    }


def read_small(
    staging: Path,
    files: Sequence[PartFile],
    read: Callable[[Path], Mapping[str, _Rows]] = _read,
) -> dict[str, SmallRows]:
    """The rows of a partition that was staged so, by record type."""
    found = read(staging / ROWS)
    rows = {}
    for file in files:
        first = file.first_row or 0
        whole = found[file.record_type]
        size = whole.sizes[first, file.rows]
        rows[file.record_type] = SmallRows(whole.table, first, first + file.rows, size)
    return rows
