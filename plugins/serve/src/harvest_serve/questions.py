"""What an address asks of a table: the same parameters for pages and programs.

==================  =========================================================================
``COLUMN.OP=VALUE``  a condition on a column; OP as ``filters.WORDS`` has them. Repeatable.
``sort``             ``COLUMN`` or ``-COLUMN``, the largest first; several by commas
``offset, limit``    which of the rows
``columns``          only these, by commas
``condition``        one in SQL, besides
``set.NAME``         a setting of a view
==================  =========================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from harvest import UsageError

from .filters import WORDS, Filter


@attrs.frozen(kw_only=True)
class Question:
    """Which rows of a table are asked for, in which order, and which of their columns.

    settings: of a view, by name.
    where: conditions on columns, all of which hold; condition: one in SQL, besides.
    sort: columns, the first first, each with whether its largest values come first; unknown values
    come
    last.  Equal rows, and all without it, stand in the dataset's order.
    offset: how many of these rows are left out before; limit: how many are given, None for as many
    as one answer gives.  columns: only these, in this order; None for all.
    """

    settings: Mapping[str, Any] = attrs.field(factory=dict)
    where: tuple[Filter, ...] = ()
    sort: tuple[tuple[str, bool], ...] = ()
    offset: int = 0
    limit: int | None = None
    columns: tuple[str, ...] | None = None
    condition: str | None = None


def question(parameters: Iterable[tuple[str, str]], others: Iterable[str] = ()) -> Question:
    """What the parameters of an address ask; others: names of those that are somebody else's.

    A setting that is empty is left out, as a form gives it.  Raises UsageError for an unknown one.
    """
    settings: dict[str, str] = {}
    where: list[Filter] = []
    found: dict[str, str] = {}
    for name, value in parameters:
        column, dot, operator = name.rpartition(".")
        if name.startswith("set."):
            if value != "":
                settings[name[4:]] = value
        elif dot and operator in WORDS:
            where.append(Filter(column, operator, value))
        elif name in ("sort", "offset", "limit", "columns", "condition"):
            found[name] = value
        elif name not in {*others, "token"}:
            raise UsageError(
                f"no parameter is named {name!r}",
                remedy="use COLUMN.OPERATOR, with an operator of "
                + ", ".join(WORDS)
                + "; sort, offset, limit, columns, condition or set.NAME",
            )
    columns = tuple(name for name in found.get("columns", "").split(",") if name)
    return Question(
        settings=settings,
        where=tuple(where),
        sort=tuple(
            (name.removeprefix("-"), name.startswith("-"))
            for name in found.get("sort", "").split(",")
            if name
        ),
        offset=number(found.get("offset"), "offset") or 0,
        limit=number(found.get("limit"), "limit"),
        columns=columns or None,
        condition=found.get("condition") or None,
    )


def number(text: str | None, name: str) -> int | None:
    """A whole number from 0; None where it is left out.  Raises UsageError for another."""
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise UsageError(f"{text!r} is not a number of rows", where=name, remedy="write one from 0")
    return int(text)
