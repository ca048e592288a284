"""The files of a dataset, opened only where they are plain files.

Whoever can write into a dataset's directory can put there a link to a file elsewhere, a pipe that
nobody writes to, a device that never ends, a directory.  No reader follows one, waits for one or
reads without bound; `harvest verify --repair` moves it to ``aside/`` of the state directory.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from itertools import count
from pathlib import Path
from typing import Final

from harvest.errors import DatasetError
from harvest.toolkit.amounts import bytes_in_words
from harvest.toolkit.files import KINDS
from harvest.toolkit.texts import printable

ASIDE: Final = "aside"
"""Directory of what lay in the place of a dataset's files, below its state directory."""

DOCUMENT_BYTES: Final = 1 << 28
"""A manifest, the record of a run or the description of staged parts has no more."""

DATA_BYTES: Final = 1 << 32
"""A segment, or the staged rows of small partitions, has no more."""

_KINDS: Final = {**KINDS, stat.S_IFLNK: "a symbolic link, which may lead out of the dataset"}


def open_plain(path: Path, most_bytes: int) -> int:
    """A descriptor to read a file by; raises DatasetError for what is no file, or is larger.

    Raises OSError as ``os.open`` does.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        # a link, or a socket; on macOS a socket gives another error
        if error.errno not in (errno.ELOOP, errno.ENXIO, errno.EOPNOTSUPP):
            raise
        raise _odd(path, what_else(path) or "behind a symbolic link") from error
    found = os.fstat(descriptor)
    what = _kind_of(found)
    if what is None and found.st_size > most_bytes:
        what = f"{bytes_in_words(found.st_size)}, where at most {bytes_in_words(most_bytes)} are"
    if what is not None:
        os.close(descriptor)
        raise _odd(path, what)
    return descriptor


def read_plain(path: Path, most_bytes: int = DOCUMENT_BYTES) -> bytes:
    """What a file holds; raises as ``open_plain``."""
    with open(open_plain(path, most_bytes), "rb", buffering=0) as file:
        return file.read(most_bytes)


def is_content(path: Path, sha256: str, most_bytes: int) -> bool:
    """Whether a plain file of no more bytes is there and has a checksum that begins so."""
    try:
        descriptor = open_plain(path, most_bytes)
    except (FileNotFoundError, NotADirectoryError, DatasetError):
        return False
    with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123
        return hashlib.file_digest(file, "sha256").hexdigest().startswith(sha256)


def what_else(path: Path) -> str | None:
    """What lies at a path where that is something, and no plain file: a directory, a link."""
    try:
        return _kind_of(path.lstat())
    except (FileNotFoundError, NotADirectoryError):
        return None


def is_plain(path: Path) -> bool:
    """Whether a plain file is there."""
    return os.path.lexists(path) and what_else(path) is None


def require_plain(path: Path, most_bytes: int) -> None:
    """Raise DatasetError for what others are to read and is no plain file, or is larger."""
    if is_plain(path):
        os.close(open_plain(path, most_bytes))
    elif (what := what_else(path)) is not None:
        raise _odd(path, what)


def set_aside(path: Path, state: Path) -> Path:
    """Move what is in the place of a file to ``aside/`` below a state directory; where to."""
    for number in count(1):
        folder = state / (ASIDE if number == 1 else f"{ASIDE}-{number}")
        if os.path.lexists(folder) and (folder.is_symlink() or not folder.is_dir()):
            continue
        target = folder / f"{path.name}.{number}"
        if not os.path.lexists(target):
            folder.mkdir(exist_ok=True)
            return path.rename(target)
    raise AssertionError


def take_away(path: Path, state: Path) -> None:
    """Remove a file that is not needed; what is none is moved aside."""
    if what_else(path) is None:
        path.unlink(missing_ok=True)
    else:
        set_aside(path, state)


def _kind_of(found: os.stat_result) -> str | None:
    kind = stat.S_IFMT(found.st_mode)
    return None if kind == stat.S_IFREG else _KINDS.get(kind, "no file")


def _odd(path: Path, what: str) -> DatasetError:
    return DatasetError(
        f"this is {what}",
        where=printable(str(path)),
        remedy="`harvest verify DATASET --repair` moves it aside or mends it",
    )
