"""Settings of the source ``ncem``, and durations as users write them: ``-27ms``, ``00:29:00``."""

from __future__ import annotations

import re
from decimal import Decimal

import attrs

from harvest.toolkit.settings import setting, time_zone

DEFAULT_ZONE = "America/Los_Angeles"

_UNITS = {
    "us": 1,
    "µs": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "m": 60_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
}
_WITH_UNIT = re.compile(r"([+-]?)(\d+(?:\.\d*)?|\.\d+)\s*(us|µs|ms|s|min|m|h)")
_CLOCK = re.compile(r"([+-]?)(\d+):([0-5]\d):([0-5]\d(?:\.\d+)?)")


def microseconds(text: str | float) -> int:
    """Parse a duration to whole microseconds, exactly; a plain number is in seconds.

    Raises ValueError if the text is not a duration, or is finer than a microsecond.
    """
    if isinstance(text, bool) or not isinstance(text, (str, int, float)):
        raise ValueError(f"{text!r} is not a duration; write it like -27ms, 1.5s or 29m")
    if not isinstance(text, str):
        return _whole(Decimal(str(text)) * 1_000_000, text)
    word = text.strip()
    if found := _WITH_UNIT.fullmatch(word):
        sign, number, unit = found.groups()
        value = Decimal(number) * _UNITS[unit]
    elif found := _CLOCK.fullmatch(word):
        sign, hours, minutes, rest = found.groups()
        value = (Decimal(hours) * 3600 + Decimal(minutes) * 60 + Decimal(rest)) * 1_000_000
    elif re.fullmatch(r"[+-]?0+", word):
        return 0
    else:
        raise ValueError(
            f"{text!r} is not a duration; write a number with a unit (us, ms, s, m, h), "
            "such as -27ms, or HH:MM:SS"
        )
    return _whole(-value if sign == "-" else value, text)


def _whole(value: Decimal, text: object) -> int:
    if not value.is_finite() or value != value.to_integral_value() or abs(value) > 10**17:
        raise ValueError(f"{text!r} is not a whole number of microseconds")
    return int(value)


def seconds(text: str | float) -> float:
    """Parse a duration to seconds."""
    if isinstance(text, float):  # measured values, returned with all their digits
        return text
    return microseconds(text) / 1e6


def _offsets(
    instance: object, attribute: attrs.Attribute[dict[str, str]], value: dict[str, str]
) -> None:
    for key, text in value.items():
        if not re.fullmatch(r"\d+|ncem|nersc", key):
            raise ValueError(
                f"clock_offset.{key}: no such clock; name a receiver by its number, "
                "or a site: ncem, nersc"
            )
        try:
            microseconds(text)
        except ValueError as error:
            raise ValueError(f"clock_offset.{key}: {error}") from error


@attrs.frozen(kw_only=True)
class NcemConfig:
    """Settings for clocks and for times without a zone."""

    timezone: str = setting(
        "IANA zone of times that carry none, as in the CSV tables", DEFAULT_ZONE, time_zone
    )
    clock_offset: dict[str, str] = attrs.field(
        factory=dict,
        validator=_offsets,
        metadata={
            "doc": "per receiver (clock_offset.1=-27ms) and site (.ncem, .nersc): what is added "
            "to the clock's reading to get the true time; units us, ms, s, m, h"
        },
    )

    def receiver_offset(self, receiver: int) -> int:
        """Return microseconds to add to a receiver's clock: its own offset, else its site's."""
        own = self.clock_offset.get(str(receiver))
        return microseconds(own) if own is not None else self.site_offset("ncem")

    def site_offset(self, site: str) -> int:
        """Return microseconds to add to the file times of a site."""
        return microseconds(self.clock_offset.get(site, "0"))
