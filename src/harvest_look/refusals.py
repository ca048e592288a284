"""What polars says of a condition that it refuses, in the words of who wrote it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Final

import polars as pl

from harvest import UsageError
from harvest.toolkit.texts import printable_line

_SIDE: Final = r"series '(.+?)' of dtype: (.+?)"
_SENTENCES: Final = (
    (r"unable to parse .*", "a part of it is missing, or not in its place"),
    (r"unsupported function '(.+?)'", r"there is no function \1 here (harvest query has more)"),
    (r"cannot compare string with numeric type.*", "a text is compared with a number"),
    (r"cannot compare 'date/datetime/time' to a string.*", "a time is compared with a text"),
    (r"'is_in' cannot check .*", "what is listed behind IN is of another type than the column"),
    (
        rf"could not evaluate .* comparison between {_SIDE} and {_SIDE}",
        r"\1 is of type \2, and is compared with what is of type \4",
    ),
    (
        r"(?:expected String type, got: |invalid series dtype: expected `String`, got )"
        r"`?(.+?)`?(?: for .*)?",
        r"it asks for a text, where there is \1",
    ),
    (r"arithmetic on dtypes (.+?) and (.+?) is not allowed.*", r"it calculates with \1 and \2"),
    (r".*subplan.*", "it has a query within (harvest query takes one)"),
    (r"unable to find column \"(.+?)\".*", r"there is no column \1"),
)
_WRONG: Final = re.compile(
    r"conversion from `\w+` to `(.+?)` failed in column '(.+?)' for .*? values: \[\"?(.*?)\"?[,\]]"
)


def in_a_sentence(message: str) -> str:
    """A message of ``harvest.toolkit.frames.condition`` without what polars' developers need."""
    head, colon, said = message.partition(": ")
    if not colon:
        return message
    for pattern, sentence in _SENTENCES:
        if re.fullmatch(pattern, said):
            return f"{head}: {re.sub(pattern, sentence, said)}"
    return message


@contextlib.contextmanager
def refused_values(sql: str | None) -> Iterator[None]:
    """Raise UsageError for a condition that converts values which cannot be converted.

    sql: the condition; None where there is none.
    """
    try:
        yield
    except pl.exceptions.PolarsError as error:
        found = _WRONG.match(str(error))
        if sql is None or found is None or found[2] not in sql:
            raise
        kind, column, value = found.groups()
        raise UsageError(
            f"{column} has values that are no {kind}, such as {printable_line(value)!r}",
            where=sql,
            remedy=f"TRY_CAST({column} AS ...) gives null for these",
        ) from error
