"""How a dump is laid out: found from its first lines, helped by the user's settings.

``sacct --parsable2`` puts a delimiter between fields, ``--parsable`` one after the last field as
well; ``--delimiter`` names any text for it.  Without these, columns have fixed widths, told by a
line of dashes below the header.  ``--noheader`` leaves the names of columns to the user.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, Literal

import attrs

from harvest import SourceError

from .fields import BY_NAME, canonical, is_field, unique_names
from .ids import PATTERN
from .scalars import STATES

__all__ = ["HEAD_BYTES", "Layout", "delimiter_of", "find_layout", "likeness"]

HEAD_BYTES: Final = 256 * 1024
"""How much of a file is looked at."""

COMMON: Final = ("|", "\x1f", "\t", ";", ",", "^", "~", "#", "!", "@", "&", ":", " ")
_DASHES = re.compile(rb"-+(?: -+)* *")
_ID = re.compile(PATTERN)
_STATE = re.compile(rf"(?:{'|'.join(STATES)})(?: by \S+)?")


@attrs.frozen(kw_only=True)
class Layout:
    """The layout of a dump.

    kind: ``text`` (delimiter, nothing quoted), ``csv`` (quoted where needed), ``fixed``, ``json``.
    columns: sacct's fields in their order, repeated ones numbered.
    delimiter: text between fields; trailing: whether one follows the last field as well.
    skip: lines before the first row; header: the line with the names, None without one.
    widths: bytes of each column of a ``fixed`` layout; stripped: lines lost trailing blanks.
    crlf: lines end in CR LF.
    """

    kind: Literal["text", "csv", "fixed", "json"]
    columns: tuple[str, ...] = ()
    delimiter: str = "|"
    trailing: bool = False
    skip: int = 0
    header: bytes | None = None
    widths: tuple[int, ...] = ()
    stripped: bool = False
    crlf: bool = False

    def describe(self) -> str:
        """A few words for people."""
        if self.kind == "json":
            return "sacct --json"
        names = f"{len(self.columns)} columns"
        if self.kind == "fixed":
            return f"fixed widths, {names}"
        return f"{self.kind}, delimiter {self.delimiter!r}, {names}"


def delimiter_of(setting: str) -> str:
    """The delimiter that a setting names: itself, an escape (``\\t``, ``\\x1f``) or ``tab``."""
    words = {"tab": "\t", "comma": ",", "pipe": "|", "space": " ", "semicolon": ";"}
    if setting.lower() in words:
        return words[setting.lower()]
    return re.sub(
        r"\\(x[0-9a-fA-F]{2}|t)",
        lambda found: "\t" if found[1] == "t" else chr(int(found[1][1:], 16)),
        setting,
    )


def find_layout(
    head: bytes,
    *,
    where: str,
    columns: Sequence[str] = (),
    delimiter: str | None = None,
) -> Layout:
    """The layout of a dump that begins with ``head``.

    columns, delimiter: the user's settings; columns are needed where there is no header.
    Raises SourceError naming ``where`` when the layout cannot be told.
    """
    head = head.removeprefix(b"\xef\xbb\xbf")
    if head.lstrip()[:1] == b"{":
        return Layout(kind="json")
    crlf = head.partition(b"\n")[0].endswith(b"\r")
    lines = [line.rstrip(b"\r") if crlf else line for line in head.split(b"\n")]
    found = _fixed(lines, crlf) or _headed(lines, delimiter, crlf)
    found = found or _headless(lines, columns, delimiter, where, crlf)
    named = {canonical(name) for name in found.columns}
    if not named & {"jobid", "jobidraw"}:
        raise SourceError(
            f"no column JobID among {', '.join(found.columns)}",
            where=where,
            remedy="ask sacct for it: --format=JobID,...",
        )
    return found


def _fixed(lines: Sequence[bytes], crlf: bool) -> Layout | None:
    for number, line in enumerate(lines[1:21], start=1):
        if _DASHES.fullmatch(line) and lines[number - 1].strip():
            widths = tuple(len(run) for run in line.split())
            names, start = [], 0
            for width in widths:
                names.append(lines[number - 1][start : start + width].decode("utf-8", "replace"))
                start += width + 1
            if sum(is_field(name) for name in names) * 2 < len(names):
                return None
            return Layout(
                kind="fixed",
                columns=tuple(unique_names(names)),
                skip=number + 1,
                header=lines[number - 1],
                widths=widths,
                stripped=not line.endswith(b" "),
                crlf=crlf,
            )
    return None


def _headed(lines: Sequence[bytes], delimiter: str | None, crlf: bool) -> Layout | None:
    header = lines[0].decode("utf-8", "replace")
    best: tuple[int, int, str] | None = None
    for candidate in [delimiter] if delimiter else _candidates(header):
        names = header.split(candidate)
        known = sum(is_field(name) for name in names)
        given = len([name for name in names if name])
        # names are unlike values: most are known, whatever the delimiter is
        if known * 2 >= given and (known > 1 or given == known == 1):
            score = (known, len(candidate), candidate)
            best = max(best, score) if best else score
    if best is None or not _tells_jobs(header.split(best[2])):
        return None
    chosen = best[2]
    names = header.split(chosen)
    trailing = len(names) > 1 and names[-1] == ""
    return Layout(
        kind="csv" if chosen == "," and not trailing else "text",
        columns=tuple(unique_names(names[:-1] if trailing else names)),
        delimiter=chosen,
        trailing=trailing,
        skip=1,
        header=lines[0],
        crlf=crlf,
    )


def _tells_jobs(names: Sequence[str]) -> bool:
    return any(canonical(name) in ("jobid", "jobidraw", "jobname", "state") for name in names)


def _candidates(header: str) -> Iterator[str]:
    """Texts that may be the delimiter of a header: what stands between two known names."""
    yield from COMMON
    compact = header.lower()
    for name in sorted(BY_NAME, key=len, reverse=True):
        if not compact.startswith(name):
            continue
        rest = compact[len(name) :]
        for length in range(1, min(16, len(rest)) + 1):
            if rest[length : length + 1].isalpha():
                yield header[len(name) : len(name) + length]


def _headless(
    lines: Sequence[bytes],
    columns: Sequence[str],
    delimiter: str | None,
    where: str,
    crlf: bool,
) -> Layout:
    if not columns:
        raise SourceError(
            "no header of sacct in the first line, so the columns are unknown",
            where=where,
            remedy="name them: -o slurm.columns=JobID,JobName,State,... (fixed widths need a "
            "header; a delimiter that is not found is set by slurm.delimiter)",
        )
    texts = [line.decode("utf-8", "replace") for line in lines[:200] if line.strip()]
    chosen = delimiter
    if chosen is None:
        fitting = Counter(
            {
                mark: sum(text.count(mark) in (len(columns) - 1, len(columns)) for text in texts)
                for mark in COMMON
            }
        )
        mark, lines_fitting = fitting.most_common(1)[0]
        if not lines_fitting and texts and len(columns) > 1:
            raise SourceError(
                f"{len(columns)} columns are named, but no line has as many fields: "
                f"{texts[0][:80]!r}",
                where=where,
                remedy="correct slurm.columns, or set slurm.delimiter",
            )
        chosen = mark
    ends = [text for text in texts if text.count(chosen) == len(columns)]
    trailing = (
        bool(ends)
        and all(text.endswith(chosen) for text in ends)
        and not any(text.count(chosen) == len(columns) - 1 for text in texts)
    )
    if (
        texts
        and len(columns) > 1
        and not any(text.count(chosen) == len(columns) - 1 + trailing for text in texts)
    ):
        raise SourceError(
            f"{len(columns)} columns are named, but lines have "
            f"{texts[0].count(chosen) + 1} fields by the delimiter {chosen!r}",
            where=where,
            remedy="correct slurm.columns, or set slurm.delimiter",
        )
    return Layout(
        kind="csv" if chosen == "," and not trailing else "text",
        columns=tuple(unique_names(columns)),
        delimiter=chosen,
        trailing=trailing,
        crlf=crlf,
    )


def likeness(head: bytes) -> tuple[float, str] | None:
    """How much a file's beginning looks like sacct's output, and by what; None if not at all."""
    text = head.removeprefix(b"\xef\xbb\xbf")
    if text.lstrip()[:1] == b"{":
        return _json_likeness(text)
    try:
        layout = find_layout(text, where="")
    except SourceError:
        return _headless_likeness(text)
    known = sum(canonical(name) in BY_NAME for name in layout.columns)
    if "JobID" not in layout.columns and "JobIDRaw" not in layout.columns:
        return None
    if len(layout.columns) < 2:
        return 0.5, "a header with JobID"
    if known < len(layout.columns) and (layout.header or b"").isupper():
        return None  # squeue: its names are in capitals, and some are none of sacct's (NAME, ST)
    share = known / len(layout.columns)
    return (0.95 if share > 0.8 else 0.7), f"header of sacct ({layout.describe()})"


def _json_likeness(head: bytes) -> tuple[float, str] | None:
    if b'"jobs"' not in head:
        return None
    if b'"submission"' in head and b'"association"' in head:
        return 0.95, "sacct --json"
    if re.search(rb'"jobs"\s*:\s*\[\s*\]', head) and b"dbv0" in head:
        return 0.6, "sacct --json without jobs"
    return None


_CLOCK = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d|(?:\d+-)?\d\d:\d\d:\d\d|\d\d:\d\d\.\d{3}")


def _headless_likeness(head: bytes) -> tuple[float, str] | None:
    lines = [line.decode("utf-8", "replace") for line in head.split(b"\n")[:50] if line.strip()]
    if len(lines) > 1 and len(head) >= HEAD_BYTES:
        lines = lines[:-1]
    for mark in COMMON[:6]:
        if not lines or not all(mark in line for line in lines):
            continue
        alike = 0
        for line in lines:
            fields = line.rstrip(mark).split(mark)
            if "N/A" in fields:
                continue  # squeue's word for a time that is not known; sacct says Unknown or None
            ids = any(_ID.match(field) for field in fields)
            clocks = sum(bool(_CLOCK.fullmatch(field)) for field in fields)
            states = sum(bool(_STATE.fullmatch(field)) for field in fields)
            alike += ids and (clocks >= 3 or (states == 1 and clocks >= 1))
        if alike * 10 >= len(lines) * 9:
            return 0.7, f"rows of sacct without a header, delimiter {mark!r}"
    return None
