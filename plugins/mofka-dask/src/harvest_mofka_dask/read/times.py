"""Times of the CSVs in other forms than ten digits and a fraction, one by one, read exactly."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST: Final = 253_402_300_800 * 1_000_000
"""Microseconds at the end of the year 9999."""
_NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_LONGEST: Final = 100


def microseconds_of(text: str) -> int | None:
    """One time as microseconds since 1970: epoch seconds, or ISO 8601 with an offset.

    A pair of quotes around it is taken off.  None where it is neither, is not finite, or lies
    outside the years 1970 to 9999.
    """
    word = text.strip()
    if len(word) >= 2 and word[0] == word[-1] and word[0] in "'\"":
        word = word[1:-1].strip()
    if len(word) > _LONGEST:
        return None
    value = _from_number(word) if _NUMBER.fullmatch(word) else _from_iso(word)
    return value if value is not None and 0 <= value < _LAST else None


def _from_number(word: str) -> int | None:
    try:
        seconds = Decimal(word)
    except InvalidOperation:  # pragma: no cover - the pattern admits no such text
        return None
    if seconds.adjusted() > 12:
        return None
    return int((seconds * 1_000_000).to_integral_value(ROUND_HALF_EVEN))


def _from_iso(word: str) -> int | None:
    try:
        moment = datetime.fromisoformat(word)
        if moment.tzinfo is None:
            return None
        return (moment - _EPOCH) // timedelta(microseconds=1)
    except (ValueError, OverflowError):
        return None
