"""``harvest view``: the views there are, or one of a dataset, shown or written to a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import attrs
import polars as pl

from harvest import Column, Dataset, UsageError, View
from harvest.commands import remark
from harvest.commands.asking import answer
from harvest.commands.declared import columns_of
from harvest.commands.progress import working
from harvest.commands.settings import key_values
from harvest.commands.tables import how_many
from harvest.errors import suggestion
from harvest.plugins import manager
from harvest.toolkit.frames import condition
from harvest.toolkit.texts import printable_line
from harvest_report.records import Style, print_records, print_rows_as_json

from .asked import named
from .files import export

__all__ = ["Choice", "show_view"]

REST = "--wide shows all, --columns NAME,NAME these, -o FILE.csv writes all"
VALUES_NAMED = 12
ROWS_SHOWN = 20
"""Rows of a table on a terminal where none are asked for."""


_TEXTS = re.compile(r"'((?:[^']|'')*)'")
"""Texts in an SQL condition."""


@attrs.frozen(kw_only=True)
class Choice:
    """What is shown of a view: the condition, the order, the columns, and how many rows."""

    where: str | None = None
    sort: str | None = None
    columns: str | None = None
    rows: int | None = None

    def remarks(self, frame: pl.LazyFrame) -> list[str]:
        """Why its condition may fit no row: the values of columns of text that it never has.

        The most frequent ones, after those that differ from it in capitals alone.
        """
        wanted = [text.replace("''", "'") for text in _TEXTS.findall(self.where or "")]
        names = condition(self.where, frame).meta.root_names() if self.where and wanted else []
        said = []
        for name in sorted(set(names)):
            text = pl.col(name).cast(pl.String)
            if frame.collect_schema()[name] not in (pl.String, pl.Categorical, pl.Enum):
                continue
            seen = frame.select(text).drop_nulls().group_by(name).len().collect()
            if seen.is_empty() or not seen.filter(text.is_in(wanted)).is_empty():
                continue
            alike = text.str.to_lowercase().is_in([each.lower() for each in wanted])
            seen = seen.sort(alike, "len", name, descending=[True, True, False])
            values = ", ".join(map(printable_line, seen[name].head(VALUES_NAMED)))
            more = seen.height - VALUES_NAMED
            said.append(f"{name} has the values {values}" + (f" and {more:,} others" * (more > 0)))
        return said

    def of(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """The chosen rows and columns; raises UsageError for what the frame does not have."""
        if self.where is not None:
            frame = frame.filter(condition(self.where, frame))
        if self.sort is not None:
            words = [part.split() for part in self.sort.split(",")]
            if not all(words) or any(w[1:] not in ([], ["asc"], ["desc"]) for w in words):
                raise UsageError(
                    f"{self.sort!r} is not an order", remedy="write --sort 'COLUMN desc, COLUMN'"
                )
            names = [w[0] for w in words]
            self._check(names, frame)
            down = [w[1:] == ["desc"] for w in words]
            frame = frame.sort(names, descending=down, nulls_last=True, maintain_order=True)
        if self.columns is not None:
            names = [name.strip() for name in self.columns.split(",")]
            self._check(names, frame)
            frame = frame.select(names)
        return frame

    @staticmethod
    def _check(names: Sequence[str], frame: pl.LazyFrame) -> None:
        known = frame.collect_schema().names()
        for name in names:
            if name not in known:
                raise UsageError(f"unknown column {name!r}", remedy=suggestion(name, known))


def show_view(
    name: str,
    dataset: Path | None,
    output: Path | None,
    settings: list[str] | None,
    choice: Choice,
    *,
    json: bool,
    exact: bool,
    wide: bool,
) -> int:
    """Print a view of a dataset, or write it to a file."""
    spec, dataset = named("view", name, dataset, manager())
    if output is not None and json:
        raise UsageError("--json prints and --output writes", remedy="give one of them")
    rows, room = choice.rows, choice.rows or ROWS_SHOWN
    with working(f"building {name}"):
        given = key_values(settings)

        def ask(opened: Dataset) -> tuple[pl.DataFrame, int, list[str]]:
            """The rows that are printed, how many there are, and what to say where none are."""
            view = opened.view(name, **given)
            first, total = chosen(choice.of(view))
            return first, total, [] if total else choice.remarks(view)

        def chosen(frame: pl.LazyFrame) -> tuple[pl.DataFrame, int]:
            asked = frame if rows is None else frame.head(rows)
            if output is not None:
                return pl.DataFrame(), export(asked, output, text=_text(spec))
            if json:
                every = asked.collect()
                return every, every.height
            first = frame.head(room + 1).collect()
            return first, first.height if first.height <= room else _height(frame)

        first, total, remarks = answer(dataset, ask)
    for each in remarks:
        remark(f"no row of {name} fits {choice.where}: {each}")
    if output is not None:
        print(f"{how_many(total, 'row')} of {name} written to {output}")
        return 0
    if json:
        print_rows_as_json(name, first)
        return 0
    style = Style(exact=exact, wide=wide, rest=REST)
    known = columns_of(spec, manager())
    if choice.columns is not None or not spec.columns:
        # their order is the user's or the view's own
        known = {column: known.get(column, Column(column)) for column in first.columns}
    print_records(name, first.head(room), known, style, total=total)
    return 0


def _height(frame: pl.LazyFrame) -> int:
    return int(frame.select(pl.len()).collect().item())


def _text(spec: View) -> Callable[[pl.DataFrame], Iterable[str]] | None:
    """What makes a text of each row of a view; None where the view declares none."""
    if spec.text is None:
        return None
    return lambda frame: manager().load_part(spec, spec.text, f"the text of {spec.name!r}")(frame)
