"""The layout of a dump without a header: columns that the user names, or a known order.

A column of a known order fits if each of its values is what its field holds: a time, a duration, a
state. Few orders have as many columns as the lines have fields. Hardly two of these hold the same
kinds of values in the same places.
"""

import csv
import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final

import attrs

from harvest import SourceError

from ..values.fields import FREE, KINDS, NOTHING, field_of, unique_names
from ..values.ids import PATTERN
from .form import HEAD_BYTES, LONGEST_HEADER, Layout, slices_of
from .presets import PRESETS, WIDTHS

UNNAMED: Final = 0.4
"""The certainty of detection for a dump whose columns the user must name."""

NAMED = "slurm.columns or slurm.layout names"
NAME_THEM = (
    "name all columns in their order by slurm.columns, as --set "
    "slurm.columns=JobID,JobName,State,..."
)


def headless(
    lines: Sequence[bytes], columns: Sequence[str], delimiter: str | None, where: str, crlf: bool
) -> Layout:
    """Find the layout of lines without a header; columns: the names from the settings.

    Raises SourceError if the settings name none, and not exactly one known order fits.
    """
    full = [line for line in lines[:200] if line.strip()]
    texts = [line.decode("utf-8", "replace") for line in full]
    if columns:
        found = named(texts, columns, delimiter)
        few = not delimiter and found.fitting * 2 < len(texts) and _divided(*_division(texts))
        if (few or not found.fitting) and texts and len(found.columns) > 1:
            raise SourceError(
                f"{NAMED} {len(found.columns)} columns, but "
                f"{'few lines have' if found.fitting else 'no line has'} as many fields"
                f"{_divided(*_division(texts))}: {NAME_THEM}",
                where=where,
                remedy="if another delimiter separates them, set slurm.delimiter",
            )
    else:
        if len(lines[0]) > LONGEST_HEADER:
            raise SourceError(
                f"its first line, of more than {LONGEST_HEADER:,} bytes, is not a header of sacct",
                where=where,
                remedy="check what the file is",
            )
        known = fits(texts, delimiter) or fixed(full)
        if len(known) != 1:
            division = _division(texts)
            raise SourceError(
                f"no header of sacct in the first line{_divided(*division)}"
                f"{_undecided(division[1], known)}: {NAME_THEM}",
                where=where,
                remedy="for a dump made for another program, --set slurm.layout="
                f"{known[0].order if known else 'xdmod'} (other fixed widths need a header; set an "
                "unusual delimiter by slurm.delimiter)",
            )
        found = known[0]
    quoted = found.delimiter == "," and not found.trailing and not delimiter
    return attrs.evolve(
        found,
        kind="csv" if quoted and not found.widths else found.kind,
        stripped=sum(text.endswith(" ") for text in texts) * 2 < len(texts),
        crlf=crlf,
    )


def _undecided(fields: Sequence[str], known: Sequence[Layout]) -> str:
    """Say why no known column order was chosen, and what the fields of lines look like."""
    if known:
        return f", and its lines fit {' as well as '.join(each.order for each in known)}"
    said, place = [], 1
    for what, run in groupby(fields):
        first, place = place, place + len(list(run))
        if what:
            said.append(f"{first}{f'-{place - 1}' if place - 1 > first else ''} like {what}")
    return f", and no known order of columns fits (fields {', '.join(said)})" if said else ""


def _divided(mark: str, fields: Sequence[str]) -> str:
    """Return `` (32 fields by the delimiter '|')``, as in half of the lines or more; or nothing."""
    return f" ({len(fields)} fields by the delimiter {mark!r})" if mark else ""


def _division(texts: Sequence[str]) -> tuple[str, list[str]]:
    """Return the delimiter that makes most fields look like sacct's, and what they look like.

    Both are empty if no common delimiter is in at least half of the lines.
    """
    best: tuple[int, int, str, list[str]] = (-1, 0, "", [])
    for place, mark in enumerate(marks(texts) if texts else ()):
        whole = [text.removesuffix(mark) for text in texts]
        count, lines = Counter(text.count(mark) for text in whole).most_common(1)[0]
        if not count or lines * 2 < len(texts):
            continue
        found = like(whole, mark)
        alike = sum(map(bool, found))
        if (alike > 1 or mark in COMMON[:6]) and (alike, -place) > best[:2]:
            best = alike, -place, mark, found
    return best[2], best[3]


_CLOCK = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d|(?:\d+-)?\d\d:\d\d:\d\d|\d\d:\d\d\.\d{3}")


def headless_likeness(head: bytes) -> tuple[float, str] | None:
    """Return how sure it is that lines are rows of sacct without a header, and why; else None."""
    lines = [line.decode("utf-8", "replace") for line in head.split(b"\n")[:50] if line.strip()]
    if len(lines) > 1 and len(head) >= HEAD_BYTES:
        lines = lines[:-1]
    for mark in marks(lines) if lines else ():
        if mark in "-: " or not all(mark in line for line in lines):
            continue
        alike = 0
        for line in lines:
            fields = line.rstrip(mark).split(mark)
            if "N/A" in fields:
                continue  # squeue's word for an unknown time; sacct prints Unknown or None
            ids = any(_KINDS["id"].match(field) for field in fields)
            clocks = sum(bool(_CLOCK.fullmatch(field)) for field in fields)
            states = sum(bool(_KINDS["state"].fullmatch(field)) for field in fields if field)
            alike += ids and (clocks >= 3 or (states == 1 and clocks >= 1))
        if alike * 10 >= len(lines) * 9:
            known = fits(lines, None)
            return UNNAMED, (
                f"rows of sacct without a header, delimiter {mark!r}"
                f"{_undecided(_division(lines)[1], known)}: {NAME_THEM}"
            )
    return None


COMMON: Final = ("|", "\x1f", "\t", ";", ",", "^", "~", "#", "!", "@", "&", ":", " ")
"""Common delimiters, the likeliest first."""
_MAY_MARK: Final = re.compile(r"(?=([^0-9A-Za-z][^0-9]{0,7}))")
"""The possible begins of a delimiter: no digits, and no ASCII letter in front."""
LONGEST_LOOKED_AT: Final = 2_000
LOOKED_AT: Final = 20
"""The lines, and characters of the first lines, in which an uncommon delimiter is found."""

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
        places = slices_of(widths)
        rows = [
            [line[place].decode("utf-8", "replace").strip() for place in places]
            for line in lines
            if len(line) in (length, length - 1)
            and not any(line[place.stop : place.stop + 1].strip() for place in places)
        ]
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
    regular, together = [], "\n".join(looked_at)
    for piece in pieces.difference(COMMON):
        if piece[-1] in string.ascii_letters or together.count(piece) * 2 < len(looked_at):
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


def _kinds(columns: Sequence[str]) -> list[str]:
    return [field.kind if (field := field_of(name)) else "text" for name in columns]


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
