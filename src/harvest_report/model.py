"""The parts of a report: tables, plots and notes, each with a name."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, TypeAlias

import attrs
import polars as pl

from harvest import Column

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def _name(_: Any, attribute: Any, value: str) -> None:
    """Check a name, which becomes a file name and an anchor of a page."""
    if not _NAME.fullmatch(value):
        raise ValueError(f"{attribute.name} {value!r}: use letters, digits, '_', '-' and '.'")


def _columns(values: Iterable[Column | str]) -> tuple[Column, ...]:
    return tuple(Column(value) if isinstance(value, str) else value for value in values)


def _as_shown(column: Column, known: Column | None) -> Column:
    """Complete a column by the view's column: its unit, and a format for identifiers.

    Other formats are not taken: a table has units in its headings, and numbers in its cells.
    """
    if known is None:
        return column
    unit = None if known.unit == "1" else known.unit
    form = known.format if known.format in ("d", "id", "path") else None
    return attrs.evolve(column, unit=column.unit or unit, format=column.format or form)


@attrs.frozen
class Tile:
    """A key number of a report, shown first.

    label: what the number counts (``jobs that waited``).
    value: the number with its unit (``4.4 h``); ``not recorded`` when it is unknown.
    note: what the number leaves out, or a number to compare it with, in a few words.
    """

    label: str
    value: str
    note: str = ""

    def __str__(self) -> str:
        return f"{self.label}: {self.value}{f' ({self.note})' if self.note else ''}"


@attrs.frozen(eq=False)
class Table:
    """A table of a report.

    name: name of the table and of its CSV file.
    rows: a polars frame; only the listed columns are shown.
    columns: all columns of the frame unless given; a plain name makes a column with that label.
    of: columns of views, matched by name: a column without a unit takes the unit from there.
    group: a column; a rule is drawn between rows where its value changes.
    note: a sentence below the table.
    """

    name: str = attrs.field(validator=_name)
    rows: pl.DataFrame
    columns: tuple[Column, ...] = attrs.field(converter=_columns, default=())
    title: str = attrs.field(default=attrs.Factory(lambda self: self.name, takes_self=True))
    group: str | None = None
    note: str | None = None
    of: Iterable[Column] = ()

    def __attrs_post_init__(self) -> None:
        known = {column.name: column for column in self.of}
        columns = self.columns or _columns(self.rows.columns)
        shown = tuple(_as_shown(column, known.get(column.name)) for column in columns)
        object.__setattr__(self, "columns", shown)
        wanted = [*(c.name for c in self.columns), *([self.group] if self.group else [])]
        missing = [name for name in wanted if name not in self.rows.columns]
        if missing:
            raise ValueError(f"table {self.name!r}: its rows lack {', '.join(missing)}")

    @property
    def data(self) -> pl.DataFrame:
        """The rows with only the listed columns, values unchanged."""
        return self.rows.select([c.name for c in self.columns])


@attrs.frozen(eq=False)
class Marks:
    """Rectangles of an interactive plot, which a reader points at and zooms into.

    rows: one row per rectangle: ``left``, ``right``, ``bottom`` and ``top`` in units of the axes,
        ``colour`` ("C0", "C1", ... of the cycle, or "#8a8f99"), and the columns of ``tips``.
    tips: the columns shown for the rectangle under the pointer.
    x: label of the horizontal axis, with its unit.
    names: labels of the vertical axis by place, from the top; numbers unless given.
    legend: the column of ``rows`` with the meaning of each colour.
    """

    rows: pl.DataFrame
    tips: tuple[Column, ...] = attrs.field(converter=_columns)
    x: str
    names: Mapping[float, str] = attrs.field(factory=dict)
    legend: str | None = None


@attrs.frozen(eq=False)
class Plot:
    """A plot that matplotlib draws.

    name: name of the plot and of its files.
    draw: draws into an empty ``matplotlib.figure.Figure``, without pyplot.  Series take their
        colours from the cycle ("C0", "C1", ...), so that they suit a dark page.
    alt: description of the plot for readers who cannot see it.
    size: width and height in inches.
    marks: returns the same data as marks for an interactive plot on a page.
    """

    name: str = attrs.field(validator=_name)
    draw: Callable[[Any], object]
    title: str
    alt: str
    size: tuple[float, float] = (7.5, 3.6)
    marks: Callable[[], Marks] | None = None


@attrs.frozen(eq=False)
class Notes:
    """Sentences under a title: definitions, omissions, warnings."""

    name: str = attrs.field(validator=_name)
    items: tuple[str, ...] = attrs.field(converter=tuple[str, ...])
    title: str = "Notes"


Section: TypeAlias = Table | Plot | Notes


@attrs.frozen(eq=False)
class LazySection:
    """A section that is made once, when it is first needed.

    name: name of the section.
    make: returns the section, or several that belong together; none when the data have none.
    """

    name: str = attrs.field(validator=_name)
    make: Callable[[], Section | Iterable[Section]]

    @cached_property
    def made(self) -> tuple[Section, ...]:
        """The sections that ``make`` returns; raises TypeError when one is not a section."""
        given = self.make()
        made = (given,) if isinstance(given, Section) else tuple(given)
        for section in made:
            if not isinstance(section, Section):
                raise TypeError(f"{section!r} is not a section of a report")
        return made


def with_others(shown: pl.DataFrame, others: int, name: str, row: pl.DataFrame) -> pl.DataFrame:
    """Append to the shown rows one row for all others together.

    others: count of the others, shown in the column ``name`` as ``(12 others)``.
    row: one row with the sums of the others; columns of ``shown`` that it lacks become null.
    """
    named = row.with_columns(pl.lit(f"({others:,} others)").alias(name))
    return pl.concat([shown, named], how="diagonal_relaxed").select(shown.columns)
