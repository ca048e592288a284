"""Printed thread tables.

No save of Yappi holds threads; ``get_thread_stats().print_all(out=file)`` prints them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

import attrs

__all__ = ["Row", "Unreadable", "parse_threads"]

_HEADER: Final = re.compile(r"name +id +(tid +)?ttot +scnt")
_ROW: Final = re.compile(r"(.+?) +(-?\d{1,18}) +(?:(\d{1,18}) +)?(\d+\.\d+) +(\d{1,18})")


@attrs.frozen
class Row:
    """A line of a table.  thread is None for greenlets."""

    line: int
    name: str
    number: int
    thread: int | None
    ttot_s: float
    scnt: int


@attrs.frozen
class Unreadable:
    """A line of a table that is no row."""

    line: int
    text: str


def parse_threads(lines: Iterable[str]) -> Iterator[Row | Unreadable]:
    """The rows of all thread tables in a text; a table ends at an empty line."""
    inside = with_thread = False
    for number, raw in enumerate(lines, start=1):
        text = raw.strip()
        if header := _HEADER.fullmatch(text):
            inside, with_thread = True, header[1] is not None
        elif not text:
            inside = False
        elif inside:
            found = _ROW.fullmatch(text)
            if found is None or (found[3] is not None) != with_thread:
                yield Unreadable(number, raw.rstrip("\r\n"))
                continue
            thread = int(found[3]) if found[3] else None
            yield Row(number, found[1], int(found[2]), thread, float(found[4]), int(found[5]))
