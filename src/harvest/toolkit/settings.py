"""Declare the settings of a plugin: one line each, with meaning and allowed values.

A setting is a field of the attrs class ``Config``. A check takes the value and raises ValueError
with words that follow the setting's name (``must be at least 1, not 0``)::

    @attrs.frozen(kw_only=True)
    class Config:
        batch_rows: int = setting("Rows written at a time.", 1000, at_least(1))
        timezone: str = setting("IANA zone of times that carry none.", "UTC", time_zone)
"""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import attrs

__all__ = [
    "allows", "at_least", "matches", "one_of", "positive", "setting", "some_of", "time_zone",
    "within",
]  # fmt: skip

Check = Callable[[Any], object]
Checking = TypeVar("Checking", bound=Check)


def allows(text: str = "", *, choices: Iterable[str] = ()) -> Callable[[Checking], Checking]:
    """Return a decorator that describes, for people, what a check allows.

    text: the allowed values (``at least 1``); choices: all values, for a choice between words.
    Listings of settings, the reference and shell completion show them.
    """

    def decorate(check: Checking) -> Checking:
        vars(check).update(allowed=text, choices=tuple(choices))
        return check

    return decorate


def setting(
    doc: str, default: Any = None, check: Check | None = None, *, hidden: bool = False, **more: Any
) -> Any:
    """Declare a field of a plugin's ``Config``, built with ``attrs.field``.

    doc: the meaning of the setting; the reference and error messages show it.
    default: its default value; ``attrs.Factory(dict)`` for a mapping.
    check: raises ValueError for a value that is not allowed; None is not checked.
    hidden: accepted but not shown anywhere: a setting without any effect.
    more: passed to ``attrs.field`` (``converter``).
    """

    def validate(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        if check is not None and value is not None:
            try:
                check(value)
            except ValueError as error:
                raise ValueError(f"{attribute.name} {error}") from error

    metadata = {
        "doc": doc,
        "allowed": getattr(check, "allowed", ""),
        "choices": getattr(check, "choices", ()),
        "hidden": hidden,
    }
    return attrs.field(default=default, validator=validate, metadata=metadata, **more)


@allows("more than 0")
def positive(value: float) -> None:
    """Check that a number is greater than 0."""
    if not value > 0:
        raise ValueError(f"must be greater than 0, not {value}")


def _must_be(what: str, holds: Callable[[Any], bool], **allowed: Any) -> Check:
    """Return a check that a condition holds for a value; allowed: arguments of ``allows``."""

    @allows(**allowed)
    def check(value: Any) -> None:
        if not holds(value):
            raise ValueError(f"must be {what}, not {value!r}")

    return check


def at_least(lowest: float) -> Check:
    """Return a check that a number is not below ``lowest``."""
    return _must_be(f"at least {lowest}", lambda n: n >= lowest, text=f"at least {lowest:,}")


def within(lowest: float, highest: float) -> Check:
    """Return a check that a number is from ``lowest`` to ``highest``, both included."""
    text = f"{lowest:,} to {highest:,}"
    return _must_be(f"{lowest} to {highest}", lambda n: lowest <= n <= highest, text=text)


def one_of(choices: Iterable[str]) -> Check:
    """Return a check that a text is one of some words."""
    words = tuple(choices)
    return _must_be(f"one of {', '.join(words)}", words.__contains__, choices=words)


def some_of(choices: Iterable[str]) -> Check:
    """Return a check that each text of a tuple is one of some words."""
    words = tuple(choices)

    @allows(f"of {', '.join(words)}")
    def check(value: tuple[str, ...]) -> None:
        for text in value:
            if text not in words:
                raise ValueError(f"must be of {', '.join(words)}, not {text!r}")

    return check


def matches(pattern: str, remedy: str) -> Check:
    """Return a check that a text, or each text of a tuple, matches a pattern.

    pattern: regular expression for the whole text; remedy: how to write it (``write it like
    128x128``).
    """
    form = re.compile(pattern)

    def check(value: str | tuple[str, ...]) -> None:
        for text in (value,) if isinstance(value, str) else value:
            if not form.fullmatch(text):
                raise ValueError(f"{text!r} is not valid; {remedy}")

    return check


@allows("an IANA time zone")
def time_zone(value: str) -> None:
    """Check that a text is an IANA time zone."""
    try:
        zoneinfo.ZoneInfo(value)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f"{value!r} is not a known IANA zone; use a name such as UTC, America/Chicago or "
            "Europe/Berlin"
        ) from None
