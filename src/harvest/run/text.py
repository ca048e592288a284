"""Text that may be printed or stored, from names that may hold any bytes."""

from __future__ import annotations

__all__ = ["printable", "printable_line"]


def printable(text: str) -> str:
    """The text with bytes that are no UTF-8 (lone surrogates) written as escapes."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def printable_line(text: str) -> str:
    """One line for a terminal: control characters, escape codes among them, made visible."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii")
        for c in printable(text)
    )
