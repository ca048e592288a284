"""Parsing durations as users write them: ``-27ms``, ``1.5s``, ``29m``, ``00:29:00``."""

import re
from decimal import Decimal

_SECOND = 1_000_000
_UNITS = {"us": 1, "µs": 1, "ms": 1000, "s": _SECOND, "m": 60 * _SECOND, "h": 3600 * _SECOND}
_UNITS["min"] = _UNITS["m"]
_WITH_UNIT = re.compile(r"([+-]?)(\d+(?:\.\d*)?|\.\d+)\s*(us|µs|ms|s|min|m|h)")
_CLOCK = re.compile(r"([+-]?)(\d+):([0-5]\d):([0-5]\d(?:\.\d+)?)")


def microseconds(text: str | float) -> int:
    """Parse a duration to whole microseconds, exactly; a plain number is in seconds.

    Raises ValueError if the text is not a duration, or is finer than a microsecond.
    """
    if isinstance(text, bool) or not isinstance(text, (str, int, float)):
        raise ValueError(f"{text!r} is not a duration; write it like -27ms, 1.5s or 29m")
    if not isinstance(text, str):
        return _whole(Decimal(str(text)) * _SECOND, text)
    word = text.strip()
    if found := _WITH_UNIT.fullmatch(word):
        sign, number, unit = found.groups()
        value = Decimal(number) * _UNITS[unit]
    elif found := _CLOCK.fullmatch(word):
        sign, hours, minutes, rest = found.groups()
        value = (Decimal(hours) * 3600 + Decimal(minutes) * 60 + Decimal(rest)) * _SECOND
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
