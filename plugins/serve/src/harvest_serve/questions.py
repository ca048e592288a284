"""The parameters by which an address asks for rows, the same for pages and programs.

==================  =========================================================================
``COLUMN.OP=VALUE``  a condition on a column; OP is a name in ``filters.WORDS``. Repeatable.
``sort``             ``COLUMN``, or ``-COLUMN`` for largest first; several with commas
``offset, limit``    which of the rows
``columns``          only these, with commas
``condition``        one more condition, in SQL
``set.NAME``         a setting of a view
==================  =========================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from harvest import UsageError

from .filters import WORDS, Filter
from .settings import settings_key


@attrs.frozen(kw_only=True)
class Question:
    """Which rows of a table are asked for, in which order, with which columns.

    settings: of a view, by name.
    where: conditions on columns, all of which must hold; condition: one more, in SQL.
    sort: columns, each with whether its largest values come first; unknown values come last. Equal
    rows, and rows without a sort, keep the dataset's order.
    offset: rows to skip; limit: rows to return, None for as many as one answer holds. columns: only
    these, in this order; None for all.
    """

    settings: Mapping[str, Any] = attrs.field(factory=dict, eq=settings_key)
    where: tuple[Filter, ...] = ()
    sort: tuple[tuple[str, bool], ...] = ()
    offset: int = 0
    limit: int | None = None
    columns: tuple[str, ...] | None = None
    condition: str | None = None


def question(parameters: Iterable[tuple[str, str]], others: Iterable[str] = ()) -> Question:
    """Read a question from an address's parameters; others: further parameters that are allowed.

    An empty setting is ignored, because forms send it. Raises UsageError for an unknown parameter.
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
    """Parse an integer from 0 on; None where it is missing. Raises UsageError for other texts."""
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise UsageError(f"{text!r} is not a number of rows", where=name, remedy="write one from 0")
    return int(text)
