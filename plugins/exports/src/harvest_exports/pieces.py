"""Which rows of a dataset a table has, and which it must have.

What one run read of one input, its *piece*, keeps its rows and their order, also where a commit
writes them into another file, together with those of other inputs.  So a row is known by its piece
and its number in it.  A file's content never changes (its checksum is part of what names it), so
that only pieces of files that came or left are looked at.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Final

import attrs
import polars as pl

from harvest import Dataset, DatasetError, PartFile

from .batches import BATCH_ROWS, batches

PIECE: Final = "harvest_piece"
ROW: Final = "harvest_row"
_FILES_AT_ONCE: Final = 256
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
    number: int = -1

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


def rows_of(
    dataset: Dataset,
    name: str,
    files: Mapping[str, PartFile],
    pieces: Iterable[Piece],
    stay: Collection[int],
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """The rows of pieces, batch by batch, and which piece each is of, and which of its rows.

    stay: numbers of pieces of which a table has the rows already.
    Raises DatasetError where the files hold other rows than the pieces.
    """
    by_file: dict[str, list[Piece]] = {}
    for piece in pieces:
        by_file.setdefault(piece.file, []).append(piece)
    fresh = {f for f, some in by_file.items() if any(p.number not in stay for p in some)}
    for group in _groups({each: file for each, file in files.items() if each in fresh}):
        places: list[tuple[int, int, int]] = []
        end = 0
        for each, file in group.items():
            begin = at = end
            for piece in by_file[each]:
                at = max(at, begin + piece.first_row)
                if piece.number not in stay:
                    places.append((piece.number, at, piece.rows))
                at += piece.rows
            end = max(at, begin + (file.file_rows or 0))
        read = 0
        for batch in batches(dataset.rows_of(name, list(group.values()))):
            place = _places(places, read, batch.height)
            new = place.get_column(PIECE).is_not_null()
            if new.all():
                yield batch, place
            elif new.any():
                yield batch.filter(new), place.filter(new)
            read += batch.height
        if read != end:
            raise DatasetError(
                f"the files of {name} hold other rows than the manifest says",
                remedy="run `harvest verify DATASET`",
            )


def _groups(files: Mapping[str, PartFile]) -> Iterator[dict[str, PartFile]]:
    """Files in groups that are read together."""
    together: dict[str, PartFile] = {}
    for name, file in files.items():
        together[name] = file
        rows = sum(each.rows for each in together.values())
        if len(together) == _FILES_AT_ONCE or rows >= BATCH_ROWS:
            yield together
            together = {}
    if together:
        yield together


def _places(pieces: Sequence[tuple[int, int, int]], first: int, rows: int) -> pl.DataFrame:
    """Of so many rows the piece and which of its rows each is; null where it is of none of these.

    pieces: numbers, each with its first row and how many there are.
    """
    kinds = {PIECE: pl.Int64, "begin": pl.Int64, "rows": pl.Int64}
    known = pl.DataFrame(pieces, schema=kinds, orient="row")
    row = pl.int_range(first, first + rows, eager=True)
    which = known.get_column("begin").search_sorted(row, side="right").cast(pl.Int64) - 1
    found = known[which.clip(0)].with_columns((row - pl.col("begin")).alias(ROW))
    is_in = pl.col(ROW).is_between(0, pl.col("rows"), closed="left")
    return found.select(pl.when(is_in).then(PIECE), ROW)


def rows_with(frame: pl.LazyFrame, names: tuple[str, ...]) -> bool:
    """Whether a row has a value in one of these columns."""
    found = frame.select(pl.any_horizontal(pl.col(n).is_not_null().any() for n in names))
    return bool(found.collect().item())
