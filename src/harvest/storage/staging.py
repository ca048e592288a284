"""Finished partitions in a dataset's staging area.

Each partition is staged in its own directory, ``staging/<stem>``, which ``_part.json`` describes.
Small partitions that are read together share one directory, a *bundle*: a directory, a description
and files per sink for each of them would cost as much as reading. The rows of a bundle are in one
Arrow file. A sink that lets partitions share files (``Sink.shares_files``) receives these rows when
the run commits.

That file is a sequence of Arrow IPC streams. The first lists the number of rows and of Arrow bytes
for each record type and partition. Then follows one stream for each record type, with its own
schema and the rows of all these partitions.

Two attempts at a partition can run at the same time, since a worker that was given up for lost may
still live. Each attempt therefore works in its own directory. One rename puts the first complete
attempt in place; the others are discarded.
"""

import errno
import hashlib
import os
import secrets
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Final, TypeAlias

import attrs
import pyarrow as pa

from harvest import fault
from harvest.api.sink import PartFile, SmallRows
from harvest.model.arrow import concat_tables, size_of
from harvest.toolkit.files import flush
from harvest.toolkit.plain import DATA_BYTES, read_plain

from .part import Part, key_of, read_parts, write_parts

STAGING = "staging"
ATTEMPTS = "attempts"
REJECTS = "_rejects.parquet"
_REMOVALS = 20
DONE = "_part.json"

_BUNDLE = "bundle."  # a part's stem contains no dot


@attrs.frozen
class Staged:
    """A finished part, and the directory with its files."""

    part: Part
    directory: Path


def bundle_name(stems: Iterable[str]) -> str:
    """Return the name of the directory in which these parts are staged together."""
    return _BUNDLE + hashlib.sha256("\0".join(stems).encode()).hexdigest()[:24]


def is_bundle(directory: Path) -> bool:
    """Return whether a staging directory holds several parts."""
    return directory.name.startswith(_BUNDLE)


def finished(state: Path) -> Iterator[Path]:
    """Yield the complete directories below ``staging``, sorted by name."""
    staging = state / STAGING
    names = sorted(entry.name for entry in os.scandir(staging)) if staging.is_dir() else []
    for directory in (staging / name for name in names):
        if (directory / DONE).is_file():
            yield directory


def staged_parts(state: Path) -> dict[str, Staged]:
    """Return all finished parts, by stem.

    If a part is staged twice, alone and in a bundle, prefer the one that needs no second reading.
    """
    found: dict[str, Staged] = {}
    for directory in finished(state):
        for part in parts_in(directory):
            other = found.get(part.stem)
            if other is None or not other.part.settled:
                found[part.stem] = Staged(part, directory)
    return found


def staged_before(state: Path, stems: Sequence[str]) -> dict[str, Staged]:
    """Return the parts, by stem, that another attempt has finished of partitions read together."""
    staging = state / STAGING
    found = {}
    for stem in stems:
        for part in parts_in(staging / stem):
            found[stem] = Staged(part, staging / stem)
    place = staging / bundle_name(stem for stem in stems if stem not in found)
    return found | {part.stem: Staged(part, place) for part in parts_in(place)}


def parts_in(directory: Path) -> tuple[Part, ...]:
    """Return the parts in a finished directory; none if their description is damaged."""
    parts = read_parts(directory / DONE)
    whole = is_bundle(directory) or [part.stem for part in parts] == [directory.name]
    return parts if whole else ()


def clear_places(state: Path, keys: Iterable[str], keep: Collection[Path] = ()) -> None:
    """Remove staged output of partitions that will be read again; call before any attempt."""
    if not any((state / STAGING).iterdir()):
        return  # the usual case: avoids collecting a million keys
    keys = set(keys)
    for directory in filter(is_bundle, finished(state)):
        if directory not in keep and any(part.key in keys for part in parts_in(directory)):
            remove_tree(directory)
    with os.scandir(state / STAGING) as entries:
        for entry in entries:
            if key_of(entry.name) in keys:
                remove_tree(Path(entry.path))


def remove_tree(directory: Path) -> None:
    """Remove a directory, even while a worker that was given up for lost still writes to it."""
    for left in reversed(range(_REMOVALS)):
        try:
            shutil.rmtree(directory)
        except FileNotFoundError:
            if not directory.exists():
                return
            if not left:
                raise
        except OSError as error:
            if not left or error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            # after a rename, the worker cannot find it
            directory = directory.rename(directory.with_name(f".gone-{secrets.token_hex(6)}"))
        else:
            return


