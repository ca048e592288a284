"""The parameters by which an address asks for rows, the same for pages and programs.

==================  =========================================================================
``COLUMN.OP=VALUE``  a condition on a column; OP is a name in WORDS. Repeatable.
``sort``             ``COLUMN``, or ``-COLUMN`` for largest first; several with commas
``offset, limit``    which of the rows
``columns``          only these, with commas
``condition``        one more condition, in SQL
``set.NAME``         a setting of a view
==================  =========================================================================
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from typing import Any, Final

import attrs

from harvest import UsageError
from harvest.errors import suggestion

from .engine.guarded import quote_name
from .settings import settings_key

_OPERATORS: Final = {
    "eq": ("is", "{} = ?"),
    "ne": ("is not", "{} <> ?"),
    "lt": ("less than", "{} < ?"),
    "le": ("at most", "{} <= ?"),
    "gt": ("more than", "{} > ?"),
    "ge": ("at least", "{} >= ?"),
    "contains": ("contains", "contains({}, ?)"),
    "starts": ("begins with", "starts_with({}, ?)"),
    "ends": ("ends with", "ends_with({}, ?)"),
    "null": ("is unknown", "{} IS NULL"),
    "notnull": ("is known", "{} IS NOT NULL"),
}

WORDS: Final = {name: words for name, (words, _) in _OPERATORS.items()}
"""Operators in words, by their name in addresses."""

_COMPARED: Final = ("eq", "ne", "lt", "le", "gt", "ge")
NO_VALUE: Final = ("null", "notnull")
"""Operators that need no value."""

_CAST: Final = {
    "time": "CAST(? AS TIMESTAMP WITH TIME ZONE)",
    "date": "CAST(? AS DATE)",
    "time of day": "CAST(? AS TIME)",
}
"""SQL that converts a value given as text."""


@attrs.frozen
class Filter:
    """A condition on one column: its name, an operator's name in WORDS, and the value as text.

    Text comparison respects case; times without a zone are UTC.
    """

    column: str
    operator: str
    value: str = ""

    def __str__(self) -> str:
        value = "" if self.operator in NO_VALUE else f" {self.value or '(empty)'}"
        return f"{self.column} {WORDS[self.operator]}{value}"


OPERATORS: Final = {
    "numbers and times": (*_COMPARED, *NO_VALUE),
    "text": ("eq", "ne", "contains", "starts", "ends", "lt", "le", "gt", "ge", *NO_VALUE),
    "yes or no": ("eq", "ne", *NO_VALUE),
    "any column": NO_VALUE,
}
"""The operators for each kind of column."""

_KINDS: Final = {
    **dict.fromkeys(("integer", "number", "time", "date", "time of day"), "numbers and times"),
    "text": "text",
    "boolean": "yes or no",
}


def kind_of(type: str) -> str:  # noqa: A002 - what it is
    """Return the kind of a column's type in ``describe``, which determines its operators."""
    return _KINDS.get(type, "any column")


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
    columns = tuple(dict.fromkeys(name for name in found.get("columns", "").split(",") if name))
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


def where_sql(
    where: Sequence[Filter], types: Mapping[str, str], condition: str | None
) -> tuple[str, list[Any]]:
    """Return a WHERE clause, empty for all rows, and its values.

    types: of the columns, by name. Raises UsageError for an invalid column, operator or value.
    """
    terms: list[str] = []
    values: list[Any] = []
    for each in where:
        if each.column not in types:
            raise UsageError(
                f"no column is named {each.column!r}", remedy=suggestion(each.column, types)
            )
        fitting = OPERATORS[kind_of(types[each.column])]
        if each.operator not in fitting:
            raise UsageError(
                f"{each.operator!r} is not an operator for {each.column}, which is "
                f"{types[each.column]}",
                remedy=f"use one of {', '.join(fitting)}",
            )
        sql = _OPERATORS[each.operator][1].format(quote_name(each.column))
        terms.append(sql.replace("?", _CAST.get(types[each.column], "?")))
        if each.operator not in NO_VALUE:
            values.append(_value(each, types[each.column]))
    if condition:
        terms.append(f"({condition}\n)")
    return (f" WHERE {' AND '.join(terms)}" if terms else ""), values


def _value(given: Filter, type: str) -> Any:  # noqa: A002 - what it is
    read, what = _READ[type]
    try:
        return read(given.value.strip() if type != "text" else given.value)
    except (ValueError, OverflowError):  # a time may be out of range in UTC
        raise UsageError(
            f"{given.value!r} is not of the type {type}", where=given.column, remedy=f"write {what}"
        ) from None


def _moment(text: str) -> str:
    found = datetime.fromisoformat(text)
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC).isoformat()


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


def _integer(text: str) -> int | float:
    """Parse an integer, or a number such as 1.5 or 1e9, which integers can be compared with."""
    plain = text.replace(",", "").replace("_", "")
    try:
        found = int(plain)
    except ValueError:
        return float(text)
    # no larger integer can be asked for
    return found if abs(found) < 2**127 else float(plain)


_READ: Final[dict[str, tuple[Callable[[str], Any], str]]] = {
    "integer": (_integer, "a number, such as 1000 or 1e9"),
    "number": (float, "a number, such as 1.5 or 1e9"),
    "text": (str, "text"),
    "boolean": (_boolean, "true or false"),
    "time": (_moment, "a time such as 2026-03-02 or 2026-03-02T10:00:00"),
    "date": (lambda text: date.fromisoformat(text).isoformat(), "a date such as 2026-03-02"),
    "time of day": (
        lambda text: time.fromisoformat(text).replace(tzinfo=None).isoformat(),
        "a time such as 10:00:00",
    ),
}
