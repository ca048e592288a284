"""The first rows of a source, without writing anything."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import attrs
import pyarrow as pa

from harvest import interrupt
from harvest.api.context import ReadContext
from harvest.api.source import Partition, Source
from harvest.errors import SourceError
from harvest.model import RecordType, record_type
from harvest.plugin_code import contained
from harvest.reading.pipes import Pipe
from harvest.reading.rows import read_tables, source_errors
from harvest.reading.spooled import partitions_through, prepare
from harvest.storage.target import storage_errors
from harvest.toolkit.amounts import bytes_in_words
from harvest.toolkit.steps import step
from harvest.toolkit.texts import printable, printable_line

from .recipe import Recipe
from .selection import partitions_of
from .spooling import SPOOL, spooled, with_pipes

__all__ = ["FirstRows", "Preview", "beginnings", "first_rows"]

PIPE_BYTES: Final = 64 << 20
"""How much of a pipe is read to look at its beginning."""


@attrs.frozen
class FirstRows:
    """The first rows of a record type, and how many of them were seen in all."""

    kind: RecordType
    rows: pa.Table
    seen: int


@attrs.define
class Preview:
    """First rows per record type, and what the source remarked on the way.

    complete: whether all rows there are were seen; reading stops where there are enough.
    """

    tables: dict[str, FirstRows] = attrs.field(factory=dict)
    remarks: list[str] = attrs.field(factory=list)
    complete: bool = True


@contextlib.contextmanager
def beginnings(recipe: Recipe) -> Iterator[Recipe]:
    """The recipe with a file for each of its pipes, of which no more than 64 MiB are read.

    The files are gone at the end.  Raises as ``with_pipes`` and ``spooled``.
    """
    recipe = with_pipes(recipe)
    if all(endpoint.pipe is None for endpoint in recipe.sources):
        yield recipe
        return
    with contextlib.ExitStack() as stack:
        stack.enter_context(interrupt.orderly())
        scratch = stack.enter_context(tempfile.TemporaryDirectory())
        with storage_errors(scratch, lambda: "set TMPDIR to a directory with more room"):
            read = spooled(recipe, Path(scratch) / SPOOL, _step, most=PIPE_BYTES)
            recipe = stack.enter_context(read)
        yield recipe


def _step(pipe: str, size_bytes: int) -> None:
    step(f"{bytes_in_words(size_bytes)} from {printable_line(pipe)}")


@contained()
def first_rows(source: Source, count: int, pipe: Pipe | None = None) -> Preview:
    """Up to ``count`` rows of every record type; stops reading once it has them all.

    pipe: that the source reads, by ``beginnings``.
    Raises SourceError when no partition can be read.
    """
    preview = Preview()
    refused: SourceError | None = None
    for partition in partitions_of(source) if pipe is None else partitions_through(source, pipe):
        try:
            _add(preview, source, partition, count)
        except SourceError as error:
            refused = refused or error
            preview.remarks.append(printable_line(str(error)))
        if _enough(preview, source, count):
            preview.complete = False
            break
    if pipe is not None and pipe.file is not None and pipe.file.stat().st_size == PIPE_BYTES:
        preview.complete = False
        shown, size = printable_line(pipe.origin), bytes_in_words(PIPE_BYTES)
        preview.remarks.append(f"{shown}: only its first {size} were read, and may end in a record")
    if refused is not None and not preview.tables:
        raise refused
    preview.tables = dict(sorted(preview.tables.items()))
    return preview


def _enough(preview: Preview, source: Source, count: int) -> bool:
    full = {name for name, found in preview.tables.items() if found.rows.num_rows >= count}
    return full >= {record_type(cls).name for cls in source.record_types}


def _add(preview: Preview, source: Source, partition: Partition, count: int) -> None:
    """Read a partition until there are enough rows."""
    with tempfile.TemporaryDirectory() as scratch:
        ctx = ReadContext(printable(partition.origin), Path(scratch))
        with source_errors(source, partition):
            partition = prepare(source, partition)
        for kind, table in read_tables(source, partition, ctx):
            interrupt.check()
            found = preview.tables.get(kind.name)
            found = found or FirstRows(kind, kind.arrow_schema.empty_table(), 0)
            need = max(0, count - found.rows.num_rows)
            rows = pa.concat_tables([found.rows, table.slice(0, need)])
            preview.tables[kind.name] = FirstRows(kind, rows, found.seen + table.num_rows)
            if _enough(preview, source, count):
                break
    preview.remarks += [
        f"rejected {printable_line(r.origin)}"
        + (f", record {r.position}" if r.position is not None else "")
        + f": {printable_line(r.reason)}"
        for r in ctx.rejects[:count]
    ]
    if len(ctx.rejects) > count:
        preview.remarks.append(
            f"{len(ctx.rejects) - count:,} more rejected of {printable_line(partition.origin)}"
        )
    preview.remarks += [
        f"note {printable_line(n.origin)}: {printable_line(n.text)}" for n in ctx.notes
    ]
