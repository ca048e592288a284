"""A file that is there and cannot be read: permissions and disks that fail, also for root."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock


def failing(path: Path) -> Iterator[str]:
    """Have a file be there and fail, in one way after the other, and say in which."""
    real, original = os.path.realpath(path), io.open

    def denied(name: Any, *how: Any, **more: Any) -> Any:
        if not isinstance(name, int) and os.path.realpath(name) == real:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return original(name, *how, **more)

    def broken(name: Any, mode: str = "r", *how: Any, **more: Any) -> Any:
        file = original(name, mode, *how, **more)
        if isinstance(name, int) or mode != "rb" or os.path.realpath(name) != real:
            return file
        file.close()
        return io.BufferedReader(_HalfRead(name))

    for function, words in ((denied, "may not be opened"), (broken, "cannot be read to its end")):
        with mock.patch("io.open", function), mock.patch("builtins.open", function):
            yield words


class _HalfRead(io.FileIO):
    """A file on a disk that fails in its middle."""

    def readinto(self, buffer: Any) -> int:
        left = os.fstat(self.fileno()).st_size // 2 - self.tell()
        if left <= 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return super().readinto(memoryview(buffer)[:left])

    def readall(self) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))
