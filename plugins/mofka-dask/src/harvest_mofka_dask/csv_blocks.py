"""A CSV file as blocks of whole records, with memory bounded by the block.

A record ends at a newline outside quotes.  Where quotes come in pairs and stand where a writer
puts them, that is found for a whole block at once; a block with a misplaced quote is cut record
by record, and a record whose quotes do not fit costs its first line only: reading goes on with
the next line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "BLOCK_BYTES",
    "CUT",
    "MISPLACED",
    "RECORD_LIMIT",
    "Block",
    "Damage",
    "blocks",
    "count_fields",
]

BLOCK_BYTES: Final = 4 * 1024 * 1024
"""How much is read at a time."""

RECORD_LIMIT: Final = 256 * 1024 * 1024
"""The longest record; a longer one is taken for a quoted field that is never closed."""

MISPLACED: Final = "a quote is misplaced or never closed"
CUT: Final = "no newline at its end: the record was cut off or is still being written"

_QUOTE, _COMMA, _LF, _CR = b'",\n\r'

# possessive quantifiers: a record is matched or refused in one pass, without backtracking
_FIELD: Final = rb'(?:"(?:[^"]++|"")*+"|[^",\n]*+)'
_RECORD: Final = re.compile(_FIELD + rb"(?:," + _FIELD + rb")*+\r?\n")
_UNFINISHED: Final = re.compile(
    rb"(?:" + _FIELD + rb",)*+" + rb'(?:"(?:[^"]++|"")*+"?\r?|[^",\n]*+)\Z'
)


_ONE_FIELD: Final = re.compile(_FIELD + rb"(?:,|\Z)")


def count_fields(record: bytes) -> int:
    """How many fields a record has, given without its newline."""
    if b'"' not in record:
        return record.count(b",") + 1
    count = position = 0
    while match := _ONE_FIELD.match(record, position):
        count, position = count + 1, match.end()
        if not match[0].endswith(b","):
            break
    return count


@attrs.frozen
class Damage:
    """A line that is no record: its number among the records, its bytes and what is wrong."""

    number: int
    raw: bytes
    reason: str


@attrs.frozen(eq=False)
class Block:
    """Whole records, each with its newline, one after another.

    data: their bytes.
    starts, stops: where each begins and ends (newline included) in ``data``.
    numbers: which record of the file each is; the header is 0.
    damages: lines among them that are no records.
    blank: blank lines among them, which have no number.
    read_bytes: how much of the file was read for it.
    """

    data: bytes
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    numbers: NDArray[np.int64]
    damages: tuple[Damage, ...] = ()
    blank: int = 0
    read_bytes: int = 0

    def __len__(self) -> int:
        return len(self.starts)

    def raw(self, index: int) -> bytes:
        """The bytes of a record, without its newline."""
        return self.data[self.starts[index] : self.stops[index]].rstrip(b"\r\n")

    def only(self, keep: NDArray[np.bool_]) -> Block:
        """The block with just the records that ``keep`` is true for, side by side."""
        starts, stops = self.starts[keep], self.stops[keep]
        pairs = zip(starts.tolist(), stops.tolist(), strict=True)
        ends = np.cumsum(stops - starts)
        return attrs.evolve(
            self,
            data=b"".join(self.data[start:stop] for start, stop in pairs),
            starts=ends - (stops - starts),
            stops=ends,
            numbers=self.numbers[keep],
        )

    def after_first(self) -> Block:
        """The block without its first record."""
        cut = self.stops[0]
        return attrs.evolve(
            self,
            data=self.data[cut:],
            starts=self.starts[1:] - cut,
            stops=self.stops[1:] - cut,
            numbers=self.numbers[1:],
        )


def blocks(
    path: Path, *, block_bytes: int = BLOCK_BYTES, record_limit: int = RECORD_LIMIT
) -> Iterator[Block]:
    """The records of a CSV file, the header among them as number 0.

    An empty file gives nothing.  The last line, where it has no newline, is a Damage.
    """
    rest, number, want, first = b"", 0, block_bytes, True
    with path.open("rb") as file:
        while True:
            piece = file.read(want)
            final = len(piece) < want
            if first:
                piece, first = piece.removeprefix(b"\xef\xbb\xbf"), False
            data = rest + piece
            force = len(data) > record_limit
            starts, stops, damages, rest = _split(data, final, force)
            if len(starts) or damages:
                block = _numbered(data, starts, stops, damages, number, len(piece))
                number += len(block) + len(damages)
                yield block
                want = block_bytes
            else:
                # one record outgrows the block
                want = max(block_bytes, min(len(rest), record_limit + 1 - len(rest)))
            if final:
                return


_Spans = tuple["NDArray[np.int64]", "NDArray[np.int64]", list[tuple[int, int, str]], bytes]


def _split(data: bytes, final: bool, force: bool) -> _Spans:
    """Spans of the records in ``data``, spans of damaged lines, and the unfinished rest."""
    buffer = np.frombuffer(data, np.uint8)
    ends = _ends(buffer)
    if ends is None:
        return _split_slowly(data, 0, final, force)
    cut = int(ends[-1]) if len(ends) else 0
    starts = np.concatenate([[0], ends[:-1]]).astype(np.int64) if len(ends) else ends
    if cut < len(data) and (final or (force and not cut)):
        more_starts, more_stops, damages, rest = _split_slowly(data, cut, final, force)
        starts = np.concatenate([starts, more_starts])
        ends = np.concatenate([ends, more_stops])
        return starts, ends, damages, rest
    return starts, ends, [], data[cut:]


def _ends(buffer: NDArray[np.uint8]) -> NDArray[np.int64] | None:
    """Where records end (behind their newlines); None when a quote is misplaced."""
    newlines = np.flatnonzero(buffer == _LF)
    quotes = np.flatnonzero(buffer == _QUOTE)
    if len(quotes):
        opening, closing = quotes[0::2], quotes[1::2]
        before = np.where(opening > 0, buffer[np.maximum(opening, 1) - 1], _LF)
        if not ((before == _COMMA) | (before == _QUOTE) | (before == _LF)).all():
            return None
        behind = buffer[np.minimum(closing + 1, len(buffer) - 1)]
        placed = (behind == _COMMA) | (behind == _QUOTE) | (behind == _LF) | (behind == _CR)
        if not placed.all():
            return None
        newlines = newlines[np.searchsorted(quotes, newlines) % 2 == 0]
    return newlines + 1


def _split_slowly(data: bytes, position: int, final: bool, force: bool) -> _Spans:
    starts: list[int] = []
    stops: list[int] = []
    damages: list[tuple[int, int, str]] = []
    while position < len(data):
        match = _RECORD.match(data, position)
        if match:
            starts.append(position)
            stops.append(match.end())
            position = match.end()
            continue
        outgrown = force and not starts and not damages
        if not (final or outgrown) and _UNFINISHED.match(data, position):
            break
        newline = data.find(b"\n", position)
        if newline < 0 and not (final or outgrown):
            break  # a damaged line whose end is not read yet
        stop = newline + 1 if newline >= 0 else len(data)
        damages.append((position, stop, MISPLACED if newline >= 0 else CUT))
        position = stop
    return np.array(starts, np.int64), np.array(stops, np.int64), damages, data[position:]


def _numbered(
    data: bytes,
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    damages: list[tuple[int, int, str]],
    first: int,
    read_bytes: int,
) -> Block:
    """The block of these spans, without blank lines, its records and damages numbered."""
    lengths = stops - starts
    buffer = np.frombuffer(data, np.uint8)
    blank = lengths == 1
    if len(lengths):
        blank |= (lengths == 2) & (buffer[starts] == _CR)
    if blank.any():
        starts, stops = starts[~blank], stops[~blank]
    numbers = first + np.arange(len(starts), dtype=np.int64)
    hurt = []
    if damages:
        places = np.array([place for place, _, _ in damages], np.int64)
        numbers += np.searchsorted(places, starts)
        own = first + np.searchsorted(starts, places) + np.arange(len(places))
        hurt = [
            Damage(number, data[start:stop].rstrip(b"\r\n"), reason)
            for number, (start, stop, reason) in zip(own.tolist(), damages, strict=True)
        ]
    block = Block(data, starts, stops, numbers, tuple(hurt), int(blank.sum()), read_bytes)
    if block.damages or block.blank:
        return block.only(np.ones(len(block), bool))
    return attrs.evolve(block, data=data[: int(stops[-1])])
