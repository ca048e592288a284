"""One run at a time on a dataset."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from harvest.errors import DatasetError

__all__ = ["locked"]


@contextlib.contextmanager
def locked(state: Path) -> Iterator[None]:
    """Hold the dataset's lock.

    The lock is the kernel's (``flock``): it goes when its holder dies, however it dies.
    Raises DatasetError, naming the holder, when another run has it.
    """
    path = state / "lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EAGAIN):
                holder = os.pread(descriptor, 200, 0).decode("utf-8", "replace").strip()
                raise DatasetError(
                    f"another run is writing this dataset ({holder or 'holder unknown'})",
                    where=str(state),
                    remedy="wait for it to end",
                ) from None
            raise DatasetError(
                f"the file system cannot lock files ({error.strerror})",
                where=str(path),
                remedy="write the dataset to a file system with locks, or mount this one with them",
            ) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)
        try:
            yield
        finally:
            os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)
