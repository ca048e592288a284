"""Which files are flushed, as the kernel sees it: what libraries write is seen, too (strace)."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

_WRITES = (
    "write",
    "pwrite64",
    "writev",
    "pwritev",
    "pwritev2",
    "ftruncate",
    "copy_file_range",
    "sendfile",
)
_FLUSHES = ("fsync", "fdatasync", "syncfs", "sync")
_NAMES = ("rename", "renameat", "renameat2", "unlink", "unlinkat")

_CALL = re.compile(r"(?:\d+ +)?(\w+)\((.*)")
_OPEN_FILE = re.compile(r"\d+<([^>]*)>")
_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')


def strace(log: Path) -> Sequence[str]:
    """The command that traces another one into a log; empty where there is none that may."""
    program = shutil.which("strace")
    if program is None:
        return ()
    calls = ",".join(("mkdir", "mkdirat", *_WRITES, *_FLUSHES, *_NAMES))
    command = (program, "-f", "-y", "-qq", "-e", f"trace={calls}", "-e", "signal=none")
    tried = subprocess.run(  # a container may forbid it
        [*command, "-o", str(log), "true"], capture_output=True, check=False
    )
    return (*command, "-o", str(log)) if tried.returncode == 0 else ()


def unflushed(log: Iterable[str], mark: Path) -> set[str]:
    """Files that were written and not flushed when a directory was made, which marks the time.

    What is written through mapped memory is not seen.
    """
    dirty: set[str] = set()
    for line in log:
        call = _CALL.match(line)
        if call is None:
            continue
        name, arguments = call.groups()
        named = _TEXT.findall(arguments)
        if name in _WRITES:
            dirty.update(_OPEN_FILE.findall(arguments))
        elif name in ("sync", "syncfs"):
            dirty.clear()
        elif name in _FLUSHES:
            dirty.difference_update(_OPEN_FILE.findall(arguments))
        elif name.startswith("mkdir"):
            if str(mark) in named:
                return dirty
        elif named and named[0] in dirty:  # renamed or removed
            dirty.remove(named[0])
            dirty.update(named[1:])
    raise ValueError(f"{mark} was not made")
