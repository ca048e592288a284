"""Dumps without a header: the known orders of columns, tried against the lines.

A column fits where each of its values is what its field holds: a moment, a duration, a state.  Few
orders have as many columns as the lines have fields, and of these hardly two hold the same kinds
of values in the same places.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import attrs

from ..values.fields import BY_NAME, FREE, canonical
from ..values.ids import PATTERN
from ..values.kinds import KINDS, NOTHING
from .presets import PRESETS, WIDTHS

__all__ = ["Fit", "fits", "fixed", "like"]

SHARE: Final = 0.9
"""Of the lines with as many fields as are due, so many must fit."""
WHOLE: Final = 0.5
"""So many lines must have as many fields; others hold a name with a delimiter or a line break."""
TELLING: Final = 2
"""Columns beside the job's id in which something is that few others hold."""

_NONE: Final = f"INVALID|{NOTHING}|"
_KINDS: Final[Mapping[str, re.Pattern[str]]] = {
    kind: re.compile(pattern)
    for kind, pattern in {
        "id": PATTERN,
        "time": rf"\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*|\d{{9,10}}|{_NONE}",
        "duration": rf"-?(?:\d+-)?\d+:\d\d(?::\d\d)?(?:\.\d+)?|UNLIMITED|Partition_Limit|{_NONE}",
        "seconds": rf"-?\d+(?:\.\d+)?|UNLIMITED|Partition_Limit|{_NONE}",
        "minutes": rf"-?\d+(?:\.\d+)?|UNLIMITED|Partition_Limit|{_NONE}",
        "exit": r"\d+:\d+|",
        "state": f"{KINDS['state'].shape}|",
        "tres": KINDS["tres"].shape,
        "usage": KINDS["usage"].shape,
        **dict.fromkeys(("int", "count", "memory", "reqmem"), KINDS["int"].shape),
    }.items()
}
_FOREIGN: Final = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d|(?:\d+-)?\d\d:\d\d:\d\d|\d+:\d+|cpu=\d.*|billing=\d.*"
)
"""What no text is, but one that users write."""
_CERTAIN: Final = {
    "JobID": "id",
    "State": "state",
    "ExitCode": "exit",
    "a time": "time",
    "a duration": "duration",
    "TRES": "tres",
}


@attrs.frozen
class Fit:
    """An order of columns that fits: by the name that ``slurm.layout`` takes, and how many lines.

    mark: the delimiter; empty where columns have the widths.
    """

    name: str
    columns: tuple[str, ...]
    mark: str
    lines: int
    widths: tuple[int, ...] = ()


def fits(texts: Sequence[str], delimiter: str | None) -> list[Fit]:
    """The known orders that lines have by the delimiter, or by any that they may have."""
    found = []
    for mark in [delimiter] if delimiter else _marks(texts):
        rows = [_fields(text, mark) for text in texts]
        for name, columns in PRESETS.items():
            due = len(columns)
            ended = [row[:-1] for row in rows if len(row) == due + 1 and not row[-1]]
            whole = max([row for row in rows if len(row) == due], ended, key=len)
            if whole and len(whole) >= WHOLE * len(texts) and _fit(columns, whole):
                found.append(Fit(name, columns, mark, len(whole)))
    return found


def fixed(lines: Sequence[bytes]) -> list[Fit]:
    """The known orders that lines have by the widths of sacct's columns."""
    found = []
    for name, widths in WIDTHS.items():
        length = sum(widths) + len(widths)
        whole = [line for line in lines if len(line) in (length, length - 1)]
        rows = [row for line in whole if (row := _sliced(line, widths))]
        if rows and len(rows) >= SHARE * len(lines) and _fit(PRESETS[name], rows):
            found.append(Fit(name, PRESETS[name], "", len(rows), widths))
    return found


def like(texts: Sequence[str], mark: str) -> str:
    """What the fields of lines are like, for who must name them: ``1 like JobID, 3 like State``."""
    rows = [_fields(text, mark) for text in texts]
    due = max({len(row) for row in rows}, key=[len(row) for row in rows].count)
    said: list[tuple[str, int, int]] = []
    for place, values in enumerate(zip(*(row for row in rows if len(row) == due), strict=True), 1):
        what = _what([value for value in values if value])
        if what and said and said[-1][0] == what and said[-1][2] == place - 1:
            said[-1] = (what, said[-1][1], place)
        elif what and (what != "JobID" or all(each[0] != what for each in said)):
            said.append((what, place, place))
    places = (
        f"{first} like {w}" if first == last else f"{first}-{last} like {w}"
        for w, first, last in said
    )
    return ", ".join(places)


def _what(values: Sequence[str]) -> str:
    """What a column is like by all of its values; empty where nothing is certain."""
    for what, kind in _CERTAIN.items():
        if all(_KINDS[kind].fullmatch(value) for value in values):
            return "" if all(map(str.isdecimal, values)) else what
    return ""


def _marks(texts: Sequence[str]) -> Iterator[str]:
    """What may be the delimiter: a common one, or what several marks in a row begin with."""
    first = texts[0] if texts else ""
    yield from (
        mark for mark in ("|", "\x1f", "\t", ";", ",", "^", "~", "#", "!", "@") if mark in first
    )
    longer = {run[:length] for run in re.findall(r"[^\w\s]{2,}", first) for length in (2, 3, 4)}
    yield from sorted(mark for mark in longer if len(set(mark)) > 1)


def _fields(text: str, mark: str) -> list[str]:
    if mark == "," and '"' in text:
        try:
            return next(csv.reader([text]))
        except csv.Error:
            return []  # which fits no order
    return text.split(mark)


def _sliced(line: bytes, widths: Sequence[int]) -> list[str]:
    """The fields of a line; none where there is something between them."""
    row, start = [], 0
    for width in widths:
        if line[start + width : start + width + 1].strip():
            return []
        row.append(line[start : start + width].decode("utf-8", "replace").strip())
        start += width + 1
    return row


def _fit(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    kinds = [BY_NAME[canonical(name)].kind for name in columns]
    good, telling = 0, set()
    for row in rows:
        if all(map(_is, columns, kinds, row)):
            good += 1
            telling |= {
                place
                for place, kind in enumerate(kinds)
                if row[place] and kind in ("time", "duration", "state", "exit", "tres")
            }
    return good >= SHARE * len(rows) and len(telling) >= TELLING


def _is(name: str, kind: str, value: str) -> bool:
    """Whether a field may hold a value; a text that was cut ends in a plus."""
    if kind == "text":
        free = name in FREE or name.startswith("TRES") or not value
        return free or not (_FOREIGN.fullmatch(value) or _KINDS["state"].fullmatch(value))
    if kind == "state" and value.endswith("+"):
        return value[:1].isupper()
    return _KINDS[kind].fullmatch(value) is not None
