"""Columns as people meet them: in the tables of a report, and in views."""

from __future__ import annotations

import attrs


@attrs.frozen
class Column:
    """What a column of a view or of a report's table means, and how people are shown it.

    name: in the rows, in CSV and in JSON.
    label: for people; the name unless given.
    unit: of the values as they are shown: ``s``, ``GB``.
    format: a Python format specification (``,.2f``, ``.1%``, ``%Y-%m-%d``), or one of
        ``duration``: seconds as days-hours:minutes:seconds;
        ``seconds``, ``bytes``, ``share``: in words, as 3.2 ms, 5.00 MiB, 37 %;
        ``path``: where it is too long, its end is kept;
        ``id``: where it is too long, both its ends are kept, as of an id or an address.
        By the type of the values unless given.
    doc: what it means.
    scale: what values are divided by to be shown in their unit (``2**30`` for bytes in GiB).  CSV
        and JSON hold the values themselves.
    """

    name: str
    label: str = attrs.field(default=attrs.Factory(lambda self: self.name, takes_self=True))
    unit: str | None = None
    format: str | None = None
    doc: str | None = None
    scale: float = 1

    @property
    def shown_unit(self) -> str | None:
        """The unit, unless the values name theirs: ``3.2 ms``."""
        return None if self.format in _WITH_UNIT else self.unit

    @property
    def heading(self) -> str:
        """Label and unit: ``mean (s)``."""
        return f"{self.label} ({self.shown_unit})" if self.shown_unit else self.label


_WITH_UNIT = ("duration", "seconds", "bytes", "share")
