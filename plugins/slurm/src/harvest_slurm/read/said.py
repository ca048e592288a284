"""Messages of Slurm's programs among the rows of a dump, and the output of other commands."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import IO, Final

from harvest import ReadContext, SourceError
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.texts import excerpt

from .form import BOM, Layout

_BEGINS: Final = (
    *(b"sacct", b"slurm", b"Slurm", b"SLURM", b"Invalid time", b"[", b"/", b"bash", b"-"),
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
    """Return the kind of a message that a program of Slurm printed; None for any other line."""
    if not line.startswith(_BEGINS):
        return None
    return next((kind for kind, shape in _KINDS.items() if shape.match(line)), None)


def is_aside(line: bytes) -> bool:
    """Return whether a line before the header is empty, a message, or the typed command."""
    return not line.strip() or kind_of(line) is not None or bool(_COMMAND.fullmatch(line))


class Said:
    """Counts the messages in a dump, and notes the first of each kind.

    In a file of messages only, of the kind ``said``, each message is a reject.
    """

    def __init__(self, layout: Layout, ctx: ReadContext):
        self.layout = layout
        self.ctx = ctx
        self.counts: Counter[str] = Counter()
        self.first: dict[str, str] = {}

    def add(self, line: bytes, position: int) -> None:
        """Count a message."""
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
        """Read on to the first row, and report the lines before the header."""
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
        """Note the messages on the run, in the words of the notes on JSON and a live cluster."""
        for kind, count in self.counts.items():
            among = f" ({count_in_words(count, kind)} among its lines)" if count > 1 else ""
            self.ctx.note(f"sacct says: {kind}: {self.first[kind]}{among}")


_LINES: Final = 6
"""The number of non-empty lines that are checked."""

_COMMANDS: Final = {
    "squeue": (
        "the jobs that wait and run at a moment",
        r"JOBID\b.*\b(?:ST|NAME|TIME|TIME_LIMIT?|TIME_LEFT)\b|.*\bNODELIST\(REASON\)",
    ),
    "sprio": ("the priorities of jobs that wait", r"JOBID\b.*\b(?:AGE|FAIRSHARE|QOS_NORM)\b"),
    "sinfo": (
        "nodes and partitions, and no jobs",
        r"PARTITION\b.*\bAVAIL\b|NODELIST\b.*\b(?:NODES|PARTITION|CPUS)\b|HOSTNAMES\b.*\bCPUS",
    ),
    "sshare": ("shares of accounts, and no jobs", r"Account\b.*\b(?:Raw|Norm)Shares\b"),
    "sreport": (
        "sums over jobs, and no job",
        r"Usage reported in |.*\bCluster\b.*\b(?:Login|Proper Name|Allocated|TRES Name)\b"
        r"|Cluster.*\bAccount\b.*\bUsed\b|Cluster.*\bDown\b.*\bReported\b",
    ),
    "sacctmgr": (
        "accounts and limits, and no jobs",
        r".*\b(?:GrpJobs|GrpTRES|ControlHost)\b|User\b.*\bDef Acct\b|Account\b.*\bDescr\b",
    ),
    "sstat": (
        "steps that run, and no jobs",
        r"JobID\b.*\bPids\b|JobID[\s|,]+MaxVMSize[\s|,]+MaxVMSizeNode\b",
    ),
    "scontrol": ("what the controller knows at a moment", r"JobId=\d+ |NodeName=\S+ \w+="),
    "seff": ("the efficiency of one job", r"Job ID: \d+|.*CPU Efficiency: "),
}
"""Command -> what it lists, and how a line of its output begins."""

_KNOWN: Final = {name: re.compile(rf"\s*(?:{line})") for name, (_, line) in _COMMANDS.items()}
_ASK: Final = (
    "for jobs, harvest the output of sacct -a -P -S 2024-01-01 --format=JobID,User,Account,"
    "Partition,State,ExitCode,Submit,Start,End,Elapsed,Timelimit,NNodes,AllocCPUS,AllocTRES,"
    "TotalCPU,MaxRSS,NTasks"
)


def refuse_others(lines: Sequence[bytes], where: str) -> None:
    """Raise SourceError if the first lines are the output of a command other than sacct."""
    full = [line.decode("utf-8", "replace") for line in lines[:100] if line.strip()]
    for text in full[:_LINES]:
        for name, known in _KNOWN.items():
            if known.match(text):
                raise SourceError(
                    f"this is the output of {name}, which lists {_COMMANDS[name][0]}: {_ASK}",
                    where=where,
                )
