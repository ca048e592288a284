"""The keys with columns, and records in plain Python: those that the columnar reader sets aside.

PBS writes some values with blanks and without quotes (times that a hook measured, accounts of
Torque). Here a word that cannot begin a pair belongs to the value before it. If a key without a
column occurs twice, as in Torque's ``-L tasks=...``, both values are kept. A value that is not of
its column's kind stays in ``extra``. For all other records, both readers give the same.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa

from harvest.toolkit.texts import excerpt
from harvest_toolkit.values import CLOCK, EPOCH, INTEGER, SIZE, SIZE_UNITS, TEXT, Kind

_KEYS: Final = {
    TEXT: """user group account project owner exec_host exec_vnode resvname resvID resvjobID
        jobname:name queue:partition array_indices:array_tasks Resource_List.select:select
        Resource_List.place:place Resource_List.nodes:node_spec""",
    EPOCH: """ctime:submit_time qtime:queue_time etime:eligible_time start:start_time
        end:end_time""",
    INTEGER: """Exit_status:exit_status run_count start_count total_execution_slots:slots
        Resource_List.nodect:nodect Resource_List.ncpus:ncpus Resource_List.ngpus:ngpus
        Resource_List.mpiprocs:mpiprocs""",
    SIZE: """Resource_List.mem:mem resources_used.mem:mem_used_bytes
        resources_used.vmem:vmem_used_bytes""",
    CLOCK: """Resource_List.walltime:timelimit_s resources_used.walltime:elapsed_s
        resources_used.cput:total_cpu_s eligible_time:eligible_s""",
}
"""By kind of value, the keys of a job's record; a column with another name follows the colon."""


def _known(kind: Kind, words: str) -> dict[str, tuple[str, Kind]]:
    pairs = (word.partition(":") for word in words.split())
    return {key: (column or key, kind) for key, _, column in pairs}


KNOWN: Final = {key: to for kind, words in _KEYS.items() for key, to in _known(kind, words).items()}
"""Key -> column, and the kind of its values."""

OF_EVENTS: Final = _known(TEXT, "user queue:partition requestor")
"""The same for records other than those of jobs."""

_ARROW: Final = {TEXT: pa.string(), EPOCH: pa.timestamp("us", tz="UTC"), CLOCK: pa.float64()}
_EXTRA: Final = pa.field("extra", pa.map_(pa.string(), pa.string()))

SCHEMA: Final = pa.schema(
    [*((column, _ARROW.get(kind, pa.int64())) for column, kind in KNOWN.values()), _EXTRA]
)
"""The columns of ``KNOWN``, and a map of the pairs without a column."""

_KEY: Final = re.compile(r"[^\W\d][\w.-]*")
_QUOTES: Final = "\"'"

_WHOLE: Final = re.compile(r"-?\d{1,18}", re.ASCII)
_DURATION: Final = re.compile(
    r"(?:(?:(\d{1,9}):)?([0-5]?\d):([0-5]?\d)|(\d{1,18}))(\.\d{1,9})?", re.ASCII
)
_SIZE: Final = re.compile(r"(\d{1,18})([a-z]{0,2})", re.ASCII | re.IGNORECASE)
_LAST_SECOND: Final = 253_402_300_799
_MOST: Final = 2**63 - 1


def pairs_of(text: str) -> tuple[dict[str, str], bool]:
    """Parse the pairs of a record; also return whether a value without quotes has blanks.

    Raises ValueError if the record does not begin with a pair, has the key of a column twice, or
    has a quote that is never closed.
    """
    words = [word for word in text.split(" ") if word]
    found: dict[str, str] = {}
    went_on, place, last = False, 0, ""
    while place < len(words):
        word = words[place]
        place += 1
        key, equals, value = word.partition("=")
        if not equals or not _KEY.fullmatch(key):
            if not last:
                raise ValueError(f"{excerpt(word)!r} is not key=value")
            found[last] += f" {word}"
            went_on = True
            continue
        if value[:1] in _QUOTES and value:
            value, place = _quoted(value, words, place)
        if key in found and key in KNOWN:
            raise ValueError(f"{excerpt(key)} is there twice")
        found[key] = f"{found[key]} {value}" if key in found else value
        last = key
    return found, went_on


def _quoted(value: str, words: list[str], place: int) -> tuple[str, int]:
    """Return a value without its quotes, and the place of the word behind it."""
    quote, parts = value[0], [value]
    while len(parts[-1]) < 1 + (len(parts) == 1) or parts[-1][-1] != quote:
        if place == len(words):
            raise ValueError("a quote is never closed")
        parts.append(words[place])
        place += 1
    return " ".join(parts)[1:-1], place


def raw_row(pairs: Mapping[str, str]) -> dict[str, Any]:
    """Return the columns of ``SCHEMA`` of a record."""
    row: dict[str, Any] = {}
    extra = []
    for key, text in pairs.items():
        column, kind = KNOWN.get(key, ("", TEXT))
        value = _READ[kind](text) if column else None
        if value is None:
            extra.append((key, text))
        else:
            row[column] = value
    row["extra"] = extra or None
    return row


def _integer(text: str) -> int | None:
    return int(text) if _WHOLE.fullmatch(text) else None


def _time(text: str) -> datetime | None:
    seconds = _integer(text)
    if seconds is None or not 0 <= seconds <= _LAST_SECOND:
        return None
    return datetime.fromtimestamp(seconds, UTC)


def _duration(text: str) -> float | None:
    found = _DURATION.fullmatch(text)
    if found is None:
        return None
    hours, minutes, seconds, alone, fraction = found.groups()
    whole = alone or int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds)
    return float(f"{whole}{fraction or ''}")


def _size(text: str) -> int | None:
    found = _SIZE.fullmatch(text)
    if found is None or found[2].lower() not in SIZE_UNITS:
        return None
    size = int(found[1]) << SIZE_UNITS[found[2].lower()]
    return size if size <= _MOST else None


_READ: Final[Mapping[Kind, Callable[[str], Any]]] = dict(
    zip((TEXT, INTEGER, EPOCH, CLOCK, SIZE), (str, _integer, _time, _duration, _size), strict=True)
)
