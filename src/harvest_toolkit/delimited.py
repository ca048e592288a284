"""Read CSV with quotes (RFC 4180) as blocks of whole records, and these as columns.

Memory is bounded by the block.  A record ends at a newline outside quotes.  Where all quotes of a
block are paired and well placed, numpy finds the ends of all its records together.  Otherwise the
block is cut record by record; a record with a misplaced quote costs only its first line, and
reading goes on with the next line::

    names = column_names(header_line(path))
    for table, block in tables(path, names):
        yield table  # row i is record i of the block
        for damage in block.damages:
            ctx.reject(damage.raw, damage.reason, position=damage.number)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.csv

from harvest import SourceError
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.texts import not_utf8

from .lines import BOM, RAW_BYTES, InvalidLine, LongLine, skip_line
from .live import unpacked

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "BLOCK_BYTES", "CUT", "MISPLACED", "RECORD_LIMIT", "Block", "blocks", "columns",
    "count_fields", "tables",
]  # fmt: skip

BLOCK_BYTES: Final = 4 * 1024 * 1024
"""Bytes read at a time."""

RECORD_LIMIT: Final = 256 * 1024 * 1024
"""Bytes of the longest record; a longer one counts as a quoted field that is never closed."""

MISPLACED: Final = "a quote is misplaced or never closed"
CUT: Final = "no newline at its end: the record was cut off or is still being written"

_QUOTE, _COMMA, _LF, _CR = b'",\n\r'

# possessive quantifiers match or refuse a record in one pass, without backtracking
_FIELD: Final = rb'(?:"(?:[^"]++|"")*+"|[^",\n]*+)'
_RECORD: Final = re.compile(_FIELD + rb"(?:," + _FIELD + rb")*+\r?\n")
_UNFINISHED: Final = re.compile(
    rb"(?:" + _FIELD + rb",)*+" + rb'(?:"(?:[^"]++|"")*+"?\r?|[^",\n]*+)\Z'
)


_ONE_FIELD: Final = re.compile(_FIELD + rb"(?:,|\Z)")


def count_fields(record: bytes) -> int:
    """Count the fields of a record, given without its newline."""
    if b'"' not in record:
        return record.count(b",") + 1
    count = position = 0
    while (match := _ONE_FIELD.match(record, position)) and match[0].endswith(b","):
        count, position = count + 1, match.end()
    return count + (match is not None)


@attrs.frozen(eq=False)
class Block:
    """A block of whole records, each with its newline.

    data: the bytes of all records.
    starts, stops: where each record begins and ends (newline included) in ``data``.
    numbers: the number of each record in the file, 0 for a header; or of its first line, from 1.
    damages: the unreadable lines between the records.
    blank: count of blank lines, which have no number.
    read_bytes: bytes of the file that were read for this block.
    """

    data: bytes
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    numbers: NDArray[np.int64]
    damages: tuple[InvalidLine, ...] = ()
    blank: int = 0
    read_bytes: int = 0

    def __len__(self) -> int:
        return len(self.starts)

    def raw(self, index: int) -> bytes:
        """Return the bytes of a record, without its newline."""
        return self.data[self.starts[index] : self.stops[index]].rstrip(b"\r\n")

    def only(self, keep: NDArray[np.bool_]) -> Block:
        """Return a block with only the records where ``keep`` is true, without gaps."""
        starts, stops = self.starts[keep], self.stops[keep]
        pairs = zip(starts.tolist(), stops.tolist(), strict=True)
        ends = np.cumsum(stops - starts)
        data = b"".join(self.data[start:stop] for start, stop in pairs)
        begins, numbers = ends - (stops - starts), self.numbers[keep]
        return attrs.evolve(self, data=data, starts=begins, stops=ends, numbers=numbers)

    def split_first(self) -> tuple[bytes, Block]:
        """Return the first record (a file's header), damaged or not, and the block without it."""
        if self.damages and not (len(self) and self.numbers[0] < self.damages[0].number):
            return self.damages[0].raw, attrs.evolve(self, damages=self.damages[1:])
        return self.raw(0), self.only(np.arange(len(self)) > 0)


def blocks(
    stream: IO[bytes],
    *,
    block_bytes: int | None = None,
    record_limit: int = RECORD_LIMIT,
    header: bool = True,
    count_lines: bool = False,
    require_final_newline: bool = True,
) -> Iterator[Block]:
    """Yield all records of a CSV file, its header included; an empty file yields nothing.

    block_bytes: bytes read at a time; ``BLOCK_BYTES`` unless given.
    record_limit: bytes held of a record whose end is not found.  Then its first line is one of
        ``damages``, and reading goes on behind that line.
    header: whether the first record is a header, with the number 0; otherwise it is row 1.
    count_lines: whether ``numbers`` count lines, from 1, instead of records.
    require_final_newline: whether a last record without a newline is one of ``damages``, because
        its program may have been stopped while it wrote.
    """
    size = block_bytes or BLOCK_BYTES
    begin = stream.read(max(size, len(BOM)))
    rest, number, want, read = b"", int(count_lines or not header), size, 0
    while True:
        piece = begin or stream.read(want)
        read += len(piece)
        data = rest + (piece.removeprefix(BOM) if begin else piece)
        begin = b""
        if not piece and data and not (require_final_newline or data.endswith(b"\n")):
            data += b"\n"
        spans = _split(data, not piece, len(data) > record_limit)
        rest = spans.rest
        if len(spans.starts) or spans.damages:
            consumed = data[: len(data) - len(rest)]
            block, number = _number_lines(consumed, spans, number, count_lines)
            yield attrs.evolve(block, read_bytes=read)
            read, want = 0, size
        elif len(rest) > record_limit:
            skipped, ended, behind = skip_line(stream, size)
            line = LongLine(rest[:RAW_BYTES], len(rest) + skipped, record_limit, ended)
            damage = InvalidLine(number, line.raw, line.reason)
            read += skipped + 1 + len(behind)
            none = np.zeros(0, np.int64)
            yield Block(b"", none, none, none, (damage,), read_bytes=read)
            rest, number, read = behind, number + 1, 0
        else:
            # one record is longer than the block
            want = max(size, min(len(rest), record_limit + 1 - len(rest)))
        if not piece:
            return


@attrs.frozen(eq=False)
class _Spans:
    """Places of the records in a piece of a file; rest: the unfinished record behind them.

    damages: start, stop and reason of each unreadable line.
    """

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    damages: list[tuple[int, int, str]]
    rest: bytes


def _split(data: bytes, final: bool, force: bool) -> _Spans:
    ends = _ends(np.frombuffer(data, np.uint8))
    if ends is None:
        return _split_slowly(data, 0, final, force)
    cut = int(ends[-1]) if len(ends) else 0
    starts = np.append(0, ends)[:-1]
    if cut == len(data) or not (final or (force and not cut)):
        return _Spans(starts, ends, [], data[cut:])
    more = _split_slowly(data, cut, final, force)
    starts, ends = np.append(starts, more.starts), np.append(ends, more.stops)
    return _Spans(starts, ends, more.damages, more.rest)


def _ends(buffer: NDArray[np.uint8]) -> NDArray[np.int64] | None:
    """Return the places behind the newlines of records; None when a quote is misplaced."""
    newlines = np.flatnonzero(buffer == _LF)
    quotes = np.flatnonzero(buffer == _QUOTE)
    if len(quotes):
        opening, closing = quotes[0::2], quotes[1::2]
        before = np.where(opening > 0, buffer[np.maximum(opening, 1) - 1], _LF)
        behind = buffer[np.minimum(closing + 1, len(buffer) - 1)]
        placed = (before == _COMMA) | (before == _QUOTE) | (before == _LF)
        ended = (behind == _COMMA) | (behind == _QUOTE) | (behind == _LF) | (behind == _CR)
        if not (placed.all() and ended.all()):
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
        if newline < 0 and not final:
            break  # the end of this line is not read yet
        stop = newline + 1 if newline >= 0 else len(data)
        damages.append((position, stop, MISPLACED if newline >= 0 else CUT))
        position = stop
    return _Spans(np.array(starts, np.int64), np.array(stops, np.int64), damages, data[position:])


def _number_lines(data: bytes, spans: _Spans, first: int, count_lines: bool) -> tuple[Block, int]:
    """Make a block of spans, without blank lines; also return the number that follows it."""
    starts, stops = spans.starts, spans.stops
    lengths = stops - starts
    buffer = np.frombuffer(data, np.uint8)
    blank = (lengths == 1) | ((lengths == 2) & (buffer[starts] == _CR))
    starts, stops = starts[~blank], stops[~blank]
    places = np.array([start for start, _, _ in spans.damages], np.int64)
    if count_lines:
        newlines = np.flatnonzero(buffer == _LF)
        numbers = first + np.searchsorted(newlines, starts)
        own = first + np.searchsorted(newlines, places)
        following = first + len(newlines)
    else:
        numbers = first + np.arange(len(starts), dtype=np.int64)
        numbers += np.searchsorted(places, starts)
        own = first + np.searchsorted(starts, places) + np.arange(len(places))
        following = first + len(starts) + len(places)
    hurt = tuple(
        InvalidLine(number, data[start:stop].rstrip(b"\r\n"), reason)
        for number, (start, stop, reason) in zip(own.tolist(), spans.damages, strict=True)
    )
    block = Block(data, starts, stops, numbers, hurt, int(blank.sum()))
    if hurt or block.blank:
        block = block.only(np.ones(len(block), bool))
    return block, following


def tables(
    path: Path, names: Sequence[str], *, header: bool = True, **options: Any
) -> Iterator[tuple[pa.Table, Block]]:
    """Yield the records below a file's header as columns of texts, block by block.

    path: a file, plain or compressed by gzip, bzip2 or xz.
    names: names of the columns, as ``column_names`` returns them for the header.
    header: whether the file has a header; otherwise its first record is a row.
    options: further options of ``blocks``.
    """
    with unpacked(path, str(path)) as stream:
        for number, block in enumerate(blocks(stream, header=header, **options)):
            rows = block if number or not header else block.split_first()[1]
            yield columns(rows, names, where=str(path))


def columns(block: Block, names: Sequence[str], *, where: str = "") -> tuple[pa.Table, Block]:
    """Return the records of a block as columns of texts, and the block of just these records.

    names: names of the columns, in order; a column named ``""`` is left out.
    where: the file, named in an error.

    An empty field is null.  Records that are not UTF-8, or whose number of fields is not the
    number of names, become ``damages`` of the returned block.
    """
    table = _table(block, names)
    if table is None:
        faults = [_fault(block.raw(row), len(names)) for row in range(len(block))]
        own = tuple(
            InvalidLine(int(block.numbers[row]), block.raw(row), reason)
            for row, reason in enumerate(faults)
            if reason is not None
        )
        block = block.only(np.array([reason is None for reason in faults], bool))
        block = attrs.evolve(
            block, damages=tuple(sorted((*block.damages, *own), key=attrgetter("number")))
        )
        table = _table(block, names)
    if table is None:
        problem = f"records {block.numbers[0]} to {block.numbers[-1]} cannot be separated"
        remedy = "look for odd control characters there, and report the file"
        raise SourceError(problem, where=where or None, remedy=remedy)
    return table, block


def _table(block: Block, names: Sequence[str]) -> pa.Table | None:
    """Return a block as columns of texts; None when some record does not fit them."""
    marks = [str(number) for number in range(len(names))]
    wanted = [(mark, name) for mark, name in zip(marks, names, strict=True) if name]
    if not len(block):
        return pa.table({name: pa.array([], pa.string()) for _, name in wanted})
    try:
        size = max(len(block.data) + 1, 1 << 16)
        table = pa.csv.read_csv(
            pa.BufferReader(block.data),
            pa.csv.ReadOptions(use_threads=False, column_names=marks, block_size=size),
            pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            pa.csv.ConvertOptions(
                column_types=dict.fromkeys(marks, pa.string()),
                include_columns=[mark for mark, _ in wanted],
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid:  # not UTF-8, or a wrong number of fields: check each record
        return None
    if table.num_rows != len(block):
        return None
    return table.rename_columns([name for _, name in wanted])


def _fault(raw: bytes, width: int) -> str | None:
    if reason := not_utf8(raw):
        return reason
    if (fields := count_fields(raw)) != width:
        return f"{count_in_words(fields, 'field')} where the header has {width}"
    return "a carriage return within the record" if b"\r" in raw else None
