"""Scan rows in JSON Lines lazily, a block of lines at a time."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs
import polars as pl
from polars.io.plugins import register_io_source

from harvest import DatasetChanged, DatasetError, RecordType
from harvest.model.frames import polars_schema

from .codecs import blocks, open_range
from .decoding import decode


@attrs.frozen
class Stretch:
    """A byte range of a file that holds complete lines.

    identities: results of ``identity_of`` for the files that held the range when it was looked up;
        None to skip the check.
    renamed: path to which the file may have been renamed since.
    """

    path: Path
    start: int
    size: int
    codec: str
    identities: frozenset[tuple[int, ...] | None] | None = None
    renamed: Path | None = None

    def blocks(self) -> Iterator[bytes]:
        """Yield blocks of lines; raise DatasetChanged if the file has been replaced."""
        path = self._place()
        with open_range(path, self.start, self.size, self.codec) as stream:
            self._place()  # check again: the open file is the one that was looked up
            yield from blocks(stream)

    def _place(self) -> Path:
        for path in (self.path, self.renamed or self.path):
            if self.identities is None or identity_of(path) in self.identities:
                return path
        problem = "the dataset has changed since it was opened"
        raise DatasetChanged(problem, where=str(self.path), remedy="open it again")


def identity_of(path: Path) -> tuple[int, ...] | None:
    """Return device, inode, mtime and size, which identify a file; None if it does not exist."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)


def scan_rows(
    record_type: RecordType, stretches: Sequence[Stretch], *, events: bool = False
) -> pl.LazyFrame:
    """Scan the rows of one record type; each line is an object of its columns.

    events: whether lines have the shape of the events model; those of other types are skipped.
    """
    start = re.escape(f'{{"record_type":"{record_type.name}",'.encode())
    pattern = re.compile(b"^" + start + b".*$", re.MULTILINE)
    inside = "data" if events else None

    def read(
        columns: list[str] | None,
        predicate: pl.Expr | None,
        rows: int | None,
        batch_rows: int | None,
    ) -> Iterator[pl.DataFrame]:
        for stretch in stretches:
            for block in stretch.blocks():
                if rows is not None and rows <= 0:
                    return
                text = b"\n".join(pattern.findall(block)) if events else block
                frame = _decode(record_type, text, columns, inside, stretch.path)
                if rows is not None:
                    frame = frame.head(rows)
                    rows -= frame.height
                yield frame if predicate is None else frame.filter(predicate)

    return register_io_source(read, schema=polars_schema(record_type))


def _decode(
    record_type: RecordType, text: bytes, columns: list[str] | None, inside: str | None, path: Path
) -> pl.DataFrame:
    # a query for only the number of rows needs a column to count
    wanted = columns if columns is None or columns else ["position"]
    try:
        return decode(record_type, text, columns=wanted, inside=inside)
    except pl.exceptions.PolarsError as error:
        problem = f"a line of {record_type.name} cannot be read: {error}"
        remedy = "`harvest verify` lists the files that have changed since they were written"
        raise DatasetError(problem, where=str(path), remedy=remedy) from error
