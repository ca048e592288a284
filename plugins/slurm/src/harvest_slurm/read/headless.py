"""The layout of a dump without a header: columns that the user names, or a known order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Final

import attrs

from harvest import SourceError

from ..values.ids import PATTERN
from ..values.scalars import STATES
from .form import HEAD_BYTES, LONGEST_HEADER, Layout
from .orders import COMMON, fits, fixed, like, marks, named

UNNAMED: Final = 0.4
"""The certainty of detection for a dump whose columns the user must name."""

_ID = re.compile(PATTERN)
_STATE = re.compile(rf"(?:{'|'.join(STATES)})(?: by \S+)?")
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
        _require_fields(found, texts, where, sure=delimiter is not None)
    else:
        if len(lines[0]) > LONGEST_HEADER:
            raise SourceError(
                f"its first line, of more than {LONGEST_HEADER:,} bytes, is not a header of sacct",
                where=where,
                remedy="check what the file is",
            )
        known = fits(texts, delimiter) or fixed(full)
        if len(known) != 1:
            raise SourceError(
                f"no header of sacct in the first line{_divided(texts)}{_undecided(texts, known)}: "
                f"{NAME_THEM}",
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


def _require_fields(found: Layout, texts: Sequence[str], where: str, *, sure: bool) -> None:
    few = not sure and found.fitting * 2 < len(texts) and _divided(texts)
    if (few or not found.fitting) and texts and len(found.columns) > 1:
        raise SourceError(
            f"{NAMED} {len(found.columns)} columns, but "
            f"{'few lines have' if found.fitting else 'no line has'} as many fields"
            f"{_divided(texts)}: {NAME_THEM}",
            where=where,
            remedy="if another delimiter separates them, set slurm.delimiter",
        )


def _undecided(texts: Sequence[str], known: Sequence[Layout]) -> str:
    """Say why no known column order was chosen, and what the fields of lines look like."""
    if known:
        return f", and its lines fit {' as well as '.join(each.order for each in known)}"
    said, place = [], 1
    for what, run in groupby(_division(texts)[1]):
        first, place = place, place + len(list(run))
        if what:
            said.append(f"{first}{f'-{place - 1}' if place - 1 > first else ''} like {what}")
    return f", and no known order of columns fits (fields {', '.join(said)})" if said else ""


def _divided(texts: Sequence[str]) -> str:
    """Return `` (32 fields by the delimiter '|')``, as in half of the lines or more; or nothing."""
    mark, fields = _division(texts)
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
            ids = any(_ID.match(field) for field in fields)
            clocks = sum(bool(_CLOCK.fullmatch(field)) for field in fields)
            states = sum(bool(_STATE.fullmatch(field)) for field in fields)
            alike += ids and (clocks >= 3 or (states == 1 and clocks >= 1))
        if alike * 10 >= len(lines) * 9:
            known = fits(lines, None)
            return UNNAMED, (
                f"rows of sacct without a header, delimiter {mark!r}{_undecided(lines, known)}: "
                f"{NAME_THEM}"
            )
    return None
