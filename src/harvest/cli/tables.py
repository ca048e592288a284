"""Tables on a terminal, and the same as JSON or plain text."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harvest.toolkit.texts import printable_line

__all__ = [
    "harmless",
    "how_many",
    "print_declared",
    "print_json",
    "print_json_line",
    "print_lines",
    "print_table",
]

_OBEYED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    data = orjson.dumps(value, option=orjson.OPT_INDENT_2, default=_plain)
    sys.stdout.write(harmless(data) + "\n")


def print_json_line(value: Any) -> None:
    """One JSON document in one line, for output that goes on."""
    sys.stdout.write(harmless(orjson.dumps(value, default=_plain)) + "\n")


def harmless(json: bytes) -> str:
    """JSON in which no character that a terminal obeys, or that turns text round, stands raw."""
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.decode())


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return str(value)


def print_lines(lines: Iterable[str]) -> None:
    """Lines of text, in which nothing stands that a terminal obeys."""
    for line in lines:
        print(printable_line(line))


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    right: Sequence[str] = (),
    upright: bool = False,
) -> None:
    """A table that fits the terminal; numbers of the columns ``right`` are aligned right.

    upright: where the terminal is too narrow, print each row as lines of name and value instead
        of folding its cells.
    """
    console = Console(soft_wrap=False)
    # Text, not markup: names may hold brackets; escape codes are made visible
    cells = [[printable_line(_text(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    if upright and sum(widths) + 2 * (len(widths) - 1) > console.width:
        indent = max(map(len, columns)) + 2
        for number, row in enumerate(cells):
            if number:
                print()
            for name, cell in zip(columns, row, strict=True):
                print(f"{name:<{indent}}{cell}")
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        justify: Any = "right" if column in right else "left"
        table.add_column(column, justify=justify, overflow="fold")
    for row in cells:
        table.add_row(*map(Text, row))
    console.print(table)


def how_many(shown: int, word: str, total: int | None = None, *, more: bool = False) -> str:
    """``20 rows``, ``20 of 124 rows`` or ``5 of at least 24 rows``.

    total: how many there are, if these are not all; more: or at least so many.
    """
    counted = shown if total is None else total
    least = "at least " if more else ""
    of = f" of {least}{counted:,}" if more or counted != shown else ""
    return f"{shown:,}{of} {word}{'' if counted == 1 and not more else 's'}"


def print_declared(kind: str, specs: Sequence[Any], *, json: bool) -> None:
    """Views or reports with what they show and the settings they take."""
    if json:
        print_json([{"name": s.name, "doc": s.doc, "settings": dict(s.settings)} for s in specs])
    else:
        print_table(
            (kind, "description", "settings"),
            [(s.name, s.doc, ", ".join(s.settings)) for s in specs],
        )


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    return str(cell)
