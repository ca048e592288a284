"""What came through a pipe: sources read a file, and whatever they say names the pipe."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from harvest.api.context import Note, ReadContext
from harvest.api.source import Partition, Rows, Source
from harvest.errors import HarvestError
from harvest.model.types import ORIGIN
from harvest.toolkit.texts import printable

from .pipes import Pipe


def partitions_through(source: Source, pipe: Pipe) -> Iterator[Partition]:
    """What a source has to read of a pipe: never the same as in an earlier run.

    source: made for the file that holds what came through.
    """
    if pipe.file is None:  # nothing of it was read
        yield Partition(id=Path(pipe.origin).name, origin=pipe.origin)
        return
    names, unique = _Names(str(pipe.file), pipe.origin), secrets.token_hex(16)
    copied = not pipe.file.is_symlink()  # who looks at a pipe takes something out of it
    with names.in_errors():
        for partition in source.plan():
            yield attrs.evolve(
                partition,
                origin=partition.origin.replace(names.file, names.pipe),
                inputs=partition.inputs if copied else (),
                fingerprint=unique,
                spooled=attrs.astuple(names),
            )


def prepare(source: Source, partition: Partition) -> Partition:
    """As ``Source.prepare``."""
    if partition.spooled is None:
        return source.prepare(partition)
    names = _Names(*partition.spooled)
    with names.in_errors():
        prepared = source.prepare(names.planned(partition))
    return attrs.evolve(partition, options=prepared.options)


def read(source: Source, partition: Partition, ctx: ReadContext) -> Iterable[Rows]:
    """As ``Source.read``; what the rows themselves say is left to ``named``."""
    if partition.spooled is None:
        return source.read(partition, ctx)
    names = _Names(*partition.spooled)
    return _read(source, names.planned(partition), ctx, names)


def named(partition: Partition, table: pa.Table) -> pa.Table:
    """Rows of a partition, with the pipe's name in place of the file's path."""
    return table if partition.spooled is None else _Names(*partition.spooled).in_rows(table)


def _read(source: Source, partition: Partition, ctx: ReadContext, names: _Names) -> Iterator[Rows]:
    take = ctx.on_reject or ctx.rejects.append
    ctx.on_reject = lambda reject: take(
        attrs.evolve(reject, origin=names.of(reject.origin), reason=names.of(reject.reason))
    )
    try:
        with names.in_errors():
            yield from source.read(partition, ctx)
    finally:
        ctx.notes[:] = [Note(names.of(n.origin), names.of(n.text)) for n in ctx.notes]


@attrs.frozen
class _Names:
    """Puts a pipe's name in place of the file's wherever a source names that."""

    file: str
    pipe: str

    def planned(self, partition: Partition) -> Partition:
        """A partition as its source has planned it."""
        origin = partition.origin.replace(self.pipe, self.file, 1)
        return attrs.evolve(partition, origin=origin, fingerprint=None, spooled=None)

    def of(self, text: str) -> str:
        for form in (str, printable):
            text = text.replace(form(self.file), form(self.pipe))
        return text

    @contextlib.contextmanager
    def in_errors(self) -> Iterator[None]:
        try:
            yield
        except HarvestError as error:
            error.message = self.of(error.message)
            error.where = error.where and self.of(error.where)
            error.remedy = error.remedy and self.of(error.remedy)
            raise
        except OSError as error:
            if isinstance(error.filename, (str, os.PathLike)):
                error.filename = self.of(os.fspath(error.filename))
            raise

    def in_rows(self, table: pa.Table) -> pa.Table:
        for at, field in enumerate(table.schema):
            if field.type not in (ORIGIN, pa.string()):
                continue
            column = table.column(at).cast(pa.string())
            if not pc.any(pc.match_substring(column, printable(self.file))).as_py():
                continue
            column = pc.replace_substring(column, printable(self.file), printable(self.pipe))
            if field.type == ORIGIN:
                column = column.dictionary_encode().cast(ORIGIN)
            table = table.set_column(at, field, column)
        return table
