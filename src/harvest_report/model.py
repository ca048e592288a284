"""The parts of a report: tables, plots and notes, each with a name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, TypeAlias

import attrs
import polars as pl

from harvest import Column

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def _name(_: Any, attribute: Any, value: str) -> None:
    """Names become file names and anchors of a page, so they are plain words."""
    if not _NAME.fullmatch(value):
        raise ValueError(f"{attribute.name} {value!r}: use letters, digits, '_', '-' and '.'")


# written out, since a type checker cannot see through `converter=tuple`
def texts(values: Iterable[str]) -> tuple[str, ...]:
    """Paragraphs or notes, given as any iterable."""
    return tuple(values)


def _columns(values: Iterable[Column | str]) -> tuple[Column, ...]:
    return tuple(Column(value) if isinstance(value, str) else value for value in values)


def _as_shown(column: Column, known: Column | None) -> Column:
    """A column with its unit, and the form of what identifies something, by a view.

    Numbers of a table have their unit in the heading: cells are not put in words.
    """
    if known is None:
        return column
    unit = None if known.unit == "1" else known.unit
    form = known.format if known.format in ("d", "id", "path") else None
    return attrs.evolve(column, unit=column.unit or unit, format=column.format or form)


@attrs.frozen
class Tile:
    """A key number of a report, shown before all else.

    label: what it is, with what it counts (``jobs that waited``).
    value: the number in words, with its unit (``4.4 h``); ``not recorded`` where it is unknown.
    note: what it cannot see, or what it compares with, in a few words.
    """

    label: str
    value: str
    note: str = ""

    def __str__(self) -> str:
        return f"{self.label}: {self.value}{f' ({self.note})' if self.note else ''}"


@attrs.frozen(eq=False)
class Table:
    """Rows with columns for people.

    name: also of its CSV file.
    rows: a polars frame; only the columns listed are shown.
    columns: all of the frame's unless given; a name alone is a column that is called after it.
    of: columns of views that these are, by their names: what has no unit here has the unit there.
    group: column at whose change of value a rule is drawn between rows.
    note: a sentence below it.
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
        """The rows with the listed columns alone, values as they are."""
        return self.rows.select([c.name for c in self.columns])


@attrs.frozen(eq=False)
class Marks:
    """Rectangles that a reader of a page points at and zooms into.

    rows: one each: ``left``, ``right``, ``bottom`` and ``top`` in the units of the axes,
        ``colour`` ("C0", "C1", ... of the cycle, or "#8a8f99"), and the columns of ``tips``.
    tips: the columns that are shown of the mark that is pointed at.
    x: what the horizontal axis shows, with its unit.
    names: labels of the vertical axis, by their places, from above; numbers unless given.
    legend: the column of ``rows`` that says what a colour stands for.
    """

    rows: pl.DataFrame
    tips: tuple[Column, ...] = attrs.field(converter=_columns)
    x: str
    names: Mapping[float, str] = attrs.field(factory=dict)
    legend: str | None = None


@attrs.frozen(eq=False)
class Plot:
    """A picture that matplotlib draws.

    name: also of its files.
    draw: takes an empty ``matplotlib.figure.Figure`` and draws into it; it uses no pyplot.
        Series take their colours from the cycle ("C0", "C1", ...), so that they suit a dark page.
    alt: what the plot shows, in words, for those who cannot see it.
    size: width and height in inches.
    marks: gives the same as marks, for a page on which a reader looks for single ones.
    """

    name: str = attrs.field(validator=_name)
    draw: Callable[[Any], object]
    title: str
    alt: str
    size: tuple[float, float] = (7.5, 3.6)
    marks: Callable[[], Marks] | None = None


@attrs.frozen(eq=False)
class Notes:
    """Sentences under a title: definitions, what was left out, what to beware of."""

    name: str = attrs.field(validator=_name)
    items: tuple[str, ...] = attrs.field(converter=texts)
    title: str = "Notes"


Section: TypeAlias = Table | Plot | Notes


@attrs.frozen(eq=False)
class LazySection:
    """A section that is made when it is asked for, once.

    name: of the section.
    make: gives it, or several that belong together; none where the data have none.
    """

    name: str = attrs.field(validator=_name)
    make: Callable[[], Section | Iterable[Section]]

    @cached_property
    def made(self) -> tuple[Section, ...]:
        """What ``make`` gives; raises TypeError for what is not a section."""
        given = self.make()
        made = (given,) if isinstance(given, Section) else tuple(given)
        for section in made:
            if not isinstance(section, Section):
                raise TypeError(f"{section!r} is not a section of a report")
        return made


def with_others(shown: pl.DataFrame, others: int, name: str, row: pl.DataFrame) -> pl.DataFrame:
    """The rows shown, and behind them one for all others together.

    others: how many there are; the column ``name`` says so: ``(12 others)``.
    row: what they are together; a column of ``shown`` that it lacks is null.
    """
    named = row.with_columns(pl.lit(f"({others:,} others)").alias(name))
    return pl.concat([shown, named], how="diagonal_relaxed").select(shown.columns)
