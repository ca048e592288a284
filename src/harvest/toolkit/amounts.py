"""Format amounts for sentences: bytes, durations, shares and counts."""

from typing import Final

__all__ = [
    "BINARY_UNITS", "LONGEST_S", "bytes_in_words", "count_in_words", "seconds_in_words",
    "share_in_words",
]  # fmt: skip

BINARY_UNITS: Final = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
"""Units of bytes in all output: each is 1024 times the previous one."""
LONGEST_S: Final = 9e9
"""285 years in seconds: longer times do not fit 64-bit nanoseconds, and were never measured."""
_DECIMAL: Final = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")


def bytes_in_words(size: float, *, binary: bool = True) -> str:
    """Format bytes with three digits, in powers of 1024 (or 1000): 987 bytes, -1.12 GiB."""
    step, units = (1024, BINARY_UNITS) if binary else (1000, _DECIMAL)
    value, sign = abs(float(size)), "-" if size < 0 else ""
    for unit in units:
        if value < step - 0.5 or unit == units[-1]:
            break
        value /= step
    if unit == units[0]:
        return f"{sign}{value:,.0f} {unit}"
    return f"{sign}{value:,.{2 if value < 9.995 else 1 if value < 99.95 else 0}f} {unit}"


def seconds_in_words(seconds: float) -> str:
    """Format a duration in the largest unit that fits: 3.2 ms, 42 s, 3.5 min, 1.2 h, -4.0 d."""
    size, sign = abs(seconds), "-" if seconds < 0 else ""
    for step, unit in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if size >= step:
            return f"{sign}{size / step:,.1f} {unit}"
    for step, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if size >= 0.9995 * step or not size:
            return f"{sign}{size / step:.3g} {unit}"
    return f"{sign}{size * 1e9:.3g} ns"


def share_in_words(share: float) -> str:
    """Format a share of 1 in percent: 37 %, 4.2 %, ``<0.01 %``; never 100 % for less than all."""
    percent, sign = abs(100 * share), "-" if share < 0 else ""
    if percent >= 10:
        rounded = f"{min(percent, 99.9):.3g}" if 99.5 <= percent < 100 else f"{percent:,.0f}"
        return f"{sign}{rounded} %"
    return "<0.01 %" if 0 < 100 * share < 0.01 else f"{sign}{percent:.2g} %"


def count_in_words(number: int, word: str, plural: str | None = None) -> str:
    """Format a count with its word: 1 file, 1,204 files, 2 entries."""
    return f"{number:,} {word if number == 1 else plural or word + 's'}"
