"""Dumps without a header: compares their lines with known orders of columns.

A column fits if each of its values is what its field holds: a time, a duration, a state. Few orders
have as many columns as the lines have fields. Hardly two of these hold the same kinds of values in
the same places.
"""

from __future__ import annotations

import csv
import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from ..values.fields import BY_NAME, FREE, canonical, unique_names
from ..values.ids import PATTERN
from ..values.kinds import KINDS, NOTHING
from .form import Layout
from .presets import PRESETS, WIDTHS

COMMON: Final = ("|", "\x1f", "\t", ";", ",", "^", "~", "#", "!", "@", "&", ":", " ")
"""Common delimiters, the likeliest first."""
_MAY_MARK: Final = re.compile(r"(?=([^0-9A-Za-z][^0-9]{0,7}))")
"""The possible begins of a delimiter: no digits, and no ASCII letter in front."""
LONGEST_LOOKED_AT: Final = 2_000
LOOKED_AT: Final = 20
"""The lines, and characters of the first lines, in which a delimiter that is not common is found.
"""

SHARE: Final = 0.9
"""The share of the lines with the right number of fields that must fit."""
WHOLE: Final = 0.5
"""The share of lines that must have the right number of fields: a name may hold a delimiter or a
line break."""
CERTAIN: Final = 2
"""The number of columns, besides the job id, whose contents few other columns have."""

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
"""Values of other fields: only texts that users write can look like this."""
_CERTAIN: Final = {
    "JobID": "id",
    "State": "state",
    "ExitCode": "exit",
    "a time": "time",
    "a duration": "duration",
    "TRES": "tres",
}


def fits(texts: Sequence[str], delimiter: str | None) -> list[Layout]:
    """Return the known orders that lines fit, by the delimiter or by any possible one."""
    found: dict[str, Layout] = {}
    for mark in [delimiter] if delimiter else marks(texts):
        rows = [_fields(text, mark) for text in texts]
        for name, columns in PRESETS.items():
            whole, trailing = _whole(rows, len(columns))
            if whole and len(whole) >= WHOLE * len(texts) and _fit(columns, whole):
                found.setdefault(name, _layout(columns, mark, len(whole), trailing, name))
    return list(found.values())


def _whole(rows: Sequence[list[str]], due: int) -> tuple[list[list[str]], bool]:
    """Return rows with the right number of fields, and whether a delimiter ends each line."""
    whole = [row for row in rows if len(row) == due]
    ended = [row[:-1] for row in rows if len(row) == due + 1 and not row[-1]]
    return (ended, True) if len(ended) > len(whole) else (whole, False)


def _layout(
    columns: Sequence[str], mark: str, lines: int, trailing: bool, order: str = ""
) -> Layout:
    names = tuple(unique_names(columns))
    return Layout("text", names, mark, trailing=trailing, order=order, fitting=lines)


def named(texts: Sequence[str], columns: Sequence[str], delimiter: str | None) -> Layout:
    """Return the layout of named columns, with the delimiter that most lines fit."""
    ranked = []
    for place, mark in enumerate([delimiter] if delimiter else marks(texts)):
        whole, trailing = _whole([_fields(text, mark) for text in texts], len(columns))
        good = sum(all(map(_is, columns, _kinds(columns), row)) for row in whole)
        if mark in (delimiter, *COMMON) or good * 2 >= len(texts):
            fit = _layout(columns, mark, len(whole), trailing)
            ranked.append(((good, len(whole), -place), fit))
    return max(ranked, key=lambda rank: rank[0])[1]


def fixed(lines: Sequence[bytes]) -> list[Layout]:
    """Return the known orders that lines fit by the widths of sacct's columns."""
    found = []
    for name, widths in WIDTHS.items():
        length = sum(widths) + len(widths)
        whole = [line for line in lines if len(line) in (length, length - 1)]
        rows = [row for line in whole if (row := _sliced(line, widths))]
        if rows and len(rows) >= SHARE * len(lines) and _fit(PRESETS[name], rows):
            layout = Layout("fixed", PRESETS[name], widths=widths, order=name, fitting=len(rows))
            found.append(layout)
    return found


def like(texts: Sequence[str], mark: str) -> list[str]:
    """Return what each field of lines looks like, as ``JobID``; empty where that is not certain."""
    rows = [_fields(text, mark) for text in texts]
    due = max({len(row) for row in rows}, key=[len(row) for row in rows].count)
    columns = zip(*(row for row in rows if len(row) == due), strict=True)
    found = [_what([value for value in values if value]) for values in columns]
    # only the first column that looks like ids has ids; others have numbers
    ids = found.index("JobID") if "JobID" in found else -1
    return [what if what != "JobID" or at == ids else "" for at, what in enumerate(found)]


def _what(values: Sequence[str]) -> str:
    """Return what a column looks like by all its values; empty if nothing is certain."""
    for what, kind in _CERTAIN.items():
        if all(_KINDS[kind].fullmatch(value) for value in values):
            return "" if all(map(str.isdecimal, values)) else what
    return ""


def marks(texts: Sequence[str]) -> list[str]:
    """Return possible delimiters: common ones, and texts with one count in half of the lines.

    A delimiter has no digit, and neither begins nor ends with an ASCII letter. Behind the common
    ones the longest come first, for a part of a delimiter is as frequent.
    """
    looked_at = texts[:LOOKED_AT]
    pieces = {
        text[found.start() : found.start() + length]
        for text in looked_at[:2]
        for found in _MAY_MARK.finditer(text, 0, LONGEST_LOOKED_AT)
        for length in range(1, len(found[1]) + 1)
    }
    regular = []
    for piece in pieces.difference(COMMON):
        if piece[-1] in string.ascii_letters:
            continue
        counts = Counter(text.removesuffix(piece).count(piece) for text in looked_at)
        count, lines = counts.most_common(1)[0]
        if count and lines * 2 >= len(looked_at):
            regular.append(piece)
    return [*COMMON, *sorted(regular, key=lambda piece: (-len(piece), piece))]


def _fields(text: str, mark: str) -> list[str]:
    if mark == "," and '"' in text:
        try:
            return next(csv.reader([text]))
        except csv.Error:
            return []  # which fits no order
    return text.split(mark)


def _sliced(line: bytes, widths: Sequence[int]) -> list[str]:
    row, start = [], 0
    for width in widths:
        if line[start + width : start + width + 1].strip():
            return []
        row.append(line[start : start + width].decode("utf-8", "replace").strip())
        start += width + 1
    return row


def _kinds(columns: Sequence[str]) -> list[str]:
    known = [BY_NAME.get(canonical(name)) for name in columns]
    return [field.kind if field else "text" for field in known]


def _fit(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    kinds = _kinds(columns)
    good = [row for row in rows if all(map(_is, columns, kinds, row))]
    places = [at for at, kind in enumerate(kinds) if kind in _CERTAIN.values() and kind != "id"]
    filled = sum(any(row[at] for row in good) for at in places)
    return len(good) >= SHARE * len(rows) and filled >= CERTAIN


def _is(name: str, kind: str, value: str) -> bool:
    """Return whether a field may hold a value; a text that was cut ends in a plus."""
    if kind == "text":
        free = name in FREE or name.startswith("TRES") or not value
        return free or not (_FOREIGN.fullmatch(value) or _KINDS["state"].fullmatch(value))
    if kind == "state" and value.endswith("+"):
        return value[:1].isupper()
    return _KINDS[kind].fullmatch(value) is not None
