"""Files and pipes, opened in the same way: what comes through a pipe is read as it comes.

    class LogSource(Source):
        reads_live = True

        def read(self, partition, ctx):
            with open_input(partition.path) as stream:
                layout = find_layout(stream.read(4096))
                stream.seek(0)
                forward(stream)
                while block := stream.read(1 << 20):
                    ...

``read`` gives what is there: of a pipe less than was asked for where nothing more comes at the
moment, and nothing at its end alone.  It may be opened again and gone back in, for which what came
is kept in a file without a name; from ``forward`` on it is not.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import re
import select
import stat
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final, cast

from harvest import SourceError, interrupt

__all__ = ["forward", "open_input", "unpacked"]

_IDLE_S: Final = 0.2
"""What came is given when nothing follows for so long,"""

_LONGEST_S: Final = 1.0
"""or after so long in any case."""

_HEAD_BYTES: Final = 4 << 20
"""What is kept of a pipe in memory; more in a file."""

_DESCRIPTOR: Final = re.compile(r"/dev/fd/(\d+)", re.ASCII)

_GZIP: Final = b"\x1f\x8b"

_open: dict[tuple[int, int], _Live] = {}
"""Pipes that may be opened again, by what they are."""


def open_input(path: Path, *, unpack: bool = False) -> IO[bytes]:
    """A file at its beginning, or a pipe at what came through it first.

    unpack: whether to give what gzip has packed unpacked; of a pipe it comes in blocks then.
    Reading raises SourceError where nothing comes through a pipe.
    """
    status = path.stat()
    if stat.S_ISREG(status.st_mode):
        stream: Any = path.open("rb")
    else:
        place = (status.st_dev, status.st_ino)
        stream = _open.get(place) or _Live(path, place)
        stream.seek(0)
    if unpack:
        packed = stream.read(len(_GZIP)) == _GZIP
        stream.seek(0)
        if packed:
            unpacked = gzip.GzipFile(fileobj=stream, mode="rb")
            unpacked.myfileobj = stream  # so that closing one closes both
            return cast(IO[bytes], unpacked)
    return cast(IO[bytes], stream)


@contextlib.contextmanager
def unpacked(path: Path, origin: str) -> Iterator[IO[bytes]]:
    """Open a file or pipe that gzip may have packed; raise SourceError if its data are damaged.

    origin: of the partition, named in the error.
    """
    try:
        with open_input(path, unpack=True) as stream:
            yield stream
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise SourceError(
            f"its compressed data are damaged or cut short: {error}",
            where=origin,
            remedy="restore it from its origin",
        ) from error


def forward(stream: IO[bytes]) -> None:
    """Nothing before the place where a stream is will be read again."""
    if isinstance(stream, _Live):
        stream.forward()


class _Live(io.RawIOBase):
    """A pipe that is read as it comes."""

    def __init__(self, path: Path, place: tuple[int, int]):
        link = _DESCRIPTOR.fullmatch(str(path.readlink())) if path.is_symlink() else None
        # opened by its path, a pipe of another user is refused
        self._descriptor = (
            os.dup(int(link[1])) if link else os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        )
        self._poll = select.poll()
        self._poll.register(self._descriptor, select.POLLIN)
        self._kept: IO[bytes] | None = tempfile.SpooledTemporaryFile(_HEAD_BYTES)  # noqa: SIM115
        self._size = self._at = 0
        self._ended = False
        self._place = place
        _open[place] = self

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._kept is not None

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        if self._kept is None or whence != os.SEEK_SET or offset > self._size:
            raise io.UnsupportedOperation("a pipe is read forward")
        self._at = offset
        return offset

    def tell(self) -> int:
        return self._at

    def forward(self) -> None:
        """Let go of what was read before, when that is read."""
        _open.pop(self._place, None)

    def readinto(self, buffer: Any, /) -> int:
        view, known = memoryview(buffer).cast("B"), 0
        if self._kept is not None and self._at < self._size:
            self._kept.seek(self._at)
            known = self._kept.readinto(view)  # type: ignore[attr-defined]
        if self._place not in _open and self._kept is not None and self._at + known == self._size:
            self._kept.close()
            self._kept = None
        got = self._receive(view, known)
        if self._kept is not None:
            self._kept.seek(self._size)
            self._kept.write(view[known:got])
        self._size += got - known
        self._at += got
        if not self._size:
            raise SourceError(
                "nothing came through this pipe",
                remedy="check the command that writes into it, or name an empty file",
            )
        return got

    def _receive(self, view: memoryview, got: int) -> int:
        """Fill a buffer with what comes, until it is full or nothing more comes at the moment.

        got: bytes in it before, and what is given then are those in it at the end.
        """
        until = time.monotonic() + _LONGEST_S if got else 0.0
        while got < len(view) and not self._ended:
            wait_s = min(_IDLE_S, until - time.monotonic()) if got else interrupt.POLL_S
            if wait_s <= 0:
                break
            interrupt.check()
            if not self._poll.poll(wait_s * 1000):
                if got:
                    break
                continue
            try:
                count = os.readv(self._descriptor, [view[got:]])
            except BlockingIOError:
                continue
            until = until or time.monotonic() + _LONGEST_S
            self._ended = not count
            got += count
        return got

    def close(self) -> None:
        """Close it where it was given forward; before, it may be opened again."""
        if self._place in _open or self.closed:
            return
        os.close(self._descriptor)
        if self._kept is not None:
            self._kept.close()
        super().close()
