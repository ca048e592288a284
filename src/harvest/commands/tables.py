"""Print tables and paragraphs on a terminal, and the same content as JSON or plain text."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from harvest.commands.output import as_text, harmless
from harvest.toolkit.layout import GAP, fit, fold, shorten, table_lines
from harvest.toolkit.texts import printable_line

__all__ = [
    "how_many", "print_columns", "print_json", "print_lines", "print_plain", "print_table",
    "print_text", "values_of", "width_of_terminal",
]  # fmt: skip

INDENT = " " * 4
LEAST = 8
"""Minimum width of a text column whose cells are wrapped."""
PROSE_LEAST = 32
"""Minimum width of prose next to other columns; with less room, it goes below the row."""


def print_json(value: Any) -> None:
    """Print one JSON document on standard output."""
    data = orjson.dumps(value, option=orjson.OPT_INDENT_2, default=as_text)
    sys.stdout.write(harmless(data) + "\n")


def values_of(item: Any, *names: str) -> dict[str, Any]:
    """Return some attributes of an object by name, for ``print_json``."""
    return {name: getattr(item, name) for name in names}


def print_lines(lines: Iterable[str]) -> None:
    """Print lines of text, with terminal control characters escaped."""
    print_plain(map(printable_line, lines))


def print_plain(lines: Iterable[str]) -> None:
    """Print lines that are known to contain no terminal control characters."""
    for line in lines:
        print(line)


def width_of_terminal() -> int:
    """Return the width of the terminal, or 80 if there is none."""
    return Console().width


def print_columns(
    heads: Sequence[Sequence[str]],
    rows: Sequence[Sequence[str]],
    widths: Sequence[int],
    right: Sequence[bool],
) -> None:
    """Print rows in columns of these widths, below heading lines, which are bold if possible.

    right: for each column, whether its cells are aligned right.
    """
    console = Console()
    for line in table_lines(heads, widths, right):
        console.print(Text(line, style="bold"), soft_wrap=True)
    print_plain(table_lines(rows, widths, right))


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    right: Sequence[str] = (),
    prose: Sequence[str] = (),
    forms: Mapping[str, str] | None = None,
    upright: bool = False,
) -> None:
    """Print a table that fits the terminal; the columns ``right`` are aligned right.

    If the terminal is too narrow, cells are wrapped, the widest first, unless one of these applies:
    prose: these last columns go below each row, as text, if they would have little room.
    forms: ``id`` or ``path`` by column: their cells are shortened and not wrapped.
    upright: each row becomes lines of name and value.
    """
    room = width_of_terminal()
    # escape terminal control characters
    cells = [[printable_line(_text(cell)) for cell in row] for row in rows]
    natural = [max(map(cell_len, column)) for column in zip(columns, *cells, strict=True)]
    sides = [name in right for name in columns]
    gaps = GAP * (len(natural) - 1)
    if sum(natural) + gaps <= room:
        print_columns([columns], cells, natural, sides)
    elif upright:
        _print_upright(columns, cells, room)
    elif prose and (len(prose) > 1 or room - sum(natural[:-1]) - gaps < PROSE_LEAST):
        _print_prose_below(columns, cells, natural, sides, len(prose), room)
    else:
        least = [
            width if side else min(width, max(LEAST, cell_len(name)))
            for name, width, side in zip(columns, natural, sides, strict=True)
        ]
        widths = fit(natural, least, max(1, room - gaps))
        known = forms or {}
        short = [
            [
                shorten(text, width, known[name]) if name in known else text
                for name, text, width in zip(columns, row, widths, strict=True)
            ]
            for row in cells
        ]
        print_columns([columns], short, widths, sides)


def _print_upright(columns: Sequence[str], cells: Sequence[Sequence[str]], room: int) -> None:
    names = max(map(cell_len, columns))
    for number, row in enumerate(cells):
        if number:
            print()
        pairs = list(zip(columns, row, strict=True))
        widths = [names, max(PROSE_LEAST, room - names - GAP)]
        print_plain(table_lines(pairs, widths, [False, False]))


def _print_prose_below(
    columns: Sequence[str],
    cells: Sequence[Sequence[str]],
    natural: Sequence[int],
    sides: Sequence[bool],
    count: int,
    room: int,
) -> None:
    """Print the last ``count`` columns as text below each row; the first of them without a name."""
    kept = len(columns) - count
    least = [min(width, LEAST) for width in natural[:kept]]
    widths = fit(natural[:kept], least, room - GAP * (kept - 1))
    print_columns([columns[:kept]], [], widths, sides[:kept])
    for row in cells:
        print_plain(table_lines([row[:kept]], widths, sides[:kept]))
        for name, text in list(zip(columns, row, strict=True))[kept:]:
            said = text if name == columns[kept] or not text else f"{name}: {text}"
            print_plain(f"{INDENT}{line}" for line in fold(said, room - len(INDENT)) if line)


def how_many(shown: int, word: str, total: int | None = None, *, more: bool = False) -> str:
    """Format a number of rows: ``20 rows``, ``20 of 124 rows`` or ``5 of at least 24 rows``.

    total: total number, if not all are shown; more: whether the total is a lower bound.
    """
    counted = shown if total is None else total
    least = "at least " if more else ""
    of = f" of {least}{counted:,}" if more or counted != shown else ""
    return f"{shown:,}{of} {word}{'' if counted == 1 and not more else 's'}"


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    return str(cell)


def print_text(text: str, indent: str = "  ") -> None:
    """Print paragraphs, each on one line; wrap them for a terminal.

    indent: prefix of the further lines of a paragraph.
    """
    for number, paragraph in enumerate(text.split("\n\n")):
        if number:
            print()
        line = printable_line(" ".join(map(str.strip, paragraph.splitlines())))
        print_plain(fold(line, width_of_terminal(), indent) if sys.stdout.isatty() else [line])
