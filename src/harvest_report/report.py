"""A report: its sections, and the forms in which people pass it on."""

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
from .model import LazySection, Notes, Plot, Section, Table, Tile, texts
from .page import to_fragment, to_html
from .terminal import to_text
from .write import to_dict, write

if TYPE_CHECKING:
    from harvest import ReportContext


# written out, since a type checker cannot see through `converter=tuple`
def _sections(values: Iterable[Section | LazySection]) -> tuple[Section | LazySection, ...]:
    return tuple(values)


def _when_shown(
    tiles: Iterable[Tile] | Callable[[], Iterable[Tile]],
) -> Callable[[], tuple[Tile, ...]]:
    return cache(lambda: tuple(tiles() if callable(tiles) else tiles))


@attrs.frozen(eq=False, repr=False)
class Report:
    """A title, key numbers, a picture, paragraphs, and sections in the order of reading.

    The first table is the main one: it is what a single ``.csv`` holds.  A ``LazySection`` is made
    when it is asked for: writing one table makes no other.
    tiles: three to five key numbers, or a function that gives them when they are shown.
    picture: name of the plot that matters most: a page begins with it, ``.png`` holds it.  The
        first plot unless given.
    name, facts: the report's name, and what it was made from.
    location: of the dataset, where the evidence of findings lies.  These are set by
        ``completed``, so in what ``Dataset.report`` gives.
    """

    title: str
    intro: tuple[str, ...] = attrs.field(converter=texts, default=())
    _sections: tuple[Section | LazySection, ...] = attrs.field(converter=_sections, default=())
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
        """All its sections; raises ValueError where two have one name."""
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
        """Its key numbers."""
        with self._reading():
            return self._tiles()

    @property
    def picture(self) -> Plot | None:
        """The plot that matters most; None where it has no plot."""
        first = None
        for section in self._first(self._picture):
            if isinstance(section, Plot):
                if section.name == self._picture or not self._picture:
                    return section
                first = first or section
        return first

    def _first(self, name: str) -> Iterator[Section]:
        """Its sections, those first that are called this or may hold what is."""
        return self._made(sorted(self._sections, key=lambda section: section.name != name))

    @property
    def verdict(self) -> Verdict | None:
        """What rules concluded from what it shows; None where no rule names it."""
        return self._context.verdict if self._context else None

    @property
    def main_table(self) -> Table | None:
        """Its first table."""
        return next((s for s in self._made(self._sections) if isinstance(s, Table)), None)

    def whole(self) -> Report:
        """Itself, after all that it shows was made: its dataset is read no more."""
        _ = self.sections, self.verdict, self.tiles
        return self

    @property
    def tables(self) -> list[Table]:
        """Its tables, the main one first."""
        return [s for s in self.sections if isinstance(s, Table)]

    @property
    def plots(self) -> list[Plot]:
        """Its plots."""
        return [s for s in self.sections if isinstance(s, Plot)]

    def completed(self, context: ReportContext) -> Report:
        """The report with what its dataset knows of it; what that lacks is a note at the end."""
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
        """The report with one section alone; raises UsageError when it has none of this name."""
        for section in self._first(name):
            if section.name == name:
                return attrs.evolve(self, sections=(section,), context=None, tiles=())
        raise UsageError(
            f"report {self.name!r} has no section {name!r}",
            remedy=suggestion(name, (s.name for s in self.sections)),
        )

    def write(self, target: str | Path) -> list[Path]:
        """Write it to a file whose ending says how, or all of it to a directory.

        Gives the files written.  Raises UsageError for an unknown ending, HarvestError where a
        needed library is not installed.
        """
        return write(self, target)

    def text(self, width: int = 80) -> str:
        """As the terminal shows it."""
        return to_text(self, width)

    def html(self, *, interactive: bool = True) -> str:
        """One page that needs nothing else; raises HarvestError without the extra ``report``.

        interactive: whether scripts may run where it is shown; without, all plots are pictures.
        """
        return to_html(self, interactive=interactive)

    def latex(self) -> str:
        """Its tables for a document that uses the package booktabs."""
        return to_latex(self)

    def to_dict(self) -> dict[str, Any]:
        """Its content as plain values, for JSON."""
        return to_dict(self)


def _check_names(sections: Iterable[Section | LazySection]) -> None:
    seen: set[str] = set()
    for section in sections:
        if section.name in seen:
            raise ValueError(f"two sections are named {section.name!r}")
        seen.add(section.name)
