"""The bytes of a list: a range of a plain file, or a compressed one unpacked as it is read.

A stream fills buffers.  What ends it before its time (a file cut short, damage) is kept in
``trouble``; all bytes before that are given.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, Self

import zstandard

__all__ = ["Stream", "compression", "open_list"]

_PIECE: Final = 256 * 1024
"""Compressed bytes read at a time."""

_SMALL_PIECE: Final = 4 * 1024
"""Compressed bytes of zstd unpacked at a time; they hold 128 MiB at the very most."""

_MOST: Final = 1 << 20
"""Unpacked bytes of gzip given at a time."""

_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"


class Stream(Protocol):
    """Bytes that are read once.

    consumed: bytes of the file that were used since this was last set to 0.
    trouble: why the stream ended too early, None where it did not.
    """

    consumed: int
    trouble: str | None

    def fill(self, buffer: memoryview) -> int:
        """Put bytes into the buffer; how many, 0 at the end."""

    def close(self) -> None:
        """Close the file."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


def compression(head: bytes) -> str | None:
    """How a file that begins so is compressed: gzip, zstd, or not at all."""
    if head.startswith(_GZIP):
        return "gzip"
    return "zstd" if head.startswith(_ZSTD) else None


def open_list(path: Path, start: int | None = None, stop: int | None = None) -> Stream:
    """The bytes of a file; start, stop: a range of a plain one."""
    with path.open("rb") as file:
        kind = compression(file.read(4))
    if kind is None:
        return _Range(path, start or 0, stop)
    return _Unpacked(path, _gzip_members if kind == "gzip" else _zstd_frames)


class _File:
    """An open file that closes with its context."""

    def __init__(self, path: Path):
        self._file = path.open("rb", buffering=0)
        self.consumed = 0
        self.trouble: str | None = None

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Range(_File):
    """Bytes of a plain file from ``start`` up to ``stop``."""

    def __init__(self, path: Path, start: int, stop: int | None):
        super().__init__(path)
        self._file.seek(start)
        self._left = stop - start if stop is not None else None

    def fill(self, buffer: memoryview) -> int:
        if self._left is not None:
            buffer = buffer[: self._left]
        count = self._file.readinto(buffer) or 0
        if self._left is not None:
            self._left -= count
        self.consumed += count
        return count


class _Unpacked(_File):
    """A compressed file, unpacked piece by piece."""

    def __init__(self, path: Path, pieces: Callable[[Any], Any]):
        super().__init__(path)
        self._pieces = pieces(self)
        self._piece = b""
        self._used = 0

    def read(self, size: int) -> bytes:
        """The next compressed bytes."""
        found = self._file.read(size)
        self.consumed += len(found)
        return found

    def fill(self, buffer: memoryview) -> int:
        while self._used == len(self._piece):
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._piece, self._used = piece, 0
        count = min(len(buffer), len(self._piece) - self._used)
        buffer[:count] = self._piece[self._used : self._used + count]
        self._used += count
        return count


def _gzip_members(file: _Unpacked) -> Any:
    """The bytes of all members of a gzip file, as gzip itself gives them."""
    packed = file.read(_PIECE)
    while packed:
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        while not member.eof:
            if not packed:
                packed = file.read(_PIECE)
                if not packed:
                    file.trouble = "the gzip stream is cut short"
                    return
            try:
                yield member.decompress(packed, _MOST)
            except zlib.error as error:
                file.trouble = f"the gzip stream is damaged ({error})"
                return
            packed = member.unconsumed_tail
        packed = (member.unused_data or file.read(_PIECE)).lstrip(b"\0")
        while len(packed) < len(_GZIP):  # zeros may pad a tape's last block
            more = file.read(_PIECE)
            if not more:
                break
            packed = (packed + more).lstrip(b"\0")
        if packed and not packed.startswith(_GZIP):
            file.trouble = "bytes that are not gzip follow the gzip stream"
            return


def _zstd_frames(file: _Unpacked) -> Any:
    """The bytes of all frames of a zstd file."""
    packed = file.read(_SMALL_PIECE)
    while packed:
        frame = zstandard.ZstdDecompressor().decompressobj()
        while not frame.eof:
            if not packed:
                packed = file.read(_SMALL_PIECE)
                if not packed:
                    file.trouble = "the zstd stream is cut short"
                    return
            try:
                unpacked = frame.decompress(packed)
            except zstandard.ZstdError as error:
                file.trouble = f"the zstd stream is damaged ({error})"
                return
            packed = b""
            if unpacked:
                yield unpacked
        packed = frame.unused_data or file.read(_SMALL_PIECE)
