"""Lay out a report's table within the width of a terminal."""

from collections.abc import Iterator, Sequence
from typing import Any

import attrs
from rich.align import Align
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.table import Table as RichTable
from rich.text import Text

from harvest import Column
from harvest.toolkit.layout import fit
from harvest.toolkit.texts import printable_line

from .columns import Texts, split
from .model import Table
from .units import in_fitting_units
from .values import group_starts, rows_of_text

LEAST = {"id": 16, "path": 16}
"""Fewest characters of a shortened text, by the format of its column."""
LEAST_OF_WORDS = 8
LONGEST_WORD = 20
"""Characters of the longest word that is not broken."""


@attrs.frozen(kw_only=True, eq=False)
class _Cells(Texts):
    """A column of a report's table, and the widths that it can shrink to."""

    @property
    def least(self) -> int:
        """The width at which only long words break."""
        longest = max(map(cell_len, self.texts))
        headed = max(map(cell_len, self.heading.split()), default=1)
        if self.dtype.is_numeric() or self.dtype.is_temporal():
            return max(longest, headed)
        if self.form in LEAST:
            return max(min(longest, LEAST[self.form]), headed)
        words = max((cell_len(w) for text in self.texts for w in text.split()), default=1)
        return max(min(longest, LEAST_OF_WORDS), min(words, LONGEST_WORD), headed)

    @property
    def narrowest(self) -> int:
        """The width for a lack of room, at which any word may break, but no number."""
        return max(map(cell_len, self.texts)) if self.dtype.is_numeric() else min(self.natural, 4)


def grids(table: Table, width: int) -> Iterator[RichTable]:
    """Yield a table with rows, in parts if it is too wide; each begins with the row's names."""
    table = in_fitting_units(table)
    texts = list(zip(*rows_of_text(table), strict=True))
    heads = _headings(table.columns, [max(map(cell_len, cells)) for cells in texts])
    cells = [
        _Cells(heading=head, texts=text, form=c.format, dtype=table.rows.schema[c.name])
        for head, text, c in zip(heads, texts, table.columns, strict=True)
    ]
    starts = group_starts(table)
    parts = split(
        cells,
        lambda part: sum(c.least for c in part) + len(part) - 1 <= width,
        lambda column: cells[0].narrowest + 1 + column.narrowest > width,
    )
    for part in parts:
        yield _grid(part, starts, width)


def _grid(cells: Sequence[_Cells], starts: Sequence[bool], width: int) -> RichTable:
    natural = [c.natural for c in cells]
    room = width - len(cells) + 1
    widths = fit(natural, [c.least for c in cells], room)
    widths = fit(widths, [min(w, c.narrowest) for w, c in zip(widths, cells, strict=True)], room)
    # the table wraps other texts than ids and paths
    shown = [
        c.shortened(width) if c.form in LEAST else c for c, width in zip(cells, widths, strict=True)
    ]
    grid = RichTable(
        box=SIMPLE_HEAD,  # one space between columns, and one more where there is room
        show_edge=False,
        padding=(0, int(sum(natural) + 2 * len(cells) <= width), 0, 0),
        pad_edge=False,
        header_style="bold",
    )
    for column, needed in zip(shown, widths, strict=True):
        side: Any = "right" if column.dtype.is_numeric() else "left"
        grid.add_column(
            Align(Text(column.heading, justify=side), side, vertical="bottom"),
            justify=side,
            overflow="fold",
            width=needed,
        )
    for number, row in enumerate(zip(*(column.texts for column in shown), strict=True)):
        if starts[number]:
            grid.add_section()
        grid.add_row(*map(Text, row))
    return grid


def _headings(columns: Sequence[Column], widths: list[int]) -> list[str]:
    """Return labels with units; all units go below if one does not fit next to its label."""
    labels = [printable_line(c.label) for c in columns]
    units = [f"({printable_line(c.shown_unit)})" if c.shown_unit else "" for c in columns]
    one_line = [f"{label} {unit}".rstrip() for label, unit in zip(labels, units, strict=True)]
    fits = all(
        cell_len(head) <= width
        for head, width, unit in zip(one_line, widths, units, strict=True)
        if unit
    )
    if fits:
        return one_line
    return [f"{label}\n{unit}".rstrip() for label, unit in zip(labels, units, strict=True)]
