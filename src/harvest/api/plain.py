"""The files of a dataset, opened only where they are plain files.

Whoever can write into a dataset's directory can put there a link to a file elsewhere, a pipe that
nobody writes to, a device that never ends, a directory.  No reader follows one, waits for one or
reads without bound; `harvest verify --repair` moves it to ``aside/`` of the state directory.
"""

from __future__ import annotations

import hashlib
import os
import stat
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

_LINK: Final = {stat.S_IFLNK: "a symbolic link, which may lead out of the dataset"}


def open_plain(path: Path, most_bytes: int) -> int:
    """A descriptor to read a file by; raises DatasetError for what is no file, or is larger.

    Raises OSError as ``os.open`` does.
    """
    require_plain(path, most_bytes)
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    what = _what(os.fstat(descriptor), most_bytes)  # it may be another by now
    if what is not None:
        os.close(descriptor)
        raise odd(path, what)
    return descriptor


def require_plain(path: Path, most_bytes: int) -> None:
    """Raise DatasetError where what lies at a path is no file, or is larger."""
    if (what := what_else(path, most_bytes)) is not None:
        raise odd(path, what)


def odd(path: Path, what: str) -> DatasetError:
    """The error of something in the place of a file."""
    return DatasetError(
        f"this is {what}",
        where=printable(str(path)),
        remedy="`harvest verify DATASET --repair` moves it aside or mends it",
    )


def read_plain(path: Path, most_bytes: int = DOCUMENT_BYTES) -> bytes:
    """What a file holds; raises as ``open_plain``."""
    with open(open_plain(path, most_bytes), "rb") as file:
        return file.read(most_bytes)


def is_content(path: Path, sha256: str, most_bytes: int) -> bool:
    """Whether a plain file of no more bytes is there and has a checksum that begins so."""
    try:
        descriptor = open_plain(path, most_bytes)
    except (FileNotFoundError, NotADirectoryError, DatasetError):
        return False
    with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123
        return hashlib.file_digest(file, "sha256").hexdigest().startswith(sha256)


def what_else(path: Path, most_bytes: int = DATA_BYTES << 32) -> str | None:
    """What lies at a path where that is something, and no plain file, or is larger."""
    try:
        return _what(path.lstat(), most_bytes)
    except (FileNotFoundError, NotADirectoryError):
        return None


def is_plain(path: Path) -> bool:
    """Whether a plain file is there."""
    return os.path.lexists(path) and what_else(path) is None


def set_aside(path: Path, state: Path) -> Path:
    """Move what is in the place of a file to ``aside/`` below a state directory; where to."""
    target = state / ASIDE / f"{path.name[:200]}.{os.urandom(4).hex()}"
    target.parent.mkdir(exist_ok=True)
    return path.rename(target)


def take_away(path: Path, state: Path) -> None:
    """Remove a file that is not needed; what is none is moved aside."""
    if what_else(path) is None:
        path.unlink(missing_ok=True)
    else:
        set_aside(path, state)


def _what(found: os.stat_result, most_bytes: int) -> str | None:
    if not stat.S_ISREG(found.st_mode):
        return (KINDS | _LINK).get(stat.S_IFMT(found.st_mode), "no file")
    if found.st_size <= most_bytes:
        return None
    return f"{bytes_in_words(found.st_size)}, where at most {bytes_in_words(most_bytes)} are"
