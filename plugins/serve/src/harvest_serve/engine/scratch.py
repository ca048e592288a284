"""A private directory for rows that are in no Parquet file of a dataset, such as those of views.

The server removes it at its end. The next server to start removes the directory of a killed one:
each is locked while its server runs.
"""

import contextlib
import fcntl
import itertools
import os
import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Final

_PREFIX: Final = "harvest-serve-"
_LOCK: Final = "lock"

MOST_BYTES: Final = 2 * 2**30
"""Most bytes of files that are kept, not counting those in use."""


class Scratch:
    """Files that are written once for a key, and removed when others need the space."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.spill = directory / "spill"
        self.spill.mkdir()
        self._files: OrderedDict[Hashable, _File] = OrderedDict()
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)

    @contextlib.contextmanager
    def file(self, key: Hashable, make: Callable[[Path], None]) -> Iterator[Path]:
        """Give the Parquet file of a key, which ``make`` writes on first use.

        The file exists inside this context.
        """
        with self._lock:
            if key not in self._files:
                self._files[key] = _File(self.directory / f"{next(self._numbers)}.parquet")
            self._files.move_to_end(key)
            file = self._files[key]
            file.users += 1
        try:
            with file.lock:
                if not file.made:
                    try:
                        make(file.path)
                    except BaseException:
                        file.path.unlink(missing_ok=True)
                        raise
                    file.made = True
            self._make_room()
            yield file.path
        finally:
            with self._lock:
                file.users -= 1
                if not file.made and not file.users and self._files.get(key) is file:
                    del self._files[key]

    def _make_room(self) -> None:
        with self._lock:
            sizes = {k: f.path.stat().st_size for k, f in self._files.items() if f.made}
            total = sum(sizes.values())
            for key, size in sizes.items():
                if total > MOST_BYTES and not self._files[key].users:
                    self._files.pop(key).path.unlink()
                    total -= size


class _File:
    """A file that is written once, with the number of its users."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.users = 0
        self.made = False
        self.lock = threading.Lock()


@contextlib.contextmanager
def scratch() -> Iterator[Scratch]:
    """Make a directory for this server, removed at the end; remove those of killed servers, too."""
    _sweep(Path(tempfile.gettempdir()))
    with (
        tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as name,
        (Path(name) / _LOCK).open("wb") as lock,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield Scratch(Path(name))


def _sweep(parent: Path) -> None:
    """Remove directories that killed servers of this user left."""
    for directory in parent.glob(f"{_PREFIX}*"):
        try:
            found = directory.lstat()
            if found.st_uid != os.getuid() or directory.is_symlink():
                continue
            lock = os.open(directory / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue  # another user's, or still being made
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue  # its server is running
        else:
            shutil.rmtree(directory, ignore_errors=True)
        finally:
            os.close(lock)
