"""Reading delimited text in blocks: rows of text columns, and what is odd set right or aside.

A block of some megabytes is split by Arrow's CSV reader, which reports every line with the wrong
number of fields; these lines and those without a job id in its place go to ``rejoin``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any, Final

import attrs
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from harvest import ReadContext

from .ids import PATTERN
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
        lines: list[bytes] | None = None
        places: Any = None
        aside: list[int] = []
        try:
            if b"\r" in block:  # ends a line for Arrow
                raise pa.ArrowInvalid("carriage return")
            batch, invalid = self._parse(block)
            count = batch.num_rows + len(invalid)
        except pa.ArrowInvalid:
            lines = block.split(b"\n")[:-1]
            count = len(lines)
            aside = [i for i, text in enumerate(lines) if b"\r" in text or not _is_utf8(text)]
            apart = set(aside)
            plain = [i for i in range(count) if i not in apart]
            batch, invalid = self._parse(b"".join(lines[i] + b"\n" for i in plain))
            places = pa.array(plain, pa.int64())
            invalid = [plain[i] for i in invalid]
        if places is None:
            places = _range(count)
        if invalid:
            wrong = pc.is_in(places, value_set=pa.array(invalid, pa.int64()))
            places = places.filter(pc.invert(wrong))
        unlike = pc.invert(pc.match_substring_regex(batch.column(self.id_column), PATTERN))
        if pc.any(unlike).as_py():
            aside = [*aside, *places.filter(unlike).to_pylist()]
            batch, places = batch.filter(pc.invert(unlike)), places.filter(pc.invert(unlike))
        odd = sorted([*invalid, *aside])
        if not odd:
            return RawRows(batch, pc.add(places, line)), count, b""
        return self._join(block, lines, odd, batch, places, line, at_end)

    def _join(
        self,
        block: bytes,
        lines: list[bytes] | None,
        odd: list[int],
        batch: pa.RecordBatch,
        places: Any,
        line: int,
        at_end: bool,
    ) -> tuple[RawRows, int, bytes]:
        lines = lines if lines is not None else block.split(b"\n")[:-1]
        done = self.joiner.join(lines, odd, at_end=at_end)
        rest = b""
        count = len(lines)
        if done.resume is not None:
            rest = b"".join(text + b"\n" for text in lines[done.resume :])
            if len(rest) > CARRY_BYTES:  # no record is that long: give up on waiting
                done = self.joiner.join(lines, odd, at_end=True)
                rest = b""
            else:
                count = done.resume
                keep = pc.less(places, count)
                batch, places = batch.filter(keep), places.filter(keep)
        if done.used:
            keep = pc.invert(pc.is_in(places, value_set=pa.array(sorted(done.used), pa.int64())))
            batch, places = batch.filter(keep), places.filter(keep)
        if done.records:
            batch, places = self._merge(batch, places, done.records)
        self.ctx.read(len(done.rejects) + done.blanks + done.headers)
        for index, raw, reason in done.rejects:
            self.ctx.reject(raw, reason, position=line + index)
        self.ctx.folded(done.blanks, "blank line")
        self.ctx.folded(done.headers, "repeated header")
        return RawRows(batch, pc.add(places, line)), count, rest

    def _merge(
        self, batch: pa.RecordBatch, places: Any, records: list[tuple[int, list[str]]]
    ) -> tuple[pa.RecordBatch, Any]:
        """Bring records that were put together to their place among the others."""
        texts = list(zip(*(fields for _, fields in records), strict=True))
        joined = pa.RecordBatch.from_arrays(
            [pa.array(text, pa.string()) for text in texts], names=batch.schema.names
        )
        both = pa.Table.from_batches([batch, joined]).combine_chunks()
        where = pa.concat_arrays([places, pa.array([index for index, _ in records], pa.int64())])
        order = pc.sort_indices(where)
        return both.take(order).combine_chunks().to_batches()[0], where.take(order)

    def _parse(self, block: bytes) -> tuple[pa.RecordBatch, list[int]]:
        """Rows with the right number of fields, and indices of the other lines."""
        mark = self.mark
        if len(mark) > 1:
            mark = next((c for c in (bytes([b]) for b in STAND_INS) if c not in block), b"")
            if not mark:
                raise pa.ArrowInvalid("no byte is free to stand for the delimiter")
            block = block.replace(self.mark, mark)
        invalid: list[int] = []

        def note(row: pacsv.InvalidRow) -> str:
            invalid.append(row.number - 1)
            return "skip"

        return _read_csv(block, self.names, mark.decode(), note), invalid


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


def _range(count: int) -> Any:
    return pl.int_range(count, eager=True).to_arrow()


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
