"""The kinds of fields: the form of their text, how to read it, and the columns it becomes.

``fields`` names the kind of each field of sacct. ``fast`` reads a column if its texts have the
common spelling. ``slow`` reads each other distinct text, and only it decides what is an error (see
``convert``). The shape of a field identifies it in a record that is in pieces (see ``rejoin``).
"""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias

import attrs
import pyarrow as pa

from . import digits, scalars
from .ids import PATTERN

INT: Final = pa.int64()
FLOAT: Final = pa.float64()
STRING: Final = pa.string()
TIMESTAMP: Final = pa.timestamp("us", tz="UTC")


Reader: TypeAlias = Any  # a function, or None where nothing is read


@attrs.frozen
class Kind:
    """One kind of field.

    shape: regular expression of its text, empty or not.
    fast: reads the common spellings of a whole column. slow: reads one text of any spelling.
    types: suffix of the column's name -> type of the column.
    """

    shape: str
    fast: Reader
    slow: Reader
    types: dict[str, Any]


NOTHING: Final = "|".join(map(re.escape, scalars.NOTHING))
_NUMBER: Final = rf"(?:[\d.]*[KMGTPE?]?[cne]?|UNLIMITED|{NOTHING})"
_TIME: Final = rf"(?:[\dT:+\-.Z]*|\d+ \w+ [\d:]+|{NOTHING})"
_SPAN: Final = rf"(?:[\d:.\-]*|UNLIMITED|Partition_Limit|INVALID|{NOTHING})"
_STATE: Final = rf"(?:{'|'.join(scalars.STATES)})(?: by [^\n]+)?"
_LIST: Final = r"(?:[\w/:.\-]+=[^,\n]*(?:,[\w/:.\-]+=[^,\n]*)*)?"
_TEXT: Final = r"(?:[^\s][^\n]*)?"
_PAIR: Final = r"(?:\d+:\d+)?"

# fmt: off
KINDS: Final[dict[str, Kind]] = {
    "id":       Kind(PATTERN, None,           None,               {"": STRING}),  # see ids
    "text":     Kind(_TEXT,   None,           None,               {"": STRING}),
    "int":      Kind(_NUMBER, digits.whole,   scalars.integer,    {"": INT}),
    "count":    Kind(_NUMBER, digits.whole,   scalars.count,      {"": INT}),
    "memory":   Kind(_NUMBER, digits.decimal, scalars.memory,     {"": INT}),
    "reqmem":   Kind(_NUMBER, None,           scalars.reqmem,     {"": INT, "per": STRING}),
    "seconds":  Kind(_SPAN,   digits.seconds, scalars.seconds,    {"": FLOAT}),
    "minutes":  Kind(_SPAN,   None,           scalars.minutes,    {"": FLOAT}),
    "duration": Kind(_SPAN,   digits.clock,   scalars.duration,   {"": FLOAT}),
    "time":     Kind(_TIME,   digits.moment,  scalars.time,       {"": TIMESTAMP}),
    "state":    Kind(_STATE,  None,           scalars.state,      {"": STRING, "by": STRING}),
    "exit":     Kind(_PAIR,   None,           scalars.exit_code,  {"": INT, "signal": INT}),
    "tres":     Kind(_LIST,   digits.entries, scalars.resources,  {"": pa.map_(STRING, INT)}),
    "usage":    Kind(_LIST,   digits.entries, scalars.resources,  {"": pa.map_(STRING, FLOAT)}),
}
# fmt: on
