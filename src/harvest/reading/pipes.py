"""Detect locations that are pipes: standard input, a file descriptor, a named pipe (FIFO).

    zcat jobs.gz | harvest run -s slurm:- ...
    harvest run -s slurm:<(zcat jobs.gz) ...       the shell names it /dev/fd/63
    mkfifo jobs; harvest run -s slurm:jobs ...

A pipe can be read only once, and only from its beginning.
"""

import os
import re
import stat
import sys
from pathlib import Path
from typing import Final

import attrs

from harvest.errors import UsageError
from harvest.toolkit.files import KINDS
from harvest.toolkit.texts import printable_line

STDIN: Final = "stdin"
"""Origin of rows that come from standard input."""

_STDIN_PATH: Final = "/dev/stdin"
_DESCRIPTOR: Final = re.compile(r"(?:/dev/fd|/proc/self/fd)/(\d{1,9})", re.ASCII)


@attrs.frozen
class Pipe:
    """An input that can be read only once.

    origin: the name in rows: ``stdin``, or the absolute path.
    location: the absolute path.
    descriptor: number of the open file; None for a named pipe, which is opened later.
    identity: equal for two names of one pipe.
    file: holds the pipe's content; None before anything is read.
    """

    origin: str
    location: str
    descriptor: int | None
    identity: tuple[int, int]
    file: Path | None = None


def pipe_of(location: str) -> Pipe | None:
    """Return the pipe at a location; None for a file, a directory, or a text that is not a path.

    Raises UsageError for inputs that no source reads: a device, a socket, or a standard input that
    is closed or a terminal.
    """
    path = _path(location)
    descriptor = _descriptor(location, path)
    if descriptor is not None:
        return _open_file(descriptor, path)
    try:
        status = os.stat(path)  # noqa: PTH116
    except (OSError, ValueError):
        return None  # not a path or missing: the source decides
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFIFO:
        return Pipe(path, path, None, (status.st_dev, status.st_ino))
    if kind not in (stat.S_IFREG, stat.S_IFDIR):
        problem = f"{printable_line(path)} is {KINDS.get(kind, 'no file')}, which no source reads"
        raise UsageError(problem, remedy="name a file, a directory or a pipe")
    return None


def names_pipe(name: str) -> bool:
    """Return whether a location or origin names a pipe, readable now or not."""
    path = _path(name)
    return name == STDIN or _descriptor(name, path) is not None or Path(path).is_fifo()


def _path(location: str) -> str:
    return os.path.abspath(os.path.expanduser(location))  # noqa: PTH100, PTH111 - follow no link


def _descriptor(location: str, path: str) -> int | None:
    """Return the file descriptor that a location stands for, or None."""
    if location == "-" or path == _STDIN_PATH:
        return 0
    found = _DESCRIPTOR.fullmatch(path)
    return int(found[1]) if found else None


def _open_file(descriptor: int, path: str) -> Pipe:
    name = "standard input" if descriptor == 0 else path
    remedy = "pipe something to it: zcat FILE | harvest ..., or name a file"
    try:
        # if stdin is closed, another file of this program may have got descriptor 0
        status = os.fstat(descriptor if descriptor or sys.__stdin__ is not None else -1)
    except (OSError, OverflowError):
        raise UsageError(f"{name} is not open", remedy=remedy) from None
    kind = stat.S_IFMT(status.st_mode)
    if kind in (stat.S_IFDIR, stat.S_IFCHR, stat.S_IFBLK):
        what = "a terminal" if os.isatty(descriptor) else KINDS[kind]
        raise UsageError(f"{name} is {what}, which no source reads", remedy=remedy)
    identity = (status.st_dev, status.st_ino)
    if descriptor == 0:
        return Pipe(STDIN, _STDIN_PATH, 0, identity)
    return Pipe(path, path, descriptor, identity)
