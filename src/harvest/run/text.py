"""The names that ``harvest.toolkit.texts`` has, for modules that import them from here."""

from harvest.toolkit.texts import printable, printable_line

__all__ = ["printable", "printable_line"]
