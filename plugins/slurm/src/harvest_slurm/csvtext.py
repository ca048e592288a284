"""Reading comma-separated values with quotes, as spreadsheets and pandas write them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from harvest import ReadContext

from .digits import PAD
from .grid import BatchRows, RawRows
from .layout import Layout

__all__ = ["CsvReader"]


class CsvReader:
    """Reads blocks of a dump of kind ``csv``."""

    line_end: Final = b""

    def __init__(self, layout: Layout, ctx: ReadContext):
        self.layout = layout
        self.ctx = ctx

    def cut(self, data: Any, stop: int) -> int:
        """Where whole records to read now end: a line end outside of quotes."""
        ends = np.flatnonzero(data[PAD:stop] == ord("\n"))
        quotes = np.flatnonzero(data[PAD:stop] == ord('"'))
        outside = ends[np.searchsorted(quotes, ends) % 2 == 0]
        return PAD + int(outside[-1]) + 1 if len(outside) else PAD

    def cut_anywhere(self, data: Any, stop: int) -> int:
        """No place: within quotes there are no records."""
        return PAD

    def rows(self, data: Any, end: int, line: int, *, at_end: bool) -> tuple[RawRows, int, bytes]:
        """Rows of a block; positions count records, the header being the first."""
        block = data[PAD:end].tobytes()
        broken: list[tuple[int, str, int]] = []
        try:
            block.decode()
        except UnicodeDecodeError:
            block = block.decode("utf-8", "backslashreplace").encode()

        def note(row: pacsv.InvalidRow) -> str:
            broken.append((row.number - 1, row.text, row.actual_columns))
            return "skip"

        batch = self._parse(block, note)
        count = batch.num_rows + len(broken)
        places = np.delete(np.arange(count), [place for place, _, _ in broken])
        filled = self._blank_rows(batch)
        self.ctx.read(len(broken) + int((~filled).sum()))
        self.ctx.folded(int((~filled).sum()), "blank line")
        if not filled.all():
            batch, places = batch.filter(pa.array(filled)), places[filled]
        due = len(self.layout.columns)
        for place, text, fields in broken:
            self.ctx.reject(text, f"{fields} fields where {due} are due", position=line + place)
        return BatchRows(self.layout.columns, batch, places + line), count, b""

    def _blank_rows(self, batch: pa.RecordBatch) -> Any:
        """Which rows say anything: Arrow takes an empty line for a row of empty fields."""
        filled = np.zeros(batch.num_rows, bool)
        for column in batch.columns:
            filled |= np.diff(np.frombuffer(column.buffers()[1], np.int32, len(column) + 1)) > 0
        return filled

    def _parse(self, block: bytes, note: Any) -> pa.RecordBatch:
        names = list(self.layout.columns)
        table = pacsv.read_csv(
            pa.BufferReader(block),
            read_options=pacsv.ReadOptions(
                use_threads=False, column_names=names, block_size=len(block) + 1
            ),
            parse_options=pacsv.ParseOptions(
                newlines_in_values=True, ignore_empty_lines=False, invalid_row_handler=note
            ),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )
        batches = table.combine_chunks().to_batches()
        return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)
