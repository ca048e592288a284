"""Times of the CSVs: epoch seconds in decimal, read exactly.

A float64 near today's epoch is exact to a quarter of a microsecond only, so rounding it to
microseconds errs now and then.  The decimal text has no such doubt: it is read as two integers.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .arrays import flags

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["epoch_microseconds", "microseconds_of"]

_WHOLE: Final = 10  # digits of the seconds, from 2001 to 2286
_FRACTION: Final = 9
_WIDTH: Final = _WHOLE + 1 + _FRACTION
_DOT: Final = 46
_TENS: Final = 10.0 ** np.arange(_WHOLE - 1, -1, -1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST: Final = 253_402_300_800 * 1_000_000
"""Microseconds at the end of the year 9999."""
_NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_LONGEST: Final = 100


def epoch_microseconds(texts: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Texts such as ``1713553304.3746524`` as microseconds since 1970, to the nearest.

    texts: a pyarrow string array.
    Gives the values, 0 where a text is null or odd, and the rows whose text is not ten digits
    with a fraction of at most nine: those are for :func:`microseconds_of`.
    """
    rows = len(texts)
    values = np.zeros(rows, np.int64)
    _, offsets_buffer, data_buffer = texts.buffers()
    if not rows or data_buffer is None:
        return values, np.zeros(0, np.int64)
    offsets = np.frombuffer(offsets_buffer, np.int32)[texts.offset : texts.offset + rows + 1]
    lengths = np.diff(offsets)
    valid = flags(texts.is_valid())
    usual = valid & (lengths > _WHOLE + 1) & (lengths <= _WIDTH)
    plain = np.flatnonzero(usual)
    if not len(plain):
        return values, np.flatnonzero(valid)
    begin, end = int(offsets[plain[0]]), int(offsets[plain[-1] + 1])
    # room behind the last text, so that a window over it stays inside
    data = np.zeros(end - begin + _WIDTH, np.uint8)
    data[: end - begin] = np.frombuffer(data_buffer, np.uint8)[begin:end]
    windows = np.lib.stride_tricks.sliding_window_view(data, _WIDTH)[offsets[plain] - begin]
    digits = windows - np.uint8(48)
    past_end = np.arange(_FRACTION) >= (lengths[plain] - (_WHOLE + 1))[:, None]
    fraction = digits[:, _WHOLE + 1 :]
    fraction[past_end] = 0
    good = (windows[:, _WHOLE] == _DOT) & (digits[:, :_WHOLE] <= 9).all(axis=1)
    good &= (fraction <= 9).all(axis=1)
    # sums of at most ten digits: exact in float64
    seconds = (digits[:, :_WHOLE] @ _TENS).astype(np.int64)
    nanos = (fraction @ _TENS[-_FRACTION:]).astype(np.int64)
    micros, rest = nanos // 1000, nanos % 1000
    micros += (rest > 500) | ((rest == 500) & (micros % 2 == 1))
    values[plain] = np.where(good, seconds * 1_000_000 + micros, 0)
    usual[plain] = good
    return values, np.flatnonzero(valid & ~usual)


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
