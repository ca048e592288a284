"""The class ``Report``: its sections, and its output formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from harvest.errors import UsageError, suggestion
from harvest.findings import Verdict
from harvest.toolkit.amounts import count_in_words

from .latex import to_latex
from .model import LazySection, Notes, Plot, Section, Table, Tile
from .page import to_fragment, to_html
from .terminal import to_text
from .write import to_dict, write

if TYPE_CHECKING:
    from harvest import ReportContext


def _when_shown(
    tiles: Iterable[Tile] | Callable[[], Iterable[Tile]],
) -> Callable[[], tuple[Tile, ...]]:
    return cache(lambda: tuple(tiles() if callable(tiles) else tiles))


@attrs.frozen(eq=False, repr=False)
class Report:
    """A title, key numbers, a picture, paragraphs, and sections in the order of reading.

    The first table is the main one, and what ``.csv`` holds.  A ``LazySection`` is made when it is
    needed: writing one table makes no other.
    tiles: three to five key numbers, or a function that returns them.
    picture: name of the most important plot, with which a page begins and which ``.png`` holds;
        the first plot unless given.
    name, facts: the report's name, and what it was made from.
    location: location of the dataset with the evidence of findings.  ``Dataset.report`` sets
        these three, through ``completed``.
    """

    title: str
    intro: tuple[str, ...] = attrs.field(converter=tuple[str, ...], default=())
    _sections: tuple[Section | LazySection, ...] = attrs.field(
        converter=tuple[Section | LazySection, ...], default=()
    )
    name: str = "report"
    facts: tuple[tuple[str, str], ...] = ()
    location: str = ""
    _context: ReportContext | None = None
    _tiles: Callable[[], tuple[Tile, ...]] = attrs.field(
        converter=_when_shown, default=lambda: (), kw_only=True
    )
    _picture: str = attrs.field(default="", kw_only=True)

    @_sections.validator
    def _distinct(self, _: Any, value: tuple[Section | LazySection, ...]) -> None:
        for section in value:
            if not isinstance(section, Section | LazySection):
                raise TypeError(f"{section!r} is not a section of a report")
        _check_names(value)

    def __repr__(self) -> str:
        kinds = {"table": Table, "plot": Plot, "lazy section": LazySection}
        counts = {
            name: sum(isinstance(s, kind) for s in self._sections) for name, kind in kinds.items()
        }
        held = ", ".join(count_in_words(count, name) for name, count in counts.items() if count)
        return f"<Report {self.title!r}: {held or 'no tables'}>"

    def _repr_html_(self) -> str:
        return to_fragment(self)

    @property
    def sections(self) -> tuple[Section, ...]:
        """All sections; raises ValueError when two have the same name."""
        made = tuple(self._made(self._sections))
        _check_names(made)
        return made

    def _made(self, sections: Iterable[Section | LazySection]) -> Iterator[Section]:
        for section in sections:
            if not isinstance(section, LazySection):
                yield section
                continue
            with self._reading():
                made = section.made
            yield from made

    def _reading(self) -> AbstractContextManager[None]:
        return self._context.reading() if self._context else nullcontext()

    @property
    def tiles(self) -> tuple[Tile, ...]:
        """The key numbers."""
        with self._reading():
            return self._tiles()

    @property
    def picture(self) -> Plot | None:
        """The most important plot; None when the report has no plot."""
        first = None
        for section in self._first(self._picture):
            if isinstance(section, Plot):
                if section.name == self._picture or not self._picture:
                    return section
                first = first or section
        return first

    def _first(self, name: str) -> Iterator[Section]:
        """Yield all sections, beginning with those that have this name."""
        return self._made(sorted(self._sections, key=lambda section: section.name != name))

    @property
    def verdict(self) -> Verdict | None:
        """Findings of the rules on this report; None when no rule names it."""
        return self._context.verdict if self._context else None

    @property
    def main_table(self) -> Table | None:
        """The first table."""
        return next((s for s in self._made(self._sections) if isinstance(s, Table)), None)

    def whole(self) -> Report:
        """Make everything that the report shows, so that its dataset is not read again."""
        _ = self.sections, self.verdict, self.tiles
        return self

    @property
    def tables(self) -> list[Table]:
        """The tables, the main one first."""
        return [s for s in self.sections if isinstance(s, Table)]

    @property
    def plots(self) -> list[Plot]:
        """The plots."""
        return [s for s in self.sections if isinstance(s, Plot)]

    def completed(self, context: ReportContext) -> Report:
        """Add the facts of the dataset, and as a note at the end what the dataset lacks."""
        gaps = Notes("not-in-the-dataset", context.gaps, title="Not in the dataset")
        return attrs.evolve(
            self,
            name=context.name,
            sections=(*self._sections, gaps) if context.gaps else self._sections,
            facts=(*self.facts, *context.facts),
            location=context.location,
            context=context,
        )

    def only(self, name: str) -> Report:
        """Return the report with one section; raises UsageError when no section has this name."""
        for section in self._first(name):
            if section.name == name:
                return attrs.evolve(self, sections=(section,), context=None, tiles=())
        remedy = suggestion(name, (s.name for s in self.sections))
        raise UsageError(f"report {self.name!r} has no section {name!r}", remedy=remedy)

    def write(self, target: str | Path) -> list[Path]:
        """Write a file in the format of its suffix, or all formats into a directory.

        Returns the files written.  Raises UsageError for an unknown suffix, HarvestError when a
        needed library is not installed.
        """
        return write(self, target)

    def text(self, width: int = 80) -> str:
        """Return the report as a terminal shows it."""
        return to_text(self, width)

    def html(self, *, interactive: bool = True) -> str:
        """Return a self-contained page; raises HarvestError without the extra ``report``.

        interactive: whether the page may run scripts; otherwise all plots are pictures.
        """
        return to_html(self, interactive=interactive)

    def latex(self) -> str:
        """Return the tables for a LaTeX document that uses the package booktabs."""
        return to_latex(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the content as plain values, for JSON."""
        return to_dict(self)


def _check_names(sections: Iterable[Section | LazySection]) -> None:
    seen: set[str] = set()
    for section in sections:
        if section.name in seen:
            raise ValueError(f"two sections are named {section.name!r}")
        seen.add(section.name)
