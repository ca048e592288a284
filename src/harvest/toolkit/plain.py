"""The files of a dataset, opened only where they are plain files.

Whoever can write into a dataset's directory can put there a link to a file elsewhere, a pipe that
nobody writes to, a device that never ends, a directory.  No reader follows one, waits for one or
reads without bound; `harvest verify --repair` moves it to ``aside/`` of the state directory.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import stat
from pathlib import Path
from typing import IO, Final

from harvest.errors import DatasetError
from harvest.toolkit.amounts import bytes_in_words
from harvest.toolkit.files import KINDS
from harvest.toolkit.texts import printable

__all__ = ["checksum", "checksum_range", "open_linked", "read_plain"]

ASIDE: Final = "aside"
"""Directory of what lay in the place of a dataset's files, below its state directory."""

DOCUMENT_BYTES: Final = 1 << 28
"""A manifest, the record of a run or the description of staged parts has no more."""

DATA_BYTES: Final = 1 << 32
"""A segment, or the staged rows of small partitions, has no more."""

ANY_BYTES: Final = 1 << 63
"""No limit."""

_NOTHING: Final = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP))
"""Why nothing is found at a path; a link to itself may be on the way."""

_UNREADABLE: Final = "a file that you may not read"

_LINK: Final = {stat.S_IFLNK: "a symbolic link, which may lead out of the dataset"}


def open_plain(path: Path, most_bytes: int) -> int:
    """A descriptor to read a file by; raises DatasetError for what is not a file, or is larger.

    Raises OSError as ``os.open`` does.
    """
    require_plain(path, most_bytes)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except PermissionError:
        raise odd(path, _UNREADABLE) from None
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        # below a link to itself nothing lies
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from None
    what = _what(os.fstat(descriptor), most_bytes)  # it may be another by now
    if what is not None:
        os.close(descriptor)
        raise odd(path, what)
    return descriptor


def require_plain(path: Path, most_bytes: int) -> None:
    """Raise DatasetError where what is at a path is not a file, or is larger."""
    if (what := what_else(path, most_bytes)) is not None:
        raise odd(path, what)


def odd(path: Path, what: str) -> DatasetError:
    """The error of something in the place of a file."""
    return DatasetError(
        f"this is {what}",
        where=printable(str(path)),
        remedy="`harvest verify DATASET --repair` moves it aside or repairs it",
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


def checksum(path: Path) -> str:
    """SHA-256 of a file, as hex; the path may lead over links, as that of ``checksum_range``."""
    with open_linked(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def checksum_range(
    path: Path, start: int, size_bytes: int, copy_to: IO[bytes] | None = None
) -> str:
    """SHA-256 of the bytes from ``start`` on, as hex; of fewer where the file ends before.

    path: may lead over links, since a user may name a file by one.
    copy_to: an open file that these bytes are appended to.
    """
    digest = hashlib.sha256()
    with open_linked(path) as file:
        file.seek(start)
        while size_bytes and (block := file.read(min(size_bytes, 1 << 20))):
            digest.update(block)
            size_bytes -= len(block)
            if copy_to is not None:
                copy_to.write(block)
    return digest.hexdigest()


def open_linked(path: Path) -> io.FileIO:
    """A plain file of any size to which a path that a user named leads, open to be read."""
    return io.FileIO(open_plain(Path(os.path.realpath(path)), ANY_BYTES))


def what_else(path: Path, most_bytes: int = ANY_BYTES) -> str | None:
    """What is at a path where that is not a plain file, is larger, or may not be read."""
    try:
        what = _what(path.lstat(), most_bytes)
    except OSError as error:
        if error.errno in _NOTHING:
            return None
        raise
    if what or os.access(path, os.R_OK) or not os.path.lexists(path):  # or it went meanwhile
        return what
    return _UNREADABLE


def is_plain(path: Path) -> bool:
    """Whether a plain file is there."""
    return os.path.lexists(path) and what_else(path) is None


def refuse_link(directory: Path) -> None:
    """Raise DatasetError where a symbolic link, which may be the user's, is in its place."""
    if directory.is_symlink():
        raise DatasetError(
            "this is a symbolic link, which may lead out of the dataset",
            where=printable(str(directory)),
            remedy="replace the link by the directory itself, or harvest into a new one",
        )


def set_aside(path: Path, state: Path) -> Path:
    """Move what is in the place of a file to ``aside/`` below a state directory; where to.

    Raises DatasetError where the state directory is a link: nothing is moved elsewhere.
    """
    refuse_link(state)
    aside = state / ASIDE
    if os.path.lexists(aside) and (aside.is_symlink() or not aside.is_dir()):
        planted = aside.rename(state / _name_aside(aside))  # the link itself, not where it leads
        aside.mkdir()
        planted = planted.rename(aside / planted.name)
        if path == aside:
            return planted
    aside.mkdir(exist_ok=True)
    return path.rename(aside / _name_aside(path))


def _name_aside(path: Path) -> str:
    return f"{path.name[:200]}.{os.urandom(4).hex()}"


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
