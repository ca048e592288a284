"""Read content that came through a pipe: sources read a file, but all output names the pipe."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from harvest.api.source import Note, Partition, ReadContext, Source
from harvest.errors import HarvestError
from harvest.model import RecordType
from harvest.model.types import ORIGIN
from harvest.toolkit.texts import printable

from . import rows
from .pipes import Pipe


def partitions_through(source: Source, pipe: Pipe) -> Iterator[Partition]:
    """Yield the partitions of a pipe; they never equal those of an earlier run."""
    if pipe.file is None:  # nothing was read yet
        yield Partition(id=Path(pipe.origin).name, origin=pipe.origin)
        return
    names, unique = _Names(str(pipe.file), pipe.origin), secrets.token_hex(16)
    copied = not pipe.file.is_symlink()  # reading from a pipe consumes its content
    with names.in_errors():
        for partition in source.plan():
            yield attrs.evolve(
                partition,
                origin=partition.origin.replace(names.file, names.pipe),
                inputs=partition.inputs if copied else (),
                fingerprint=unique,
                piped=attrs.astuple(names),
            )


def prepare(source: Source, partition: Partition) -> Partition:
    """Call ``Source.prepare`` for a partition of a pipe's content."""
    names = _names(partition)
    with names.in_errors():
        prepared = source.prepare(names.planned(partition))
    return attrs.evolve(partition, options=prepared.options)


def tables(
    source: Source, partition: Partition, ctx: ReadContext
) -> Iterator[tuple[RecordType, pa.Table]]:
    """Yield rows as ``rows.tables`` does, for a partition of a pipe's content."""
    names = _names(partition)
    take = ctx.on_reject or ctx.rejects.append
    ctx.on_reject = lambda reject: take(
        attrs.evolve(reject, origin=names.of(reject.origin), reason=names.of(reject.reason))
    )
    try:
        with names.in_errors():
            for kind, table in rows.tables(source, names.planned(partition), ctx):
                yield kind, names.in_rows(table)
    finally:
        ctx.notes[:] = [Note(names.of(n.origin), names.of(n.text)) for n in ctx.notes]


def _names(partition: Partition) -> _Names:
    assert partition.piped is not None
    return _Names(*partition.piped)


@attrs.frozen
class _Names:
    """The names of a pipe and of its file; replaces the file's name by the pipe's name."""

    file: str
    pipe: str

    def planned(self, partition: Partition) -> Partition:
        """Return a partition as its source planned it, with the file's name."""
        origin = partition.origin.replace(self.pipe, self.file, 1)
        return attrs.evolve(partition, origin=origin, fingerprint=None, piped=None)

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
