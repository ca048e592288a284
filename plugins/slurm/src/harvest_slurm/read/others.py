"""What other commands of Slurm print, known by a line of theirs, to be refused by its name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from harvest import SourceError

_LINES: Final = 6
"""Lines with something in them that are looked at."""

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
"""Commands: what each lists, and how a line of its output begins."""

_KNOWN: Final = {name: re.compile(rf"\s*(?:{line})") for name, (_, line) in _COMMANDS.items()}
_ASK: Final = (
    "for jobs, harvest the output of sacct -a -P -S 2024-01-01 --format=JobID,User,Account,"
    "Partition,State,ExitCode,Submit,Start,End,Elapsed,Timelimit,NNodes,AllocCPUS,AllocTRES,"
    "TotalCPU,MaxRSS,NTasks"
)


def refuse_others(lines: Sequence[bytes], where: str) -> None:
    """Raise SourceError where the first lines are those of another command than sacct."""
    full = [line.decode("utf-8", "replace") for line in lines[:100] if line.strip()]
    for text in full[:_LINES]:
        for name, known in _KNOWN.items():
            if known.match(text):
                raise SourceError(
                    f"this is the output of {name}, which lists {_COMMANDS[name][0]}: {_ASK}",
                    where=where,
                )
