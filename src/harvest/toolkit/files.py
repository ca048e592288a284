"""List inputs, replace files atomically, and compute checksums.

Readers, also after a power cut, find the old or the new content of a replaced file, never a part::

    with replacing(path) as temporary:
        table.write_parquet(temporary)
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Final, TypeVar

from harvest.errors import SourceError, UsageError, out_of_files

__all__ = [
    "flush", "folders_of", "fsync", "fsync_directory", "input_path", "list_files", "may_be",
    "new_directory", "out_of_files", "replacing", "walk_files", "walk_names", "write_atomically",
]  # fmt: skip

_NO_FULL_FSYNC = frozenset((errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOTTY))
"""Errors of file systems, for example network ones, that cannot flush a device's cache."""

_BLOCK = 1 << 20

KINDS: Final = {
    stat.S_IFBLK: "a block device",
    stat.S_IFCHR: "a character device",
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
}
"""Names of file types other than regular files, by the type bits of the mode."""

_PASSED: Final[ContextVar[dict[str, str] | None]] = ContextVar("passed over", default=None)

_Named = TypeVar("_Named", str, Path)


def input_path(location: str) -> Path:
    """Return the absolute path of an input that a user named; expand ``~``.

    Raises SourceError if nothing exists there.
    """
    path = Path(location).expanduser().absolute()
    if not path.exists():
        raise SourceError("no such file or directory", where=str(path), remedy="check the location")
    return path


@contextlib.contextmanager
def report_unreadable(location: Path) -> Iterator[None]:
    """Convert OSError to SourceError while a location is listed or read."""
    try:
        yield
    except OSError as error:
        if out_of_files(error):
            raise
        message, remedy = f"cannot be read: {error.strerror}", "check its permissions"
        if isinstance(error, FileNotFoundError):
            message, remedy = "no such file or directory", "check the location"
        where = str(error.filename or location)
        raise SourceError(message, where=where, remedy=remedy) from error


def may_be(path: _Named, recognise: Callable[[_Named], object]) -> bool:
    """Return whether a file is what a source looks for, or cannot be read.

    An unreadable file might be one, so it is planned; reading it gives a reject with the reason.

    recognise: opens the file; returns None or False if it is another kind of file.
    """
    try:
        return recognise(path) not in (None, False)
    except OSError as error:
        if out_of_files(error):  # not caused by the file
            raise
        return True


def list_files(directory: Path) -> list[Path]:
    """Return the files directly in a directory, as ``walk_files`` lists them."""
    return next(walk_files(directory))[1]


def walk_files(
    directory: Path,
    *,
    depth: int | None = None,
    hidden: bool = True,
    enter: Callable[[str], bool] | None = None,
) -> Iterator[tuple[Path, list[Path]]]:
    """Yield directories and files as ``walk_names`` does, but as paths."""
    for name, names in walk_names(directory, depth=depth, hidden=hidden, enter=enter):
        folder = Path(name)
        yield folder, [folder / name for name in names]


def walk_names(
    directory: Path | str,
    *,
    depth: int | None = None,
    hidden: bool = True,
    enter: Callable[[str], bool] | None = None,
) -> Iterator[tuple[str, list[str]]]:
    """Yield a directory and those below it, each with the names of its files, sorted by name.

    For directories with very many files, where building a path for each costs more than listing.

    depth: number of levels below ``directory`` to enter; None for all.
    hidden: whether to enter directories whose names begin with a dot.
    enter: function that decides by path whether to enter a subdirectory; by default all.

    A link to a file counts as a file. A broken link does too, since its reader must report it. A
    link to a directory is not followed. Pipes, sockets and devices are not files: they are never
    opened, and ``passed_over`` collects them. Raises OSError if a directory cannot be listed, since
    its files would be missing from the dataset.
    """
    pending = [(os.fspath(directory), 0)]
    while pending:
        folder, level = pending.pop()
        files: list[str] = []
        folders: list[str] = []
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                elif _is_file(entry):
                    files.append(entry.name)
                else:
                    _pass_over(entry)
        yield folder, sorted(files)
        if depth is None or level < depth:
            below = [
                os.path.join(folder, name)  # noqa: PTH118
                for name in sorted(folders, reverse=True)
                if hidden or not name.startswith(".")
            ]
            pending += [(path, level + 1) for path in below if enter is None or enter(path)]


@contextlib.contextmanager
def passed_over() -> Iterator[dict[str, str]]:
    """Collect entries that are neither file nor directory while listing: path -> kind."""
    found: dict[str, str] = {}
    token = _PASSED.set(found)
    try:
        yield found
    finally:
        _PASSED.reset(token)


def _pass_over(entry: os.DirEntry[str]) -> None:
    found = _PASSED.get()
    if found is None or entry.is_dir():
        return
    with contextlib.suppress(FileNotFoundError):  # removed meanwhile
        found[entry.path] = KINDS.get(stat.S_IFMT(entry.stat().st_mode), "no file")


def folders_of(
    directory: Path, files: Iterable[Path], *, depth: int | None = None, hidden: bool = True
) -> Iterator[Path]:
    """Yield the directories that contain some files, each once, if ``walk_files`` lists them.

    files: below ``directory``, not behind a link, maybe missing; depth, hidden: as there.
    """
    for folder in dict.fromkeys(file.parent for file in files):
        levels = folder.relative_to(directory).parts
        is_deep = depth is not None and len(levels) > depth
        is_hidden = not hidden and any(name.startswith(".") for name in levels)
        if not is_deep and not is_hidden and folder.is_dir():
            yield folder


