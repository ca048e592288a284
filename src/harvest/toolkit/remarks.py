"""What the program says of itself, on standard error."""

from __future__ import annotations

import os
import sys
import textwrap

from .texts import printable_line


def remark(text: str) -> None:
    """Print a text of one or more lines; a terminal gets them broken between words.

    Where nobody watches, as in a log, a line stays a line, to be found by its words.
    """
    lines = [printable_line(line) for line in text.splitlines()] or [""]
    lines[0] = f"harvest: {lines[0]}"
    if sys.stderr.isatty():
        width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
        lines = [_filled(line, width) for line in lines]
    print("\n".join(lines), file=sys.stderr, flush=True)


def _filled(line: str, width: int) -> str:
    return textwrap.fill(
        line,
        width,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
        drop_whitespace=True,
    )
