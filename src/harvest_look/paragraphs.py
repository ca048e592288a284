"""Paragraphs on a terminal."""

from __future__ import annotations

import sys

from harvest.commands.tables import print_plain, width_of_terminal
from harvest.toolkit.layout import fold
from harvest.toolkit.texts import printable_line


def print_text(text: str, indent: str = "  ") -> None:
    """Paragraphs, each a line; a terminal gets them broken between words.

    indent: put before the further lines of a paragraph.
    """
    for number, paragraph in enumerate(text.split("\n\n")):
        if number:
            print()
        line = printable_line(" ".join(map(str.strip, paragraph.splitlines())))
        print_plain(fold(line, width_of_terminal(), indent) if sys.stdout.isatty() else [line])
