"""What Slurm's programs say among the rows of a dump that their errors were written into."""

from __future__ import annotations

import re
from collections import Counter
from typing import IO, Final

from harvest import ReadContext
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.texts import excerpt

from .form import BOM, Layout

_BEGINS: Final = (
    b"sacct",
    b"slurm",
    b"Slurm",
    b"SLURM",
    b"Invalid time",
    b"[",
    b"/",
    b"bash",
    b"-",
)
_BY: Final = rb"(?:\[[^\]\n]{1,60}\] )?(?:/\S*/)?(?:sacct|slurm\w*):? "
_KINDS: Final = {
    "error": re.compile(
        _BY + rb"(?:error|fatal): |(?i:slurm) accounting storage is disabled"
        rb"|Invalid time specification|-?bash: (?:line \d+: )?\S*sacct: "
    ),
    "warning": re.compile(_BY + rb"warning: "),
    "message": re.compile(_BY + rb"(?:debug\d?|info|verbose): |sacct: "),
}
_COMMAND: Final = re.compile(rb"(?:.*[$#>%+] ?)?(?:env )?(?:\w+=\S+ )*(?:/\S*/)?sacct(?: .*)?")


def kind_of(line: bytes) -> str | None:
    """What a line is that a program of Slurm says of itself; None for any other."""
    if not line.startswith(_BEGINS):
        return None
    return next((kind for kind, shape in _KINDS.items() if shape.match(line)), None)


def is_aside(line: bytes) -> bool:
    """Whether a line before the header is empty, a message, or the command that was typed."""
    return not line.strip() or kind_of(line) is not None or bool(_COMMAND.fullmatch(line))


class Said:
    """Messages among the lines of one dump: each is counted, and noted with the first of its kind.

    In a file of messages alone, of the kind ``said``, each is a reject.
    """

    def __init__(self, layout: Layout, ctx: ReadContext):
        self.layout = layout
        self.ctx = ctx
        self.counts: Counter[str] = Counter()
        self.first: dict[str, str] = {}

    def add(self, line: bytes, position: int) -> None:
        """Account for a message."""
        kind = kind_of(line) or "message"
        self.ctx.read(1)
        if self.layout.kind == "said":
            reason = f"{kind} of Slurm in a file without rows: ask sacct again"
            self.ctx.reject(line, reason, position=position)
            return
        self.ctx.folded(1, f"{kind} of Slurm")
        self.counts[kind] += 1
        self.first.setdefault(kind, f"line {position}, {excerpt(line.decode('utf-8', 'replace'))}")

    def skip(self, stream: IO[bytes]) -> None:
        """Read on to the first row; what stands before the header is accounted for."""
        above = self.layout.skip - (2 if self.layout.kind == "fixed" else 1)
        for position in range(1, self.layout.skip + 1):
            line = stream.readline().removeprefix(BOM).rstrip(b"\r\n")
            if position > above or not line.strip():
                continue
            if kind_of(line):
                self.add(line, position)
            else:
                self.ctx.read(1)
                self.ctx.reject(line, "a line before the header", position=position)

    def note(self) -> None:
        """Note on the run what was said, in the words of the notes on JSON and a live cluster."""
        for kind, count in self.counts.items():
            among = f" ({count_in_words(count, kind)} among its lines)" if count > 1 else ""
            self.ctx.note(f"sacct says: {kind}: {self.first[kind]}{among}")
