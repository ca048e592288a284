"""Pieces: which rows of a dataset a table has, and which it needs.

A *piece* is what one run read from one input.  It keeps its rows and their order, even if a commit
writes them into another file together with other inputs.  So a piece and a row number identify a
row.  Files never change (a checksum is part of their name), so an export only compares pieces of
files that are new or gone.
"""

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

    key: the input; run: that read it; rows: their number; file: that holds them; first_row: index
    of the first row in that file; number: identifies the piece in the table.
    """

    key: str
    run: str
    rows: int
    file: str
    first_row: int = 0
    number: int = -1

    @property
    def content(self) -> tuple[str, str, int]:
        """What identifies the rows."""
        return self.key, self.run, self.rows


def files_by_name(files: Iterable[PartFile]) -> dict[str, PartFile]:
    """Name the files of a record type by a digest of their content; each with all of its rows."""
    found: dict[str, tuple[PartFile, list[tuple[int | None, int]]]] = {}
    for file in files:
        _, stretches = found.setdefault(_content(file), (file, []))
        stretches.append((file.first_row, file.rows))
    return {
        hashlib.sha256(f"{content} {sorted(stretches)}".encode()).hexdigest()[:32]: (
            # with its rows of any record type
            file if file.file_rows is None else attrs.evolve(file, rows=file.file_rows, first_row=0)
        )
        for content, (file, stretches) in found.items()
    }


def _content(file: PartFile) -> str:
    return f"{file.path} {file.sha256}"


def pieces_in(dataset: Dataset, name: str, files: Mapping[str, PartFile]) -> list[Piece]:
    """List the pieces of a record type in these files, in order of files and rows."""
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


def rows_of(
    dataset: Dataset,
    name: str,
    files: Mapping[str, PartFile],
    pieces: Iterable[Piece],
    stay: Collection[int],
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Yield rows of pieces in batches, each with a frame of the piece and row number of each row.

    stay: numbers of pieces whose rows the table already has.
    Raises DatasetError if the files have other rows than the pieces.
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
    """Group files to read together."""
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
    """The piece and row number of each row from ``first`` on; null for rows of other pieces.

    pieces: number, first row and number of rows of each.
    """
    kinds = {PIECE: pl.Int64, "begin": pl.Int64, "rows": pl.Int64}
    known = pl.DataFrame(pieces, schema=kinds, orient="row")
    row = pl.select(row=pl.int_range(first, first + rows))
    found = row.join_asof(known.set_sorted("begin"), left_on="row", right_on="begin")
    found = found.with_columns((pl.col("row") - pl.col("begin")).alias(ROW))
    return found.select(pl.when(pl.col(ROW) < pl.col("rows")).then(PIECE), ROW)


def rows_with(frame: pl.LazyFrame, names: tuple[str, ...]) -> bool:
    """Whether any row has a value in one of these columns."""
    found = frame.select(pl.any_horizontal(pl.col(n).is_not_null().any() for n in names))
    return bool(found.collect().item())
