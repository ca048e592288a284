"""Choose the rows, order and columns that ``harvest view`` shows."""

import re
from collections.abc import Mapping, Sequence

import attrs
import polars as pl

from harvest import Column, UsageError, View
from harvest.commands.declared import columns_of
from harvest.errors import suggestion
from harvest.plugins import manager
from harvest.toolkit.texts import printable_line

from .where import condition_of

VALUES_NAMED = 12
ROWS_SHOWN = 20
"""Rows of a table on a terminal by default."""
ROWS_AT_ONCE = 10_000
"""Further rows that are collected: counting so few would repeat the work of the view."""

_TEXTS = re.compile(r"'((?:[^']|'')*)'")
"""String literals in an SQL condition."""


@attrs.frozen(kw_only=True)
class Choice:
    """The condition, order, columns and number of rows to show of a view."""

    where: str | None = None
    sort: str | None = None
    columns: str | None = None
    rows: int | None = None

    def remarks(self, frame: pl.LazyFrame) -> list[str]:
        """Explain why the condition may match no row: it compares text columns with absent values.

        Lists the values that differ only in case, then the most frequent ones.
        """
        wanted = [text.replace("''", "'") for text in _TEXTS.findall(self.where or "")]
        names = condition_of(self.where, frame).meta.root_names() if self.where and wanted else []
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
        """Return the chosen rows and columns; raises UsageError for unknown columns."""
        if self.where is not None:
            frame = frame.filter(condition_of(self.where, frame))
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
            names = list(dict.fromkeys(name.strip() for name in self.columns.split(",")))
            self._check(names, frame)
            frame = frame.select(names)
        return frame

    def cut(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """Limit chosen rows to the wanted number."""
        return frame if self.rows is None else frame.head(self.rows)

    def first(self, frame: pl.LazyFrame) -> tuple[pl.DataFrame, int]:
        """Return the rows that a terminal shows, and the number of all rows."""
        room = self.rows or ROWS_SHOWN
        first = frame.head(room + ROWS_AT_ONCE).collect()
        if first.height < room + ROWS_AT_ONCE:
            return first.head(room), first.height
        return first.head(room), int(frame.select(pl.len()).collect().item())

    def meanings(self, spec: View, shown: pl.DataFrame) -> Mapping[str, Column]:
        """Return the declared columns of a view by name, in the order shown."""
        known = columns_of(spec, manager())
        if self.columns is None and spec.columns:
            return known
        # in the order that the user or the view gives
        return {column: known.get(column, Column(column)) for column in shown.columns}

    @staticmethod
    def _check(names: Sequence[str], frame: pl.LazyFrame) -> None:
        known = frame.collect_schema().names()
        for name in names:
            if name not in known:
                raise UsageError(f"unknown column {name!r}", remedy=suggestion(name, known))
