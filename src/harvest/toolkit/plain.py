"""Open the files of a dataset only if they are plain files.

Anyone who can write into a dataset's directory can put other things there: a link to a file
elsewhere, a pipe without a writer, an endless device, a directory. Readers never follow, wait for
or endlessly read these; `harvest verify --repair` moves them to ``aside/`` in the state directory.
"""

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
"""Directory in the state directory for things that were found instead of a dataset's files."""

DOCUMENT_BYTES: Final = 1 << 28
"""Maximum size of a manifest, the record of a run or the description of staged parts."""

DATA_BYTES: Final = 1 << 32
"""Maximum size of a segment, or of the staged rows of small partitions."""

ANY_BYTES: Final = 1 << 63
"""No limit."""

_NOTHING: Final = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP))
"""Errors that mean that nothing exists at a path; ELOOP: a link on the path leads to itself."""

_UNREADABLE: Final = "a file that you may not read"

_LINK: Final = {stat.S_IFLNK: "a symbolic link, which may lead out of the dataset"}


def open_plain(path: Path, most_bytes: int) -> int:
    """Open a plain file; return its descriptor, or raise DatasetError if it is odd or too large.

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
        # below a link to itself, nothing exists
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from None
    what = _what(os.fstat(descriptor), most_bytes)  # it may have been replaced
    if what is not None:
        os.close(descriptor)
        raise odd(path, what)
    return descriptor


def require_plain(path: Path, most_bytes: int) -> None:
    """Raise DatasetError if something at a path is not a plain file, or is too large."""
    if (what := what_else(path, most_bytes)) is not None:
        raise odd(path, what)


def odd(path: Path, what: str) -> DatasetError:
    """Build the error for something that is found instead of a plain file."""
    remedy = "`harvest verify DATASET --repair` moves it aside or repairs it"
    return DatasetError(f"this is {what}", where=printable(str(path)), remedy=remedy)


def read_plain(path: Path, most_bytes: int = DOCUMENT_BYTES) -> bytes:
    """Read a plain file; raise as ``open_plain`` does."""
    with open(open_plain(path, most_bytes), "rb") as file:
        return file.read(most_bytes)


def is_content(path: Path, sha256: str, most_bytes: int) -> bool:
    """Return whether a plain file exists, is not too large, and has this start of its checksum."""
    try:
        descriptor = open_plain(path, most_bytes)
    except (FileNotFoundError, NotADirectoryError, DatasetError):
        return False
    with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123
        return hashlib.file_digest(file, "sha256").hexdigest().startswith(sha256)


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file in hex; the path may contain links, as in ``checksum_range``."""
    with open_linked(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def checksum_range(
    path: Path, start: int, size_bytes: int, copy_to: IO[bytes] | None = None
) -> str:
    """Return the SHA-256, in hex, of ``size_bytes`` from ``start``, or of fewer at the file's end.

    path: may contain links, since users may name a file by a link.
    copy_to: an open file to which the bytes are appended.
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
    """Open a plain file of any size for reading; the user's path may contain links."""
    return io.FileIO(open_plain(Path(os.path.realpath(path)), ANY_BYTES))


def what_else(path: Path, most_bytes: int = ANY_BYTES) -> str | None:
    """Say what is at a path if it is not a readable plain file of limited size, else None."""
    try:
        what = _what(path.lstat(), most_bytes)
    except OSError as error:
        if error.errno in _NOTHING:
            return None
        raise
    if what or os.access(path, os.R_OK) or not os.path.lexists(path):  # or removed meanwhile
        return what
    return _UNREADABLE


def is_plain(path: Path) -> bool:
    """Return whether a plain file exists at a path."""
    return os.path.lexists(path) and what_else(path) is None


def refuse_link(directory: Path) -> None:
    """Raise DatasetError if a symbolic link, perhaps the user's, replaces a directory."""
    if directory.is_symlink():
        problem = "this is a symbolic link, which may lead out of the dataset"
        remedy = "replace the link by the directory itself, or harvest into a new one"
        raise DatasetError(problem, where=printable(str(directory)), remedy=remedy)


def set_aside(path: Path, state: Path) -> Path:
    """Move something found instead of a file to ``aside/`` in a state directory; return its place.

    Raises DatasetError if the state directory is a link: nothing is moved elsewhere.
    """
    refuse_link(state)
    aside = state / ASIDE
    if os.path.lexists(aside) and (aside.is_symlink() or not aside.is_dir()):
        planted = aside.rename(state / _name_aside(aside))  # moves the link itself, not its target
        aside.mkdir()
        planted = planted.rename(aside / planted.name)
        if path == aside:
            return planted
    aside.mkdir(exist_ok=True)
    return path.rename(aside / _name_aside(path))


def _name_aside(path: Path) -> str:
    return f"{path.name[:200]}.{os.urandom(4).hex()}"


def take_away(path: Path, state: Path) -> None:
    """Remove an unneeded plain file; move anything else aside."""
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