def files_among(directory: Path, paths: Iterable[str]) -> Iterator[Path]:
    """Yield the absolute paths that ``walk_files`` of a directory would list, in its order.

    A path behind a linked directory is left out, since the file has another path, too.
    """
    for path in paths_below(directory, paths):
        linked = os.path.islink(path) and not os.path.exists(path)  # noqa: PTH110, PTH114
        if linked or os.path.isfile(path):  # noqa: PTH113
            yield Path(path)


def paths_below(directory: Path, paths: Iterable[str]) -> Iterator[str]:
    """Yield the absolute paths below a directory, existing or not, without linked directories.

    They come in sorted order.
    """
    top = str(directory).rstrip("/")
    direct = {top: True}

    def is_direct(folder: str) -> bool:
        if folder not in direct:
            above = os.path.dirname(folder)  # noqa: PTH120 - fast for a million paths
            direct[folder] = is_direct(above) and not os.path.islink(folder)  # noqa: PTH114
        return direct[folder]

    for path in sorted(paths):
        if path.startswith(f"{top}/") and is_direct(os.path.dirname(path)):  # noqa: PTH120
            yield path


def _is_file(entry: os.DirEntry[str]) -> bool:
    if entry.is_symlink():
        return os.path.isfile(entry.path) or not os.path.exists(entry.path)  # noqa: PTH110, PTH113
    return entry.is_file()


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to; it replaces ``path`` durably when the block ends.

    After an error, ``path`` is unchanged and the temporary file is removed; an OSError without a
    file's name gets ``path``. If a process is killed, the next one on the same host that writes
    ``path`` reuses its temporary file.
    Raises IsADirectoryError, which names ``path``, if it is a directory.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    temporary, held = _temporary_of(path)
    try:
        yield temporary
        fsync_file(temporary)
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = error.filename or str(path)
        raise
    finally:
        if held is not None:
            os.close(held)
    fsync_directory(path.absolute().parent)


@contextlib.contextmanager
def new_directory(target: Path) -> Iterator[Path]:
    """Yield a directory to write to; it is renamed to ``target`` when the block ends.

    After an error it is removed. Raises UsageError if the target exists, or its parent directory
    does not.
    """
    incomplete = target.with_name(target.name + ".incomplete")
    if os.path.lexists(target):
        raise UsageError("this exists already", where=str(target), remedy="name a new directory")
    if not target.absolute().parent.is_dir():
        raise UsageError("no such directory", where=str(target.parent), remedy="make it first")
    try:
        incomplete.mkdir()
    except FileExistsError:
        problem = "this is left by an interrupted command, or is being written"
        remedy = "remove it, or name another directory"
        raise UsageError(problem, where=str(incomplete), remedy=remedy) from None
    try:
        yield incomplete
        incomplete.rename(target)
    except BaseException:
        shutil.rmtree(incomplete, ignore_errors=True)
        raise
    fsync_directory(target.absolute().parent)


def _temporary_of(path: Path) -> tuple[Path, int | None]:
    """Return a temporary path for ``path``, and the descriptor whose lock excludes others.

    If another process uses that file, or it is foreign, return another path, without a lock.
    """
    # one name per host: on some file systems, locks are local to a host
    host = hashlib.blake2b(os.uname().nodename.encode(), digest_size=6).hexdigest()
    temporary = path.with_name(f".{path.name}.{host}.tmp")
    with contextlib.suppress(OSError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(temporary, flags, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found = os.fstat(descriptor)
            mine = (found.st_uid, found.st_nlink) == (os.geteuid(), 1)
            if mine and os.path.samestat(found, temporary.lstat()):
                os.ftruncate(descriptor, 0)
                return temporary, descriptor
        except BlockingIOError:  # another process is writing it
            pass
        except OSError:  # a file system without locks
            temporary.unlink(missing_ok=True)
        os.close(descriptor)
    return path.with_name(f".{path.name}.{os.urandom(6).hex()}.tmp"), None


def write_atomically(path: Path, data: bytes | bytearray) -> None:
    """Replace ``path`` by ``data``, durably: readers see the old content or the new one."""
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def fsync(descriptor: int) -> None:
    """Flush an open file's content to its device."""
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is None:
        os.fsync(descriptor)
        return
    # on macOS, fsync alone leaves data in the device's cache
    try:
        fcntl.fcntl(descriptor, full)
    except OSError as error:
        if error.errno not in _NO_FULL_FSYNC:
            raise
        os.fsync(descriptor)


def fsync_file(path: Path) -> None:
    """Flush a file's content to its device."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fsync(descriptor)
    finally:
        os.close(descriptor)


def fsync_directory(path: Path) -> None:
    """Flush a directory's entries to its device, so that names in it survive a power cut."""
    fsync_file(path)


def flush(path: Path) -> tuple[int, str]:
    """Flush a file's content to its device; return its size in bytes and its SHA-256 in hex."""
    with path.open("rb", buffering=0) as file:
        digest = hashlib.file_digest(file, "sha256")
        fsync(file.fileno())
        return file.tell(), digest.hexdigest()
