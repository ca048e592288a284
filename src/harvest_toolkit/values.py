"""Parse whole columns of texts as one kind of value: text, number, duration, time.

A kind makes an Arrow column of spans, with a mask of the valid values::

    column, good = INTEGER.read(texts, there)

``pairs`` takes kinds by key; ``LocalTimes`` parses times without a zone.
"""

from collections.abc import Callable
from typing import Final

import attrs
import numpy as np
import polars as pl
import pyarrow as pa

from harvest import Partition, ReadContext

from . import spans
from .clocks import Shown, undecided_note
from .line_blocks import Faults
from .spans import Flags, Ints, Spans, strings, unsigned

__all__ = ["CLOCK", "EPOCH", "INTEGER", "SIZE", "SIZE_UNITS", "TEXT", "Kind", "LocalTimes"]

_MINUS: Final = ord("-")
_UTC: Final = pa.timestamp("us", tz="UTC")
_LOWER: Final = np.uint64(0x2020)
_FIRST: Final = np.array([0, 0xFF, 0xFFFF], np.uint64)
SIZE_UNITS: Final = {
    prefix + unit: 10 * place + 3 * (unit == "w")
    for place, prefix in enumerate(("", "k", "m", "g", "t", "p"))
    for unit in ("", "b", "w")
}
"""Bits to shift a number by its unit, in lower case; a word has 8 bytes."""
_LAST_SECOND: Final = 253_402_300_799
"""The last second of the year 9999, since 1970."""


@attrs.frozen
class Kind:
    """A kind of values.

    what: words for it (``a whole number``) in the reason of a reject.
    read: parses texts, with a mask of where a text exists, into a column that is null elsewhere;
        also returns the mask of valid values, which is true where no text exists.
    """

    what: str
    read: Callable[[Spans, Flags], tuple[pa.Array, Flags]]


def _texts(texts: Spans, there: Flags) -> tuple[pa.Array, Flags]:
    return strings(texts, there), np.ones(len(there), bool)


def _signed(texts: Spans) -> tuple[Ints, Flags]:
    minus = (texts.data[texts.start] == _MINUS) & (texts.length > 0)
    value, good = unsigned(texts.data, texts.start + minus, texts.end)
    return np.where(minus, -value, value), good


def _epochs(texts: Spans) -> tuple[Ints, Flags]:
    value, good = _signed(texts)
    good &= np.abs(value) <= _LAST_SECOND
    return np.where(good, value, 0) * 1_000_000, good


def _sizes(texts: Spans) -> tuple[Ints, Flags]:
    value, digits = spans.leading_digits(texts.data, texts.start)
    rest = texts.length - digits
    # the unit in lower case, without bytes behind the text
    unit = (spans.word_at(texts.data, texts.start + digits) | _LOWER) & _FIRST[np.clip(rest, 0, 2)]
    shift = np.full(len(value), -1)
    for name, bits in SIZE_UNITS.items():
        known = (unit == np.uint64(int.from_bytes(name.encode(), "little"))) & (rest == len(name))
        shift[known] = bits
    good = (digits >= 1) & (digits <= 18) & (shift >= 0)
    good &= value <= (2**63 - 1) >> np.maximum(shift, 0)
    return np.where(good, value, 0) << np.maximum(shift, 0), good


def _durations(texts: Spans) -> tuple[Ints, Flags]:
    value, good = spans.long_clock_seconds(texts)
    if good.all():
        return value, good
    seconds, plain = unsigned(texts.data, texts.start, texts.end)
    return np.where(plain, seconds, value), good | plain


def _kind(
    what: str, read: Callable[[Spans], tuple[Ints, Flags]], kind: pa.DataType | None = None
) -> Kind:
    """Make a kind that parses whole numbers; kind: another type of its column."""

    def column(texts: Spans, there: Flags) -> tuple[pa.Array, Flags]:
        value, good = read(texts)
        found = pa.array(value, mask=~(good & there))
        return found if kind is None else found.cast(kind), good | ~there

    return Kind(what, column)


TEXT: Final = Kind("a text", _texts)
INTEGER: Final = _kind("a whole number", _signed)
"""Up to 18 digits, with or without a minus sign."""
EPOCH: Final = _kind("a time in seconds since 1970", _epochs, _UTC)
CLOCK: Final = _kind("a duration such as 36:00:00", _durations, pa.float64())
"""``HH:MM:SS`` with any number of hours, or a number of seconds, as float seconds."""
SIZE: Final = _kind("a size such as 1024kb", _sizes)
"""A whole number with its unit in upper or lower case, in bytes.

k, m, g, t and p are powers of 1024, followed by b (bytes, the default) or w (words of 8 bytes)."""


@attrs.define
class LocalTimes:
    """Parser of local times, which carry no zone.

    form: format of the times, as for ``strptime``.
    zone: IANA name of the clock's zone; None reads UTC and notes that the zone is undeclared.
    setting: the setting with which a user declares the zone.

    A time that the clock skipped is a fault.  A time that the clock showed twice is read as its
    first occurrence; see ``clocks`` for how other times of a row decide it.
    """

    form: str
    zone: str | None
    setting: str
    _undeclared: int = attrs.field(default=0, init=False)
    _twice: int = attrs.field(default=0, init=False)

    def read(self, texts: Spans, faults: Faults) -> pa.Array:
        """Parse times into UTC; an invalid time is null and a fault."""
        zone = self.zone or "UTC"
        local = pl.Series(strings(texts)).str.to_datetime(self.form, time_unit="us", strict=False)
        shown = Shown.of(local, zone)
        self._twice += len(shown.rows)
        first = shown.first
        self._undeclared += len(first) - first.null_count() if self.zone is None else 0
        faults.mark(local.is_null().to_numpy(), "no time, or another form of it")
        faults.mark(first.is_null().to_numpy(), f"a time that the clocks in {zone} skipped")
        return first.to_physical().to_arrow().view(_UTC)

    def note(self, ctx: ReadContext, partition: Partition) -> None:
        """Note what was assumed; an undeclared zone is noted once per file."""
        if self._undeclared and not partition.start:
            ctx.note(
                f"times carry no zone and were read as UTC; set {self.setting} to the zone of "
                "the clock that they are from"
            )
        if self._twice:
            ctx.note(undecided_note(self._twice, self.zone or "UTC"))
