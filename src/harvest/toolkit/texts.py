"""Text that can be printed or stored safely, made from input with any bytes.

Names and values come from the input. They may contain terminal escape codes, characters that hide
or reorder text, and bytes that are not UTF-8::

    print(printable_line(path.name))
    raise ValueError(f"column 'time' is {excerpt(text)!r}, not a time")
"""

import os
import re
import shlex
from typing import Final

__all__ = ["excerpt", "not_utf8", "printable", "printable_line", "shell_word"]

_NO_BYTE: Final = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Surrogates that do not represent a byte of a file name."""


def printable(text: str) -> str:
    """Escape all characters of a text that UTF-8 cannot encode.

    A lone surrogate becomes ``\\xNN`` if it represents a byte of a name, else ``\\uNNNN``.
    """
    if text.isascii():
        return text
    known = _NO_BYTE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return known.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def printable_line(text: str) -> str:
    """Escape control characters, including terminal escape codes, for one line of output."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii")
        for c in printable(text)
    )


def shell_word(text: str) -> str:
    """Quote a word, if needed, so that it can be copied from a terminal into a shell.

    Unprintable text is written as bytes, ``$'a\\x0ab'``, which bash, zsh and ksh read.
    """
    if text.isprintable():
        return shlex.quote(text)
    letters = (
        chr(b) if 32 <= b < 127 and b not in b"\\'" else f"\\x{b:02x}" for b in os.fsencode(text)
    )
    return "$'" + "".join(letters) + "'"


def excerpt(text: str, limit: int = 80) -> str:
    """Return the first ``limit`` characters, followed by ``...`` if there are more."""
    return text if len(text) <= limit else text[:limit] + "..."


def not_utf8(raw: bytes) -> str | None:
    """Say why bytes are not UTF-8 (``not UTF-8: byte 0xff at byte 3``); None if they are."""
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        return f"not UTF-8: byte 0x{raw[error.start]:02x} at byte {error.start + 1}"
    return None
