"""Reads one value of sacct at a time: the reference for the columnar readers.

Each function takes the text of a field, neither empty nor one of ``NOTHING``, and returns its
value. A :class:`Word` is text that is neither a value of the column nor a mistake (``UNLIMITED``).
A ValueError means that the text cannot be read; its message is the reason of the reject.
"""

import math
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Final
from zoneinfo import ZoneInfo

STATES: Final = [
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "CONFIGURING", "COMPLETING", "DEADLINE"),
    *("EXPEDITING", "FAILED", "LAUNCH_FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PENDING"),
    *("POWER_UP_NODE", "PREEMPTED", "RECONFIG_FAIL", "RECORD_EXPIRED", "REQUEUED", "REQUEUE_FED"),
    *("REQUEUE_HOLD", "RESIZING", "RESV_DEL_HOLD", "REVOKED", "RUNNING", "SIGNALING"),
    *("SPECIAL_EXIT", "STAGE_OUT", "STOPPED", "SUSPENDED", "TIMEOUT", "UPDATE_DB"),
]
"""The job states that sacct may print, in their long form."""

INT64_MAX: Final = 2**63 - 1

NOTHING: Final = ("Unknown", "None", "N/A", "(null)", "NaN", "nan", "NaT", "<NA>", "NA")
"""Words for no value, of Slurm, pandas and R."""

_DECIMAL: Final = r"\d+(?:\.\d+)?(?:e\+\d\d)?"
"""A number, also as R writes a round one: ``1e+05``."""


class Word(str):
    """Text that sacct prints instead of a value; ``extra`` keeps it."""


_DURATION = re.compile(r"(?:(\d+)(?:-| days? ))?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)", re.ASCII)
_DURATION_WORDS = frozenset({"unlimited", "partition_limit", "invalid"})


def duration(text: str) -> float | Word | None:
    """Read ``[D-][HH:]MM:SS[.fraction]`` as seconds; pandas writes ``0 days `` in front."""
    found = _DURATION.fullmatch(text)
    if found:
        days, hours, mins, secs = found.groups()
        if days is not None and hours is None:
            raise ValueError("days need hours, minutes and seconds: D-HH:MM:SS")
        whole = int(days or 0) * 86_400 + int(hours or 0) * 3_600 + int(mins) * 60
        return float(whole + Fraction(secs))
    if text.lower() in _DURATION_WORDS:
        return Word(text)
    raise ValueError("no duration of the form [D-][HH:]MM:SS")


def seconds(text: str, unit: int = 1) -> float | Word | None:
    """Read seconds, or another unit as seconds; pandas writes them as ``3600.0``."""
    if re.fullmatch(_DECIMAL, text, re.ASCII):
        return float(Fraction(text) * unit)
    if text.lower() in _DURATION_WORDS:
        return Word(text)
    raise ValueError("no number")


minutes = partial(seconds, unit=60)


def integer(text: str) -> int | Word | None:
    """Read a whole number; one beyond 64 bits (Slurm's marks for "not set") is a word."""
    stripped = text.strip()
    if re.fullmatch(r"[+-]?\d+", stripped, re.ASCII):
        value = int(stripped)
        return value if -INT64_MAX <= value <= INT64_MAX else Word(text)
    # fields that sacct scales: 1.5K nodes, 12K CPUs
    return _scaled(stripped, 1024, "no whole number")


_MARKED: Final = re.compile("(?<=[0-9][KMGTPE])e$")
_POWERS: Final = {unit: power for power, unit in enumerate("KMGTPE", start=1)}


def _scaled(text: str, base: int, complaint: str) -> int | Word | None:
    unit = text[-1:].upper()
    number = text[:-1] if unit in _POWERS or unit == "?" else text
    if not re.fullmatch(_DECIMAL, number, re.ASCII):
        raise ValueError(complaint)
    value = Decimal(number) * int(base ** _POWERS.get(unit, 0))
    if unit == "?" or value > INT64_MAX:  # sacct has no unit left: beyond all sense
        return Word(text)
    return math.floor(value + Decimal("0.5"))


