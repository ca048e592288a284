"""The layout of a dump, and the largest size of its lines."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Final, Literal

import attrs

from harvest import SourceError
from harvest_toolkit.lines import LongLine

from ..values.fields import is_field

BOM: Final = b"\xef\xbb\xbf"
HEAD_BYTES: Final = 256 * 1024
"""The number of bytes at the begin of a file in which the layout is found."""

LONGEST_HEADER: Final = 64 * 1024


@attrs.frozen
class Layout:
    """The layout of a dump.

    kind: ``text`` (delimiter, nothing quoted), ``csv`` (quoted where needed; see ``settle``, which
        reads the whole file), ``fixed``, ``json``, ``yaml``, ``said`` (messages of Slurm, no rows).
    columns: sacct's fields in order, repeated ones numbered.
    delimiter: text between fields. trailing: whether one follows the last field as well.
    skip: lines before the first row. header: the line with the names, None without one.
    widths: bytes of each column of a ``fixed`` layout. stripped: lines lost trailing blanks.
    crlf: lines end in CR LF.
    order: of a dump without header whose columns nobody named, the known order that its lines fit,
        by the name that ``slurm.layout`` takes. fitting: the number of its checked lines that fit.
    """

    kind: Literal["text", "csv", "fixed", "json", "yaml", "said"]
    columns: tuple[str, ...] = ()
    delimiter: str = "|"
    trailing: bool = False
    skip: int = 0
    header: bytes | None = None
    widths: tuple[int, ...] = ()
    stripped: bool = False
    crlf: bool = False
    order: str = ""
    fitting: int = 0

    @property
    def known(self) -> float:
        """The share of its columns that are fields of sacct."""
        return sum(map(is_field, self.columns)) / len(self.columns)


LONGEST: Final = 4 * 1024 * 1024
"""The largest size of a line or record in bytes; only a part of a longer one is in memory."""


def refuse_names(fields: Sequence[str], columns: Sequence[str], position: int) -> None:
    """Raise SourceError if a row is the header of a dump with other columns."""
    other = list(fields) != list(columns) and len(fields) > 1
    if other and "JobID" in fields and all(map(is_field, fields)):
        raise SourceError(f"line {position} names other columns: divide the file there")


def slices_of(widths: Sequence[int]) -> list[slice]:
    """Return the places of columns of fixed widths in a line, with a blank between two."""
    starts = accumulate((width + 1 for width in widths), initial=0)
    return [slice(start, start + width) for start, width in zip(starts, widths, strict=False)]


def too_long(size: int) -> str:
    """Return the reason to reject a line of that many bytes."""
    return LongLine(b"", size, LONGEST).reason
