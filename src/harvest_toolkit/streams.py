"""Read a byte range of a plain file, or a whole file compressed by gzip, bzip2, xz or zstd.

A stream that ends too early (file cut short, damaged data) gives all bytes before that place, and
keeps the reason in ``trouble``::

    with open_stream(path) as stream:
        for block in blocks(stream):
            ...
    if stream.trouble:
        ctx.reject(b"", stream.trouble, position=number)
"""

import bz2
import contextlib
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, cast

import zstandard

from .live import compression, forward, open_input

__all__ = ["SUFFIXES", "Stream", "compression", "open_stream"]

SUFFIXES: Final = (".gz", ".bz2", ".xz", ".zst")
"""Suffixes of the names of compressed files that can be read."""

_PIECES: Final = {"gzip": 64 * 1024, "bzip2": 4 * 1024, "xz": 4 * 1024, "zstd": 4 * 1024}
"""Compressed bytes unpacked at a time; they unpack to at most 128 MiB."""

_MEMBERS: Final[dict[str, Callable[[], Any]]] = {
    "gzip": lambda: zlib.decompressobj(zlib.MAX_WBITS | 16),
    "bzip2": bz2.BZ2Decompressor,
    "xz": lzma.LZMADecompressor,
    "zstd": lambda: zstandard.ZstdDecompressor().decompressobj(),
}
"""For each compression, what unpacks one member, stream or frame of a file."""


class Stream(contextlib.AbstractContextManager["Stream"]):
    """The bytes of a file, read once; leaving its context closes the file.

    start, stop: the range of bytes to read.
    consumed: bytes of the file read since this attribute was last set to 0.
    trouble: why the stream ended too early; None when it did not.
    """

    def __init__(self, path: Path, once: bool, start: int = 0, stop: int = sys.maxsize):
        file = open_input(path)
        self._file = cast(io.FileIO, file.detach() if isinstance(file, io.BufferedReader) else file)
        if once:
            forward(file)
        self._file.seek(start)
        self._left = stop - start
        self.consumed = 0
        self.trouble: str | None = None

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes; none at the end."""
        found = self._file.read(min(size, self._left))
        self._left -= len(found)
        self.consumed += len(found)
        return found

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __exit__(self, *_: object) -> None:
        self.close()


def open_stream(
    path: Path, start: int | None = None, stop: int | None = None, *, once: bool = False
) -> Stream:
    """Open a file; start, stop: the byte range of a plain one.

    once: whether this opens it for the last time, so that nothing of a pipe need be kept.
    """
    with open_input(path) as file:
        kind = compression(file.read(4))
    if kind is not None and kind in _MEMBERS:
        return _Unpacked(path, once, kind)
    return Stream(path, once, start or 0, sys.maxsize if stop is None else stop)


class _Unpacked(Stream):
    """A compressed file, unpacked piece by piece."""

    def __init__(self, path: Path, once: bool, kind: str):
        super().__init__(path, once)
        self._kind = kind
        self._pieces = self._unpacked()
        self._rest = b""

    def read(self, size: int, /) -> bytes:
        held, length = [self._rest], len(self._rest)
        while length < size and (piece := next(self._pieces, None)) is not None:
            held.append(piece)
            length += len(piece)
        data = b"".join(held)
        self._rest = data[size:]
        return data[:size]

    def _packed(self) -> bytes:
        """Read the next compressed bytes."""
        return super().read(_PIECES[self._kind])

    def _unpacked(self) -> Iterator[bytes]:
        """Yield the bytes of all members of a gzip file, or what other kinds have instead."""
        kind = self._kind
        packed = self._packed()
        while packed:
            member = _MEMBERS[kind]()
            while not member.eof:
                if not packed and not (packed := self._packed()):
                    self.trouble = f"the {kind} stream is cut short"
                    return
                try:
                    yield member.decompress(packed)
                except (OSError, zlib.error, lzma.LZMAError, zstandard.ZstdError) as error:
                    self.trouble = f"the {kind} stream is damaged ({error})"
                    return
                packed = b""
            packed = member.unused_data or self._packed()
            if kind != "zstd":  # which may have frames to skip
                packed = packed.lstrip(b"\0")  # zeros may pad a tape's last block
                while len(packed) < 4 and (more := self._packed()):
                    packed = (packed + more).lstrip(b"\0")
                if packed and compression(packed) != kind:
                    self.trouble = f"bytes that are not {kind} follow the {kind} stream"
                    return
