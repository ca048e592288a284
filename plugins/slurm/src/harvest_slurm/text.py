"""Reading delimited text in blocks: rows of text columns, and what is odd set right or aside.

A block of some megabytes is split by Arrow's CSV reader, which reports every line with the wrong
number of fields; these lines and those without a job id in its place go to ``rejoin``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any, Final

import attrs
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from harvest import ReadContext

from .ids import is_id
from .layout import Layout
from .rejoin import Joiner

__all__ = ["BLOCK_BYTES", "RawRows", "read_text"]

BLOCK_BYTES: Final = 8 * 1024 * 1024
CARRY_BYTES: Final = 4 * 1024 * 1024
STAND_INS: Final = b"\x1f\x1e\x1d\x1c\x01\x02\x03\x04\x05\x06\x07\x0e\x0f\x10\x11\x12"
_END: Final = "\x00end"


@attrs.frozen
class RawRows:
    """Rows as text.

    batch: columns of text named by the layout; position: line of each row, from 1.
    """

    batch: pa.RecordBatch
    position: Any

    def raw(self, row: int, delimiter: str) -> str:
        """The row as sacct printed it, but for a delimiter after the last field."""
        return delimiter.join(column[row].as_py() for column in self.batch.columns)


def read_text(
    stream: IO[bytes], layout: Layout, ctx: ReadContext, *, block_bytes: int = BLOCK_BYTES
) -> Iterator[RawRows]:
    """Rows of a dump of kind ``text`` or ``csv``.

    stream: at the first byte of the dump.  Reports rejects, folds and their units to ``ctx``;
    the rows given are the caller's to count.
    """
    reader = _Csv(layout, ctx) if layout.kind == "csv" else _Lines(layout, ctx)
    for _ in range(layout.skip):
        stream.readline()
    carry = b""
    line = layout.skip + 1
    while True:
        # a growing carry is searched again only when as much has been added
        data = stream.read(max(block_bytes, len(carry)))
        block, carry = reader.cut(carry + data, at_end=not data)
        if block:
            rows, lines, rest = reader.rows(block, line, at_end=not data)
            if rows.batch.num_rows:
                yield rows
            line += lines
            carry = rest + carry
        ctx.advance(len(data))
        if not data:
            return


class _Lines:
    """Text of which every record is a line, mostly."""

    def __init__(self, layout: Layout, ctx: ReadContext):
        self.layout = layout
        self.ctx = ctx
        self.joiner = Joiner(layout)
        self.mark = layout.delimiter.encode()
        columns = list(layout.columns)
        self.names = [*columns, _END] if layout.trailing else columns
        self.id_column = "JobID" if "JobID" in columns else "JobIDRaw"

    def cut(self, data: bytes, *, at_end: bool) -> tuple[bytes, bytes]:
        """Whole lines to read now, and what must wait for more."""
        if at_end:
            if data and not data.endswith(b"\n"):
                data += b"\n"
            return (data.replace(b"\r\n", b"\n") if self.layout.crlf else data), b""
        end = data.rfind(b"\n") + 1
        if self.joiner.last_free:
            # the last field may go on in lines without a delimiter
            end = data.rfind(b"\n", 0, max(data.rfind(self.mark, 0, end), 0)) + 1
        block = data[:end]
        return (block.replace(b"\r\n", b"\n") if self.layout.crlf else block), data[end:]

    def rows(self, block: bytes, line: int, *, at_end: bool) -> tuple[RawRows, int, bytes]:
        """Rows of a block, how many of its lines are done with, and the rest of it."""
        odd: dict[int, bytes] = {}
        try:
            if b"\r" in block:  # ends a line for Arrow
                raise pa.ArrowInvalid("carriage return")
            batch, odd = self._parse(block)
            count = batch.num_rows + len(odd)
            places = _range(count)
        except pa.ArrowInvalid:
            lines = block.split(b"\n")[:-1]
            count = len(lines)
            odd = {i: text for i, text in enumerate(lines) if b"\r" in text or not _is_utf8(text)}
            plain = [i for i in range(count) if i not in odd]
            batch, invalid = self._parse(b"".join(lines[i] + b"\n" for i in plain))
            odd |= {plain[i]: text for i, text in invalid.items()}
            places = pa.array(range(count), pa.int64())
        if odd:
            wrong = pa.array(list(odd), pa.int64())
            places = places.filter(pc.invert(pc.is_in(places, value_set=wrong)))
        like = is_id(batch.column(self.id_column))
        if not like.all():
            for row in (~like).nonzero()[0].tolist():
                odd[places[row].as_py()] = self._line(batch, row)
            batch, places = batch.filter(pa.array(like)), places.filter(pa.array(like))
        if not odd:
            return RawRows(batch, pc.add(places, line)), count, b""
        return self._join(odd, batch, places, count, line, at_end)

    def _line(self, batch: pa.RecordBatch, row: int) -> bytes:
        """The line that a row was read from."""
        fields = [column[row].as_py() for column in batch.columns]
        if not any(fields):  # Arrow takes an empty line for a row of empty fields
            return b""
        text = self.layout.delimiter.join(fields)
        return (text + self.layout.delimiter * self.layout.trailing).encode()

    def _join(
        self,
        odd: dict[int, bytes],
        batch: pa.RecordBatch,
        places: Any,
        count: int,
        line: int,
        at_end: bool,
    ) -> tuple[RawRows, int, bytes]:
        where = places.to_numpy()

        def row_of(place: int) -> int:
            return int(where.searchsorted(place))

        lines = _Look(count, lambda i: odd[i] if i in odd else self._line(batch, row_of(i)))
        done = self.joiner.join(lines, sorted(odd), at_end=at_end)
        rest = b""
        if done.resume is not None:
            rest = b"".join(lines[i] + b"\n" for i in range(done.resume, count))
            if len(rest) > CARRY_BYTES:  # no record is that long: give up on waiting
                done, rest = self.joiner.join(lines, sorted(odd), at_end=True), b""
            else:
                count = done.resume
        self.ctx.read(len(done.rejects) + done.blanks + done.headers)
        for index, raw, reason in done.rejects:
            self.ctx.reject(raw, reason, position=line + index)
        self.ctx.folded(done.blanks, "blank line")
        self.ctx.folded(done.headers, "repeated header")
        # rows as they are, up to each place where one goes or a record put together comes in
        records = dict(done.records)
        pieces: list[pa.RecordBatch] = []
        marks: list[Any] = []
        first = 0
        for place in sorted({*done.used, *records, count}):
            row = row_of(place)
            if row > first:
                pieces.append(batch.slice(first, row - first))
                marks.append(places.slice(first, row - first))
            if place in records:
                fields = [pa.array([field], pa.string()) for field in records[place]]
                pieces.append(pa.RecordBatch.from_arrays(fields, schema=batch.schema))
                marks.append(pa.array([place], pa.int64()))
            first = row + (place in done.used)
        if not pieces:
            return RawRows(batch.slice(0, 0), places.slice(0, 0)), count, rest
        whole = pa.Table.from_batches(pieces).combine_chunks().to_batches()[0]
        return RawRows(whole, pc.add(pa.concat_arrays(marks), line)), count, rest

    def _parse(self, block: bytes) -> tuple[pa.RecordBatch, dict[int, bytes]]:
        """Rows with the right number of fields, and the other lines by their index."""
        mark, text = self.mark, block
        if len(mark) > 1:
            mark = next((c for c in (bytes([b]) for b in STAND_INS) if c not in block), b"")
            if not mark:
                raise pa.ArrowInvalid("no byte is free to stand for the delimiter")
            text = _replaced(block, self.mark, mark)
        invalid: dict[int, bytes] = {}

        def note(row: pacsv.InvalidRow) -> str:
            invalid[row.number - 1] = row.text.encode().replace(mark, self.mark)
            return "skip"

        return _read_csv(text, self.names, mark.decode(), note), invalid


class _Look(Sequence[bytes]):
    """Lines of a block, each made when it is looked at."""

    def __init__(self, count: int, line: Callable[[int], bytes]):
        self.count = count
        self.line = line

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self.line(i) for i in range(*index.indices(self.count))]
        return self.line(index)


class _Csv:
    """Comma-separated values with quotes where needed, as spreadsheets and pandas write them."""

    def __init__(self, layout: Layout, ctx: ReadContext):
        self.layout = layout
        self.ctx = ctx

    def cut(self, data: bytes, *, at_end: bool) -> tuple[bytes, bytes]:
        """Whole records to read now: up to a line end outside of quotes."""
        if at_end:
            return data, b""
        end = data.rfind(b"\n") + 1
        while end and data.count(b'"', 0, end) % 2:
            end = data.rfind(b"\n", 0, end - 1) + 1
        return data[:end], data[end:]

    def rows(self, block: bytes, line: int, *, at_end: bool) -> tuple[RawRows, int, bytes]:
        """Rows of a block; positions count records, the header being the first."""
        broken: list[tuple[int, str, int]] = []
        if not _is_utf8(block):
            block = block.decode("utf-8", "backslashreplace").encode()

        def note(row: pacsv.InvalidRow) -> str:
            broken.append((row.number - 1, row.text, row.actual_columns))
            return "skip"

        batch = _read_csv(block, list(self.layout.columns), ",", note, quoted=True)
        count = batch.num_rows + len(broken)
        places = _range(count)
        if broken:
            wrong = pa.array([place for place, _, _ in broken], pa.int64())
            places = places.filter(pc.invert(pc.is_in(places, value_set=wrong)))
        self.ctx.read(len(broken))
        due = len(self.layout.columns)
        for place, text, fields in broken:
            if text.strip():
                reason = f"{fields} fields where {due} are due"
                self.ctx.reject(text, reason, position=line + place)
            else:
                self.ctx.folded(1, "blank line")
        return RawRows(batch, pc.add(places, line)), count, b""


def _read_csv(
    block: bytes, names: list[str], mark: str, note: Any, *, quoted: bool = False
) -> pa.RecordBatch:
    table = (
        pacsv.read_csv(
            pa.BufferReader(block),
            read_options=pacsv.ReadOptions(
                use_threads=False, column_names=names, block_size=len(block) + 1
            ),
            parse_options=pacsv.ParseOptions(
                delimiter=mark,
                quote_char='"' if quoted else False,
                double_quote=quoted,
                escape_char=False,
                newlines_in_values=quoted,
                ignore_empty_lines=False,
                invalid_row_handler=note,
            ),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                strings_can_be_null=False,
                include_columns=[name for name in names if name != _END],
            ),
        )
        if block
        else pa.table({n: pa.array([], pa.string()) for n in names if n != _END})
    )
    batches = table.combine_chunks().to_batches()
    if batches:
        return batches[0]
    return pa.RecordBatch.from_pylist([], schema=table.schema)


def _replaced(block: bytes, old: bytes, new: bytes) -> Any:
    """``block.replace(old, new)`` as a buffer, in Arrow's faster way."""
    whole = pa.Array.from_buffers(
        pa.large_binary(),
        1,
        [None, pa.array([0, len(block)], pa.int64()).buffers()[1], pa.py_buffer(block)],
    )
    done = pc.replace_substring(whole, pattern=old, replacement=new)
    _, offsets, data = done.buffers()
    start, stop = pa.Array.from_buffers(pa.int64(), 2, [None, offsets]).to_pylist()
    return data.slice(start, stop - start)


def _range(count: int) -> Any:
    return pl.int_range(count, eager=True).to_arrow()


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