def memory(text: str) -> int | Word | None:
    """Read ``3244K``, ``10808.05M``, ``3321856`` as bytes; ``16?`` and over 63 bits are words.

    Dumps also have ``1Me``; the letter behind the unit is not documented.
    """
    return _scaled(_MARKED.sub("", text), 1024, "no size of the form NUMBER[KMGTPE]")


def count(text: str) -> int | Word | None:
    """Read a number that sacct scales by thousands: ``1.52K``, ``19.88M``."""
    return _scaled(text, 1000, "no number of the form NUMBER[KMGTPE]")


def reqmem(text: str) -> tuple[int | Word | None, str | None]:
    """Read requested bytes, and whether they are per ``cpu`` or ``node``: ``4000Mc``, ``4Gn``."""
    per = {"c": "cpu", "n": "node"}.get(text[-1:])
    size = text[:-1] if per else _MARKED.sub("", text)
    value = _scaled(size, 1024, "no size of the form NUMBER[KMGTPE][cn]")
    return (Word(text), None) if isinstance(value, Word) else (value, per)


def resources(text: str) -> list[tuple[str, float | int | None]]:
    """Read ``cpu=00:02:18,mem=8G,gres/gpu=1`` as amounts in bytes, seconds or numbers.

    Slurm's marks for "not set" (2^64-1, 2^64-2) become null.
    """
    found: list[tuple[str, float | int | None]] = []
    for entry in text.split(","):
        key, equals, value = entry.partition("=")
        if not (key and equals):
            raise ValueError(f"{entry!r} is not an entry of the form RESOURCE=AMOUNT")
        try:
            nothing = value in NOTHING
            read = None if nothing else duration(value) if ":" in value else memory(value)
        except ValueError:
            raise ValueError(f"{entry!r} has no amount") from None
        found.append((key, None if isinstance(read, Word) else read))
    return found


def exit_code(text: str) -> tuple[int, int]:
    """Read code and signal of ``3:0``."""
    found = re.fullmatch(r"(\d{1,9}):(\d{1,9})", text, re.ASCII)
    if not found:
        raise ValueError("no exit code of the form CODE:SIGNAL")
    return int(found[1]), int(found[2])


def state(text: str) -> tuple[str, str | None]:
    """Read the state in lower case, and who cancelled the job: ``CANCELLED by 1000``.

    A state that was cut to the width of its column ends in ``+``; it is completed if only one fits.
    """
    known = [name for name in STATES if text[-1] == "+" and name.startswith(text[:-1])]
    if len(known) == 1:
        return known[0].lower(), None
    name, _, by = text.partition(" by ")
    if not re.fullmatch(r"[A-Za-z_]+", name):
        raise ValueError("no state")
    return name.lower(), by.strip() or None


_TIME = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)?", re.ASCII
)


def has_no_zone(text: str) -> bool:
    """Return whether a text is a time without a zone."""
    found = _TIME.fullmatch(text)
    return found is not None and not found[1]


def time(text: str, zone: ZoneInfo, fold: int = 0) -> datetime | None:
    """Read a time as UTC.

    Text without an offset is local time in ``zone``. For a time that occurs twice when clocks go
    back, fold chooses one; a time that is skipped when they go forward is an error.
    """
    if text in ("Unknown", "None", "N/A", "NONE"):
        return None
    if text.isascii() and text.isdigit():
        if len(text) > 11:
            raise ValueError("no epoch time in seconds")
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=int(text))
    if not _TIME.fullmatch(text):
        if re.fullmatch(r"(?:\d+ \w+ )?\d\d:\d\d(?::\d\d)?", text):
            raise ValueError("a time without its date (SLURM_TIME_FORMAT=relative)")
        raise ValueError("no time")
    written = datetime.fromisoformat(text)
    if written.tzinfo is not None:
        return written.astimezone(UTC)
    moment = written.replace(tzinfo=zone, fold=fold).astimezone(UTC)
    if moment.astimezone(zone).replace(tzinfo=None) != written:
        raise ValueError(f"this time does not exist in {zone.key}: clocks skip it")
    return moment