def put_in_place(parts: Sequence[Part], attempt: Path, place: Path) -> tuple[Staged, ...]:
    """Rename an attempt into place; if another attempt was faster, return that one's parts."""
    while True:
        try:
            attempt.rename(place)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            faster = parts_in(place)
            if not faster:  # unfinished leftover of a version without attempts
                remove_tree(place)
                continue
            shutil.rmtree(attempt)
            return tuple(Staged(part, place) for part in faster)
        fault.point("partition.placed")
        return tuple(Staged(part, place) for part in parts)


ROWS: Final = "rows.arrow"
"""Name of the file in a staging directory that holds rows of small partitions."""

SMALL_BYTES: Final = 1 << 20
"""Maximum size of a small partition, in Arrow bytes."""


@attrs.frozen
class Small:
    """A partition with few rows, as tables by record type, to be staged for one sink."""

    part: Part
    tables: Mapping[str, pa.Table]
    rejects: Path | None


def stage_small(state: Path, small: Sequence[Small]) -> tuple[Staged, ...]:
    """Stage several partitions in one directory below ``state``, that of their sink."""
    name = bundle_name(each.part.stem for each in small)
    place = state / STAGING / name
    attempt = place.parent / ATTEMPTS / f"{name}-{secrets.token_hex(6)}"
    attempt.mkdir(parents=True, exist_ok=True)
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
        write_parts(attempt / DONE, parts)
        fault.point("partition.done")
        return put_in_place(parts, attempt, place)
    except BaseException:
        shutil.rmtree(attempt, ignore_errors=True)
        raise


def _write(path: Path, tables: Mapping[str, Sequence[pa.Table]]) -> None:
    listed = [
        (name, table.num_rows, size_of(table) if table.num_rows else 0)
        for name, each in tables.items()
        for table in each
    ]
    names, rows, sizes = zip(*listed, strict=True)
    memory = pa.BufferOutputStream()  # otherwise each column would be a separate write
    _append(memory, pa.table({"record_type": names, "rows": rows, "bytes": sizes}))
    for each in tables.values():
        _append(memory, concat_tables(each))
    path.write_bytes(memory.getvalue())


def _append(memory: pa.BufferOutputStream, table: pa.Table) -> None:
    with pa.ipc.new_stream(memory, table.schema) as stream:
        stream.write_table(table)


_Rows: TypeAlias = tuple[pa.Table, Mapping[tuple[int, int], int]]
"""The rows of one record type in a file, and the Arrow bytes of each partition's rows.

The bytes are by first row and number of rows, and independent of other partitions in the file."""


def _read(path: Path) -> dict[str, _Rows]:
    memory = pa.BufferReader(read_plain(path, DATA_BYTES))
    listed = _following(memory).to_pydict()
    sizes: dict[str, dict[tuple[int, int], int]] = {}
    first: dict[str, int] = {}
    for name, rows, size in zip(*listed.values(), strict=True):
        sizes.setdefault(name, {})[first.get(name, 0), rows] = size
        first[name] = first.get(name, 0) + rows
    return {name: (_following(memory), each) for name, each in sizes.items()}


def _following(memory: pa.BufferReader) -> pa.Table:
    with pa.ipc.open_stream(memory) as stream:
        return stream.read_all()


def write_small_parts(
    staging: Path, parts: Sequence[Mapping[str, pa.Table]]
) -> list[list[PartFile]]:
    """Stage rows of partitions, by record type; return the files of each, below ``staging``."""
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
            file = PartFile(
                path=ROWS, record_type=name, rows=table.num_rows, size_bytes=size, sha256=digest,
                first_row=first[name], file_rows=whole[name],
            )  # fmt: skip
            files[-1].append(file)
            first[name] += table.num_rows
    return files


def small_parts(staged: Mapping[str, Staged]) -> dict[str, Callable[[], dict[str, SmallRows]]]:
    """Return a reader for each staged part whose rows are not yet in any file of its sink."""
    read = lru_cache(maxsize=1)(_read)  # parts in one file follow one another
    return {
        key: partial(read_small, item.directory, item.part.files, read)
        for key, item in staged.items()
        if any(file.path == ROWS for file in item.part.files)
    }


def read_small(
    staging: Path, files: Sequence[PartFile], read: Callable[[Path], Mapping[str, _Rows]] = _read
) -> dict[str, SmallRows]:
    """Read the rows of a partition that was staged in a bundle, by record type."""
    found = read(staging / ROWS)
    rows = {}
    for file in files:
        first = file.first_row or 0
        table, sizes = found[file.record_type]
        size = sizes[first, file.rows]
        rows[file.record_type] = SmallRows(table, first, first + file.rows, size)
    return rows
