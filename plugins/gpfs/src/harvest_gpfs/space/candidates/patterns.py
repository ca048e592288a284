"""Patterns of paths: one meaning, as a regular expression and as LIKE of the policy language.

``*`` stands for any text, ``?`` for a character; nothing else is special, since LIKE knows no more.
A pattern that begins with a slash is of a whole path, another one of names anywhere in it; what
lies below a directory that fits, fits too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

__all__ = ["fits", "inside", "like", "literal", "within"]


def fits(patterns: Sequence[str]) -> pl.Expr:
    """Whether one of the patterns fits ``path``; raises ValueError for one that fits all."""
    every = "|".join(_regex(pattern) for pattern in map(_plain, patterns))
    return pl.col("path").str.contains(f"(?s)(?:{every})")


def inside(directories: Iterable[str]) -> pl.Expr:
    """Whether ``path`` is one of the directories, or lies below one."""
    path = pl.col("path")
    plain = [directory.rstrip("/") for directory in directories]
    return pl.any_horizontal((path == d) | path.str.starts_with(f"{d}/") for d in plain)


def like(patterns: Iterable[str]) -> str:
    """The same as an SQL expression of a policy rule."""
    return _any(
        f"PATH_NAME LIKE {text}"
        for pattern in map(_plain, patterns)
        for text in _likes(pattern if pattern.startswith("/") else f"*/{pattern}")
    )


def within(directories: Iterable[str]) -> str:
    """``inside`` as an SQL expression of a policy rule."""
    return _any(f"PATH_NAME LIKE {_like(d.rstrip('/') + '/', '%')}" for d in directories)


def literal(text: str) -> str:
    """A text as the policy language reads it: between apostrophes.

    The brackets are quotes of m4, which reads a rule file first and would replace its own words.
    """
    return "['" + text.replace("'", "''") + "']"


def _plain(pattern: str) -> str:
    plain = pattern.rstrip("/")
    if not plain.strip("*"):
        raise ValueError(f"the pattern {pattern!r} fits every path")
    return plain


def _regex(pattern: str) -> str:
    special = {"*": ".*", "?": "."}
    text = "".join(special.get(c) or pl.escape_regex(c) for c in pattern)
    return f"^{text}(?:/|$)" if pattern.startswith("/") else f"(?:^|/){text}(?:/|$)"


def _likes(pattern: str) -> tuple[str, str]:
    """What fits the pattern, and what lies below it."""
    return _like(pattern, "", special=True), _like(pattern, "/%", special=True)


def _like(text: str, end: str, *, special: bool = False) -> str:
    """A text as the operand of LIKE.

    A character that m4 or the policy language would take for its own becomes ``_``, any character.
    """
    wild = {"*": "%", "?": "_"} if special else {}
    own = dict.fromkeys("[]'\n", "_")
    escaped = {c: f"!{c}" for c in "%_!"}
    escaped_text = "".join((wild | own | escaped).get(c, c) for c in text) + end
    return literal(escaped_text) + (" ESCAPE '!'" if any(c in text for c in escaped) else "")


def _any(tests: Iterable[str]) -> str:
    return "(" + "\n    OR ".join(tests) + ")"
