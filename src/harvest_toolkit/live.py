"""Open files and pipes in the same way; data of a pipe are read as they arrive.

    class LogSource(Source):
        reads_live = True

        def read(self, partition, ctx):
            with open_input(partition.path) as stream:
                layout = find_layout(stream.read(4096))
                stream.seek(0)
                forward(stream)
                while block := stream.read(1 << 20):
                    ...

``read`` returns the available data: of a pipe possibly less than asked for, but empty only at the
end.  A pipe may be opened again and rewound until ``forward`` is called: until then its data are
kept in a temporary file without a name.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
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

__all__ = ["compression", "forward", "open_input", "unpacked"]

_IDLE_S: Final = 0.2
"""Seconds of silence after which ``read`` returns the data that arrived."""

_LONGEST_S: Final = 1.0
"""Seconds after which ``read`` returns the data that arrived, in any case."""

_HEAD_BYTES: Final = 4 << 20
"""Bytes of a pipe that are kept in memory; more go to a file."""

_DESCRIPTOR: Final = re.compile(r"/dev/fd/(\d+)", re.ASCII)

_MAGIC: Final = {
    "gzip": rb"\x1f\x8b",
    "bzip2": rb"BZh[1-9]",  # a text may begin with BZh
    "xz": rb"\xfd7zX",
    "zstd": rb"\x28\xb5\x2f\xfd",
    "zip": rb"PK\x03\x04",
}
"""Patterns of the first bytes of compressed files, by the name of the compression."""

_OPENERS: Final[dict[str, Any]] = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}

_open: dict[tuple[int, int], _Live] = {}
"""Pipes that may be opened again, by device and inode."""


def open_input(path: Path) -> IO[bytes]:
    """Open a file or pipe at its first byte.

    Reading raises SourceError when a pipe ends without data.
    """
    status = path.stat()
    if stat.S_ISREG(status.st_mode):
        return path.open("rb")
    place = (status.st_dev, status.st_ino)
    stream: Any = _open.get(place) or _Live(path, place)
    stream.seek(0)
    return cast(IO[bytes], stream)


def compression(head: bytes) -> str | None:
    """Return how a file is compressed by its first four bytes; None for a plain file.

    It is ``gzip``, ``bzip2``, ``xz``, ``zstd`` or ``zip`` (an archive, or a workbook of Excel).
    """
    return next((kind for kind, magic in _MAGIC.items() if re.match(magic, head)), None)


@contextlib.contextmanager
def unpacked(path: Path, origin: str) -> Iterator[IO[bytes]]:
    """Open a file or pipe, plain or compressed by gzip, bzip2 or xz.

    Compressed data of a pipe arrive in blocks.

    origin: of the partition, named in errors.
    Raises SourceError if the data are damaged, or compressed otherwise.
    """
    with open_input(path) as stream:
        kind = compression(stream.read(4))
        stream.seek(0)
        if kind is None:
            yield stream
            return
        if kind not in _OPENERS:
            raise SourceError(f"this is a {kind} file", where=origin, remedy="unpack it first")
        try:
            with _OPENERS[kind](stream, "rb") as file:
                yield file
        except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            problem = f"its compressed data are damaged or cut short: {error}"
            raise SourceError(problem, where=origin, remedy="restore it from its origin") from error


def forward(stream: IO[bytes]) -> None:
    """Declare that nothing before the stream's current place will be read again."""
    if isinstance(stream, _Live):
        stream.forward()


class _Live(io.RawIOBase):
    """A pipe whose data are read as they arrive."""

    def __init__(self, path: Path, place: tuple[int, int]):
        link = _DESCRIPTOR.fullmatch(str(path.readlink())) if path.is_symlink() else None
        # opening the path of another user's pipe fails, but its descriptor can be duplicated
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
        """Drop the kept data once they have been read."""
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
            remedy = "check the command that writes into it, or name an empty file"
            raise SourceError("nothing came through this pipe", remedy=remedy)
        return got

    def _receive(self, view: memoryview, got: int) -> int:
        """Fill a buffer with arriving data, until it is full or no more arrive for the moment.

        got: bytes already in the buffer; returns the count of bytes in it at the end.
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
        """Close the pipe after ``forward``; before that, it may be opened again."""
        if self._place in _open or self.closed:
            return
        os.close(self._descriptor)
        if self._kept is not None:
            self._kept.close()
        super().close()
