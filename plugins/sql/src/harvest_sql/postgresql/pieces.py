"""Which rows of a dataset's files a table has, and which it shall have.

A row is known by its file and its number in it.  A file's content never changes (its checksum is
part of what names it), so that what two states of a dataset have in common are rows of the same
number in the same file, and an export sends and deletes what differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import attrs
import polars as pl

from harvest import PartFile

from .columns import FILE, ROW

__all__ = [
    "Change",
    "FileName",
    "Places",
    "Stretch",
    "Stretches",
    "change",
    "groups",
    "minus",
    "of_files",
]

Stretch: TypeAlias = tuple[int, int]
"""Rows of a file: the first, and the one behind the last."""

FileName: TypeAlias = tuple[str, str]
"""Path and checksum."""

Stretches: TypeAlias = dict[FileName, list[Stretch]]
"""Rows of each file, ascending and apart."""


def of_files(files: Iterable[PartFile]) -> Stretches:
    """The rows that a dataset has in its files."""
    found: Stretches = {}
    for file in files:
        first = file.first_row or 0
        found.setdefault((file.path, file.sha256), []).append((first, first + file.rows))
    return {name: _merged(stretches) for name, stretches in found.items()}


def _merged(stretches: list[Stretch]) -> list[Stretch]:
    merged: list[Stretch] = []
    for first, beyond in sorted(stretches):
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(beyond, merged[-1][1]))
        elif beyond > first:
            merged.append((first, beyond))
    return merged


def minus(some: Sequence[Stretch], others: Sequence[Stretch]) -> list[Stretch]:
    """Rows that are in the first and not in the second; both ascending and apart."""
    found: list[Stretch] = []
    rest = list(reversed(others))
    for first, beyond in some:
        while rest and rest[-1][1] <= first:
            rest.pop()
        for start, stop in reversed(rest):
            if start >= beyond:
                break
            if start > first:
                found.append((first, start))
            first = max(first, stop)
        if first < beyond:
            found.append((first, beyond))
    return found


@attrs.frozen
class Change:
    """What makes one state of a table another: rows that leave and rows that come."""

    gone: Stretches
    new: Stretches

    @property
    def touched(self) -> set[FileName]:
        """The files of which the table has other rows afterwards."""
        return {*self.gone, *self.new}


def change(present: Mapping[FileName, list[Stretch]], wanted: Stretches) -> Change:
    """What differs between the rows that a table has and those that it shall have."""
    gone = {name: minus(had, wanted.get(name, [])) for name, had in present.items()}
    new = {name: minus(want, present.get(name, [])) for name, want in wanted.items()}
    return Change(*({n: left for n, left in each.items() if left} for each in (gone, new)))


def whole(file: PartFile) -> Stretch:
    """All rows of the file, whosever they are."""
    return (0, file.rows if file.file_rows is None else file.file_rows)


def groups(
    files: Iterable[PartFile], new: Stretches, most: int, rows: int
) -> Iterator[list[PartFile]]:
    """The files of new rows, in the groups in which they are read: small whole ones together.

    most: files of a group; rows: with so many a group is full.
    """
    together: list[PartFile] = []
    for (path, sha256), file in {(file.path, file.sha256): file for file in files}.items():
        stretches = new.get((path, sha256), [])
        all_rows = whole(file)
        if stretches == [all_rows]:
            together.append(attrs.evolve(file, rows=all_rows[1]))
            if len(together) == most or sum(each.rows for each in together) >= rows:
                yield together
                together = []
            continue
        for first, beyond in stretches:
            count = beyond - first
            yield [attrs.evolve(file, first_row=first, rows=count, file_rows=all_rows[1])]
    if together:
        yield together


class Places:
    """The columns that say of each row which file it is of and which of its rows, in order."""

    def __init__(self, stretches: Iterable[tuple[int, int, int]]):
        """Of numbers of files, each with its first row and the one behind the last."""
        self._rest = list(reversed(list(stretches)))

    def take(self, rows: int) -> pl.DataFrame:
        """Those of the next rows; raises ValueError where there are not so many."""
        parts = [pl.DataFrame(schema={FILE: pl.Int32, ROW: pl.Int64})]
        while rows:
            if not self._rest:
                raise ValueError(f"{rows} rows more than there are places")
            file, first, beyond = self._rest.pop()
            stop = min(first + rows, beyond)
            row = pl.int_range(first, stop, eager=True).alias(ROW)
            number = pl.repeat(file, stop - first, dtype=pl.Int32, eager=True).alias(FILE)
            parts.append(pl.DataFrame([number, row]))
            rows -= stop - first
            if stop < beyond:
                self._rest.append((file, stop, beyond))
        return pl.concat(parts)

    @property
    def left(self) -> int:
        """Rows that have not been taken."""
        return sum(beyond - first for _, first, beyond in self._rest)
