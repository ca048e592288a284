"""What a report is made of: tables, plots and notes, each with a name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from harvest.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Column", "Notes", "Plot", "Report", "Section", "Table"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def _name(_: Any, attribute: Any, value: str) -> None:
    """Names become file names and anchors of a page, so they are plain words."""
    if not _NAME.fullmatch(value):
        raise ValueError(f"{attribute.name} {value!r}: use letters, digits, '_', '-' and '.'")


# written out, since a type checker cannot see through `converter=tuple`
def _texts(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(values)


def _columns(values: Iterable[Column]) -> tuple[Column, ...]:
    return tuple(values)


def _sections(values: Iterable[Section]) -> tuple[Section, ...]:
    return tuple(values)


@attrs.frozen
class Column:
    """A column of a table.

    name: in the rows, in CSV and in JSON.
    label: for people; the name unless given.
    unit: shown beside the label: ``s``, ``GB``.
    format: a Python format specification (``,.2f``, ``.1%``, ``%Y-%m-%d``), or ``duration`` for
        seconds shown as days-hours:minutes:seconds; by the type of the column unless given.
    doc: what it means, where the label does not say it; listed below the table.
    """

    name: str
    label: str = attrs.field(default=attrs.Factory(lambda self: self.name, takes_self=True))
    unit: str | None = None
    format: str | None = None
    doc: str | None = None

    @property
    def heading(self) -> str:
        """Label and unit: ``mean (s)``."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


@attrs.frozen(eq=False)
class Table:
    """Rows with columns for people.

    name: also of its CSV file.
    rows: a polars frame; only the columns listed are shown.
    columns: all of the frame's unless given.
    group: column at whose change of value a rule is drawn between rows.
    note: a sentence below it.
    """

    name: str = attrs.field(validator=_name)
    rows: pl.DataFrame
    columns: tuple[Column, ...] = attrs.field(converter=_columns, default=())
    title: str = attrs.field(default=attrs.Factory(lambda self: self.name, takes_self=True))
    group: str | None = None
    note: str | None = None

    def __attrs_post_init__(self) -> None:
        if not self.columns:
            object.__setattr__(self, "columns", tuple(Column(n) for n in self.rows.columns))
        wanted = [*(c.name for c in self.columns), *([self.group] if self.group else [])]
        missing = [name for name in wanted if name not in self.rows.columns]
        if missing:
            raise ValueError(f"table {self.name!r}: its rows lack {', '.join(missing)}")

    @property
    def data(self) -> pl.DataFrame:
        """The rows with the listed columns alone, values as they are."""
        return self.rows.select([c.name for c in self.columns])


@attrs.frozen(eq=False)
class Plot:
    """A picture that matplotlib draws.

    name: also of its files.
    draw: takes an empty ``matplotlib.figure.Figure`` and draws into it; it uses no pyplot.
        Series take their colours from the cycle ("C0", "C1", ...), so that they suit a dark page.
    alt: what is to be seen, in words, for those who cannot see it.
    size: width and height in inches.
    """

    name: str = attrs.field(validator=_name)
    draw: Callable[[Any], object]
    title: str
    alt: str
    size: tuple[float, float] = (7.5, 3.6)


@attrs.frozen(eq=False)
class Notes:
    """Sentences under a title: definitions, what was left out, what to beware of."""

    name: str = attrs.field(validator=_name)
    items: tuple[str, ...] = attrs.field(converter=_texts)
    title: str = "Notes"


Section: TypeAlias = Table | Plot | Notes


@attrs.frozen(eq=False)
class Report:
    """A title, opening paragraphs, and sections in the order of reading.

    The first table is the main one: it is what a single ``.csv`` holds.
    name, facts: the report's name, and what it was made from; set by ``Dataset.report``.
    """

    title: str
    intro: tuple[str, ...] = attrs.field(converter=_texts, default=())
    sections: tuple[Section, ...] = attrs.field(converter=_sections, default=())
    name: str = "report"
    facts: tuple[tuple[str, str], ...] = ()

    @sections.validator
    def _distinct(self, _: Any, value: tuple[Section, ...]) -> None:
        seen: set[str] = set()
        for section in value:
            if section.name in seen:
                raise ValueError(f"two sections are named {section.name!r}")
            seen.add(section.name)

    @property
    def tables(self) -> list[Table]:
        """Its tables, the main one first."""
        return [s for s in self.sections if isinstance(s, Table)]

    @property
    def plots(self) -> list[Plot]:
        """Its plots."""
        return [s for s in self.sections if isinstance(s, Plot)]

    def only(self, name: str) -> Report:
        """The report with one section alone; raises UsageError when it has none of this name."""
        for section in self.sections:
            if section.name == name:
                return attrs.evolve(self, sections=(section,))
        from harvest.errors import suggestion

        raise UsageError(
            f"report {self.name!r} has no section {name!r}",
            remedy=suggestion(name, (s.name for s in self.sections)),
        )

    def write(self, target: str | Path) -> list[Path]:
        """Write it to a file whose ending says how, or all of it to a directory.

        Gives the files written.  Raises UsageError for an unknown ending, HarvestError where a
        needed library is not installed.
        """
        from .write import write

        return write(self, target)

    def text(self, width: int = 80) -> str:
        """As the terminal shows it."""
        from .terminal import to_text

        return to_text(self, width)

    def html(self) -> str:
        """One page that needs nothing else; raises HarvestError without the extra ``report``."""
        from .page import to_html

        return to_html(self)

    def latex(self) -> str:
        """Its tables for a document that uses the package booktabs."""
        from .latex import to_latex

        return to_latex(self)

    def to_dict(self) -> dict[str, Any]:
        """Its content as plain values, for JSON."""
        from .plain import to_dict

        return to_dict(self)
