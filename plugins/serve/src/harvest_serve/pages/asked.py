"""The state of a table's page as its address holds it, and the addresses of its links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

import attrs
from starlette.requests import Request

from harvest import UsageError

from ..questions import NO_VALUE, WORDS, Filter, Question, number, question
from ..state import Place

ROWS: Final = 50
PAGE_SIZES: Final = (25, 50, 100, 250)

OFFERED: Final = (("CSV", "csv"), ("Parquet", "parquet"), ("JSON Lines", "jsonl"))
"""The file formats of downloads, with the names that people see."""

_OWN: Final = ("facet", "exact", "rows", "row", "add", "is", "value", "show")


@attrs.frozen(kw_only=True)
class Asked(Question):
    """A question, and how a page shows its answer.

    facets: columns whose values are counted; exact: show values with all their digits.
    rows: of a page; row: number of the only row that is shown.
    """

    facets: tuple[str, ...] = ()
    exact: bool = False
    rows: int = ROWS
    row: int | None = None

    def pairs(self) -> list[tuple[str, str]]:
        """Return the parameters of its address."""
        named = [
            ("condition", self.condition),
            ("sort", ",".join(f"{'-' if down else ''}{name}" for name, down in self.sort)),
            ("columns", ",".join(self.columns or ())),
            ("facet", ",".join(self.facets)),
            ("exact", "1" if self.exact else ""),
            ("rows", str(self.rows) if self.rows != ROWS else ""),
            ("offset", str(self.offset) if self.offset else ""),
            ("row", str(self.row) if self.row else ""),
        ]
        return [
            *as_parameters(self.settings).items(),
            *((f"{each.column}.{each.operator}", each.value) for each in self.where),
            *((name, value) for name, value in named if value),
        ]

    def of_rows(self, **changes: Any) -> Asked:
        """Change parts of the question, from its first row on, and show its rows as by default."""
        return self.change(facets=(), exact=False, rows=ROWS, **changes)

    def change(self, **changes: Any) -> Asked:
        """Change parts of the question, and go to its first row unless ``offset`` is given."""
        return attrs.evolve(self, **({"offset": 0} | changes))

    def order_of(self, name: str) -> str:
        """Return the order of a column, for ``aria-sort``."""
        down = dict(self.sort[:1]).get(name)
        return "none" if down is None else "descending" if down else "ascending"

    def sorted_by(self, name: str, *, down_first: bool) -> Asked:
        """Sort by one column: in one direction, then in the other, then not at all."""
        now = dict(self.sort[:1]).get(name)
        if now is None:
            return self.change(sort=((name, down_first),))
        return self.change(sort=((name, not now),) if now == down_first else ())

    def toggle_facet(self, name: str) -> Asked:
        """Begin or stop to count the values of a column."""
        others = tuple(each for each in self.facets if each != name)
        return attrs.evolve(self, facets=others if name in self.facets else (*self.facets, name))

    def with_value(self, column: str, value: object) -> Asked:
        """Select the rows with a value in a column; None means an unknown value."""
        text = str(value).lower() if isinstance(value, bool) else str(value)
        new = Filter(column, "null") if value is None else Filter(column, "eq", text)
        return self if new in self.where else self.change(where=(*self.where, new))


def asked_of(request: Request) -> Asked:
    """Read a page's state from a request; raises UsageError for an unknown or invalid parameter."""
    given = request.query_params
    rows = number(given.get("rows"), "rows") or ROWS
    if rows > max(PAGE_SIZES):
        raise UsageError(
            f"{rows:,} rows are too many for a page", remedy=f"at most {max(PAGE_SIZES)}"
        )
    return Asked(
        **attrs.asdict(question(given.multi_items(), _OWN), recurse=False),
        facets=tuple(name for name in given.get("facet", "").split(",") if name),
        exact=given.get("exact", "") not in ("", "0"),
        rows=rows,
        row=number(given.get("row"), "row"),
    )


def complete(request: Request, asked: Asked) -> Asked | None:
    """Add what a form sends, a filter or the columns to show; None where a form sent nothing.

    A form sends column, operator and value separately; an address has one parameter for them.
    """
    given = request.query_params
    column, operator = given.get("add"), given.get("is", "")
    if column is not None:
        if operator not in WORDS:
            raise UsageError(f"{operator!r} is not a condition", remedy=f"use {', '.join(WORDS)}")
        value = "" if operator in NO_VALUE else given.get("value", "")
        return asked.change(where=(*asked.where, Filter(column, operator, value)))
    if given.getlist("show"):
        return asked.change(columns=tuple(given.getlist("show")))
    return None


def as_parameters(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings of a view or report as parameters of an address."""
    return {f"set.{name}": value for name, value in settings.items()}


def downloads(here: Place, table: str, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the file formats for all rows, each with its address."""
    return [
        (label, f"/api/{here.name}/tables/{table}/rows?{urlencode([*pairs, ('form', form)])}")
        for label, form in OFFERED
    ]
