"""Text that may be printed or stored, from names that may hold any bytes."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["printable", "printable_line"]

_NO_BYTE: Final = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Surrogates that stand for no byte of a name."""


def printable(text: str) -> str:
    """The text with what UTF-8 does not have written as escapes.

    A lone surrogate stands for a byte of a name, ``\\xNN``, or else for itself, ``\\uNNNN``.
    """
    known = _NO_BYTE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return known.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def printable_line(text: str) -> str:
    """One line for a terminal: control characters, escape codes among them, made visible."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii")
        for c in printable(text)
    )
