"""What a command prints: what the program says of itself on standard error, and JSON."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from typing import Any

import orjson

from harvest.toolkit.texts import printable_line

__all__ = ["as_text", "harmless", "print_json_line", "remark"]

_OBEYED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


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


def print_json_line(value: Any) -> None:
    """One JSON document in one line, for output that goes on; times of UTC end with ``Z``."""
    data = orjson.dumps(value, default=as_text, option=orjson.OPT_UTC_Z)
    sys.stdout.write(harmless(data) + "\n")


def harmless(json: bytes) -> str:
    """JSON in which no character that a terminal obeys, or that turns text round, stands raw."""
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.decode())


def as_text(value: Any) -> str:
    """What JSON has no value for."""
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
