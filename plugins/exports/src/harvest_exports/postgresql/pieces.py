"""Which rows of a dataset a table has, and which it shall have.

What one run read of one input, its *piece*, keeps its rows and their order, also where a commit
writes them into another file, together with those of other inputs.  So a row is known by its piece
and its number in it.  A file's content never changes (its checksum is part of what names it), so
that only pieces of files that came or left are looked at.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Final

import attrs
import polars as pl

from harvest import Dataset, PartFile

from .columns import PIECE, ROW

OTHERS: Final = -1
"""In place of a piece's number: rows that the table has already, or that are nobody's."""

_EVENTS: Final = "events"


@attrs.frozen
class Piece:
    """Rows of one input.

    key, run: of which it is and which run read it; rows: how many; file: the name of what holds it;
    first_row: of it in that file.  number: by which the table knows it.
    """

    key: str
    run: str
    rows: int
    file: str
    first_row: int = 0
    number: int = OTHERS

    @property
    def content(self) -> tuple[str, str, int]:
        """What says which rows these are."""
        return self.key, self.run, self.rows


def files_by_name(files: Iterable[PartFile]) -> dict[str, PartFile]:
    """The files of a record type by names that say all of their content, each whole."""
    found: dict[str, tuple[PartFile, list[tuple[int | None, int]]]] = {}
    for file in files:
        _, stretches = found.setdefault(_content(file), (file, []))
        stretches.append((file.first_row, file.rows))
    return {
        hashlib.sha256(f"{content} {sorted(stretches)}".encode()).hexdigest()[:32]: _whole(file)
        for content, (file, stretches) in found.items()
    }


def _content(file: PartFile) -> str:
    return f"{file.path} {file.sha256}"


def _whole(file: PartFile) -> PartFile:
    """The file with all of its rows, whosever they are."""
    if file.file_rows is None:
        return file
    return attrs.evolve(file, rows=file.file_rows, first_row=0)


def pieces_in(dataset: Dataset, name: str, files: Mapping[str, PartFile]) -> list[Piece]:
    """The pieces of a record type in these files, file by file, in its order."""
    names = {_content(file): each for each, file in files.items()}
    found: dict[str, list[Piece]] = {each: [] for each in files}
    for part in dataset.parts_in(files.values()):
        for file in part.files:
            if file.record_type not in (name, _EVENTS) or _content(file) not in names:
                continue
            rows = file.rows if file.record_type == name else part.rows.get(name, 0)
            if rows:
                where = names[_content(file)]
                found[where].append(Piece(part.key, part.run, rows, where, file.first_row or 0))
    return [p for some in found.values() for p in sorted(some, key=attrgetter("first_row"))]


def numbered(
    pieces: Iterable[Piece], known: Iterable[Piece], unused: int
) -> tuple[list[Piece], set[int]]:
    """The pieces with their numbers: those of known ones of the same rows, or from ``unused`` on.

    Gives the numbers of the known ones that are among them, too.
    """
    left: dict[tuple[str, str, int], list[int]] = {}
    for piece in known:
        left.setdefault(piece.content, []).append(piece.number)
    found, stay = [], set[int]()
    for piece in pieces:
        if numbers := left.get(piece.content):
            stay.add(number := numbers.pop(0))
        else:
            number, unused = unused, unused + 1
        found.append(attrs.evolve(piece, number=number))
    return found, stay


def groups(files: Mapping[str, PartFile], most: int, rows: int) -> Iterator[dict[str, PartFile]]:
    """Files in groups that are read together.

    most: files of a group; rows: with so many a group is full.
    """
    together: dict[str, PartFile] = {}
    for name, file in files.items():
        together[name] = file
        if len(together) == most or sum(each.rows for each in together.values()) >= rows:
            yield together
            together = {}
    if together:
        yield together


def places_of(
    pieces: Iterable[Piece], file: PartFile, stay: Collection[int]
) -> Iterator[tuple[int, int]]:
    """The rows of a file in order: numbers of pieces, each with how many.

    stay: numbers of those of which a table has the rows already.
    """
    at = 0
    for piece in pieces:
        if piece.first_row > at:
            yield OTHERS, piece.first_row - at
        yield OTHERS if piece.number in stay else piece.number, piece.rows
        at = piece.first_row + piece.rows
    if file.file_rows is not None and file.file_rows > at:
        yield OTHERS, file.file_rows - at


class Places:
    """The columns that say of each row which piece it is of and which of its rows, in order."""

    def __init__(self, pieces: Iterable[tuple[int, int]]):
        """Of numbers of pieces, each with how many rows."""
        self._rest = [(number, 0, rows) for number, rows in pieces][::-1]

    def take(self, rows: int) -> pl.DataFrame:
        """Those of the next rows; raises ValueError where there are not so many."""
        taken: list[tuple[int, int, int]] = []
        while rows:
            if not self._rest:
                raise ValueError(f"{rows} rows more than there are places")
            number, first, beyond = self._rest.pop()
            stop = min(first + rows, beyond)
            taken.append((number, first, stop))
            rows -= stop - first
            if stop < beyond:
                self._rest.append((number, stop, beyond))
        schema = {PIECE: pl.Int32, "first": pl.Int64, "stop": pl.Int64}
        each = pl.DataFrame(taken, schema=schema, orient="row")
        return each.select(PIECE, pl.int_ranges("first", "stop").alias(ROW)).explode(ROW)

    @property
    def left(self) -> int:
        """Rows that have not been taken."""
        return sum(beyond - first for _, first, beyond in self._rest)
