"""Finds the layout of a dump from its first lines and the user's settings.

``sacct --parsable2`` puts a delimiter between fields, ``--parsable`` one after the last field as
well; ``--delimiter`` sets any text for it. Without these, columns have fixed widths, shown by a
line of dashes below the header. With ``--noheader``, the user must name the columns.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal

import attrs
import numpy as np

from harvest import SourceError

from ..values.fields import canonical, is_field, unique_names
from .csvtext import first_misplaced
from .form import BOM, LONGEST_HEADER, Layout, slices_of
from .headless import COMMON, NAME_THEM, NAMED, UNNAMED, headless, headless_likeness
from .said import is_aside, kind_of, refuse_others

JOB_FIELDS: Final = ("jobid", "jobidraw", "jobname", "state")
LONGEST_DELIMITER: Final = 32
_NAME_END = re.compile(r"(?:^|(?<=[^\W_]))(?!%-?\d)[\W_]")
_DASHES = re.compile(rb"-+(?: -+)* *")
_YAML: Final = re.compile(
    rb'%YAML|---[ \t]*(?:[\r\n!#]|$)|(?:- +)?(?:!!\w+ +)?"?(?:jobs|meta|errors|warnings)"? *:\s'
    rb"|- +(?:!!map\s+)?\"?(?:account|job_id)\"? *:\s"
)


def delimiter_of(setting: str) -> str:
    """Return the delimiter of a setting: itself, an escape (``\\t``, ``\\x1f``) or ``tab``."""
    words = {"tab": "\t", "comma": ",", "pipe": "|", "space": " ", "semicolon": ";"}
    if setting.lower() in words:
        return words[setting.lower()]
    return re.sub(
        r"\\(x[0-9a-fA-F]{2}|t)",
        lambda found: "\t" if found[1] == "t" else chr(int(found[1][1:], 16)),
        setting,
    )


def find_layout(
    head: bytes, *, where: str, columns: Sequence[str] = (), delimiter: str | None = None
) -> Layout:
    """Find the layout of a dump that begins with ``head``.

    columns, delimiter: the user's settings; columns are needed without a header.
    Raises SourceError with ``where`` if the layout cannot be found.
    """
    head = head.removeprefix(BOM)
    if form := form_of(head):
        return Layout(kind=form)
    _require_lines_of_text(head, where)
    crlf = head.partition(b"\n")[0].endswith(b"\r")
    lines = [line.rstrip(b"\r") if crlf else line for line in head.split(b"\n")]
    if {bool(kind_of(line)) for line in lines if line.strip()} == {True}:
        return Layout(kind="said", columns=("JobID",), crlf=crlf)
    first = next((place for place, line in enumerate(lines) if not is_aside(line)), 0)
    found = _fixed(lines, first, crlf) or _headed(lines, first, delimiter, crlf)
    refuse_others([found.header or b""] if found else lines[first:], where)
    if found is None and not columns and delimiter and _headed(lines, first, None, crlf):
        raise SourceError(
            f"the first line is not a header with the delimiter {delimiter!r} and without quotes",
            where=where,
            remedy="leave out slurm.delimiter: the layout is detected",
        )
    rows = [line for line in lines if kind_of(line) is None]
    found = found or headless(rows, columns, delimiter, where, crlf)
    named = {canonical(name) for name in found.columns}
    if not named & {"jobid", "jobidraw"}:
        names = f"no column JobID among {', '.join(found.columns)}"
        if found.header is None:
            raise SourceError(f"{names}, as {NAMED} them: {NAME_THEM}", where=where)
        sure = len(named) > 1 and found.known > 0.8
        raise (WithoutId if sure else SourceError)(
            f"{names} in the header: ask sacct for it, --format=JobID,...; if the first line is no "
            f"header, {NAME_THEM}",
            where=where,
        )
    return found


class WithoutId(SourceError):
    """A header of sacct without job ids."""


def _require_lines_of_text(head: bytes, where: str) -> None:
    """Raise SourceError for an encoding or line ends that hide the lines of a dump."""
    first, newline, _ = head.partition(b"\n")
    if first.count(0) * 3 > len(first):
        name = "UTF-32" if b"\0\0\0" in first else "UTF-16"
        raise SourceError(
            f"is not UTF-8 but {name} by the NUL bytes of its first line: convert it, "
            f"as iconv -f {name} -t UTF-8",
            where=where,
        )
    if not newline and b"\r" in head.rstrip(b"\r"):
        raise SourceError(
            "its lines end in a carriage return alone: convert them, as tr '\\r' '\\n'", where=where
        )


def _fixed(lines: Sequence[bytes], first: int, crlf: bool) -> Layout | None:
    """Find the layout by a line of dashes, in the 20 lines behind the first possible header."""
    for number, line in enumerate(lines[first + 1 : first + 21], start=first + 1):
        if _DASHES.fullmatch(line) and lines[number - 1].strip():
            widths = tuple(len(run) for run in line.split())
            cells = (lines[number - 1][place] for place in slices_of(widths))
            names = [cell.decode("utf-8", "backslashreplace") for cell in cells]
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


def _headed(lines: Sequence[bytes], first: int, delimiter: str | None, crlf: bool) -> Layout | None:
    """Find the layout by the first possible header."""
    line = lines[first]
    if len(line) > LONGEST_HEADER:
        return None
    header = line.decode("utf-8", "backslashreplace").lstrip("# ")
    if not any(field in header.replace(" ", "").replace("_", "").lower() for field in JOB_FIELDS):
        return None  # checked before the costly search for delimiters
    splits = [
        _Split(mark, header.split(mark))
        for mark in ([delimiter] if delimiter else _candidates(header))
    ]
    if delimiter is None and '"' in header and "\r" not in header:
        data = np.frombuffer(line, np.uint8)
        splits += [
            _Split(mark, next(csv.reader([header], delimiter=mark)), quoted=True)
            for mark in COMMON
            if first_misplaced(data, ord(mark)) < 0
        ]
    best = max((split for split in splits if split.likely), key=_Split.rank, default=None)
    if best is None or not any(canonical(name) in JOB_FIELDS for name in best.names):
        return None
    trailing = not best.quoted and len(best.names) > 1 and best.names[-1] == ""
    raw = trailing or delimiter is not None or best.mark != ","
    # pandas and R write an index without a name in front
    names = [
        name or (f"column_{place + 1}" if place else "index")
        for place, name in enumerate(best.names)
    ]
    return Layout(
        kind="csv" if best.quoted or not raw else "text",
        columns=tuple(unique_names(names[:-1] if trailing else names)),
        delimiter=best.mark,
        trailing=trailing,
        skip=first + 1,
        header=line,
        crlf=crlf,
    )


@attrs.frozen
class _Split:
    """A header, divided at a possible delimiter.

    quoted: names are in quotes, as programs for tables write them; sacct never does.
    """

    mark: str
    names: Sequence[str]
    quoted: bool = False

    @property
    def known(self) -> int:
        return sum(map(is_field, self.names))

    @property
    def named(self) -> int:
        if self.mark == " ":  # as between columns of fixed widths
            return len(self.names)
        return sum(map(bool, self.names))

    @property
    def likely(self) -> bool:
        """Whether most names are fields of sacct, as values are not; a single name must be one."""
        if self.known == 1:
            return self.named == 1 and not any(map(str.isalnum, self.mark))  # not JobId=4
        return self.known * 2 >= self.named > 0

    def rank(self) -> tuple[int, int, bool, bool, int]:
        """Return the rank; the greater, the likelier."""
        # a letter at its end more likely begins the next name: State|SLUID is not State and UID
        whole = not self.mark[-1].isalnum()
        return self.known, self.known - self.named, whole, not self.quoted, len(self.mark)


def _candidates(header: str) -> Iterator[str]:
    """Return possible delimiters of a header.

    A delimiter begins with neither a letter nor a digit, so it begins where a name ends. But a name
    may have a blank or an underscore (``Job Name``), or a width (``JobName%30``).
    """
    yield from COMMON
    for place in [found.start() for found in _NAME_END.finditer(header)][:8]:
        for length in range(1, LONGEST_DELIMITER + 1):
            candidate = header[place : place + length]
            if any(is_field(name) for name in header.split(candidate, 3)[:3]):
                yield candidate


def likeness(head: bytes) -> tuple[float, str] | None:
    """Return how sure it is that a file is sacct's output, and why; None if it is not."""
    text = head.removeprefix(BOM)
    if form := form_of(text):
        return json_likeness(text, form)
    try:
        layout = find_layout(text, where="")
    except WithoutId as error:
        return UNNAMED, f"a header of sacct, but {error.message}"
    except SourceError:
        return headless_likeness(text)
    if layout.kind == "said":
        return UNNAMED, "messages of Slurm, and no rows"
    if len(layout.columns) < 2:
        return 0.5, "a header with JobID"
    if layout.known < 1 and (layout.header or b"").isupper():
        return None  # squeue: its names are in capitals, and sacct has not all of them (NAME, ST)
    if layout.order:
        return 0.9, (
            f"rows of sacct without a header, in the order of {layout.order}: {layout.fitting:,} "
            f"lines looked at fit its {len(layout.columns)} columns"
        )
    marked = f"{layout.kind}, delimiter {layout.delimiter!r}"
    shown = "fixed widths" if layout.kind == "fixed" else marked
    said = f"header of sacct ({shown}, {len(layout.columns)} columns)"
    return (0.95 if layout.known > 0.8 else 0.7), said


def form_of(head: bytes) -> Literal["json", "yaml"] | None:
    """Return whether an input that begins like this is JSON or YAML; else None."""
    text = head.lstrip()
    # a line of a log begins with a time in brackets
    if re.match(rb"\{|\[\s*(?:[\[\]{]|$)", text):
        return "json"
    return "yaml" if _YAML.match(text) else None


def json_likeness(head: bytes, form: str) -> tuple[float, str] | None:
    """Return how sure it is that JSON or YAML has jobs of sacct, and why; None if it has not."""
    keys = set(re.findall(rb'\b(\w+)"? *:', head))
    if keys >= {b"job_id", b"submission"} and keys & {b"association", b"steps"}:
        return 0.95, f"sacct --{form}"
    of_slurm = re.search(rb"dbv0|slurmdb|data_parser", head) and b"last_update" not in keys
    if of_slurm and re.search(rb'\bjobs"? *:\s*(?:!!seq\s*)?\[\s*\]', head):
        return 0.6, f"sacct --{form} without jobs"
    return None
