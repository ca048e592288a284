"""Inflate the regions of a log in pieces of bounded size.

A megabyte of a hostile log may inflate to gigabytes. So only small regions are held in memory as a
whole, and limits apply to the inflated size of a log and to the time.
"""

from __future__ import annotations

import bz2
import time
import zlib
from collections.abc import Generator, Iterable, Iterator
from typing import BinaryIO, Final

import attrs

from harvest.toolkit.settings import positive, setting

from .container import DamagedError, Extent

PIECE: Final = 8 << 20
READ: Final = 1 << 20
KEEP: Final = 48 << 20
"""Maximum inflated bytes of a log to hold in memory between its check and its reading."""

RATIO_FREE: Final = 64 << 20
"""Regions up to this inflated size may have any compression ratio."""


@attrs.frozen(kw_only=True)
class DarshanConfig:
    """Settings of the source ``darshan``."""

    max_inflated_bytes: int = setting(
        "Most inflated bytes of the regions of one log; more is a reject.", 16 << 30, positive
    )
    max_ratio: int = setting(
        "Largest ratio of inflated to compressed size, above 64 MiB.", 500, positive
    )
    max_seconds: float = setting(
        "Longest time to check one log, in seconds; more is a reject.", 600.0, positive
    )


class RegionReader:
    """Reads the regions of an open log within its limits of size and time."""

    def __init__(self, file: BinaryIO, size: int, compression: str, limits: DarshanConfig):
        self.file = file
        self.size = size
        self.compression = compression
        self.limits = limits
        self.inflated = 0
        self.kept = 0
        self.deadline = time.monotonic() + limits.max_seconds

    def region(self, extent: Extent, *, at_most: int | None = None) -> Region:
        """Return a region that is inside the file and inflates to its end.

        at_most: maximum inflated size in bytes; then the region is always held in memory.

        Raises DamagedError.
        """
        if extent.offset == 0 or extent.end > self.size:
            raise DamagedError(
                f"truncated: bytes {extent.offset} to {extent.end} of a file of {self.size}"
            )
        limit = min(
            self.limits.max_inflated_bytes - self.inflated,
            max(RATIO_FREE, extent.length * self.limits.max_ratio),
            self.limits.max_inflated_bytes if at_most is None else at_most,
        )
        keep: list[bytes] | None = []
        size = 0
        for piece in self.pieces(extent):
            size += len(piece)
            if size > limit:
                raise DamagedError(
                    f"{extent.length} bytes inflate to more than the {limit} allowed"
                )
            if time.monotonic() > self.deadline:
                raise DamagedError(f"reading it took more than {self.limits.max_seconds:g} s")
            if keep is not None:
                keep.append(piece)
                if at_most is None and size > KEEP - self.kept:
                    keep = None
        self.inflated += size
        self.kept += size if keep is not None else 0
        return Region(self, extent, size, b"".join(keep) if keep is not None else None)

    def pieces(self, extent: Extent) -> Iterator[bytes]:
        """Yield the inflated bytes of a region in pieces. Raises DamagedError."""
        if self.compression == "none":
            yield from self._raw(extent)
            return
        inflate = _zlib if self.compression == "zlib" else _bzip2
        try:
            complete = yield from inflate(self._raw(extent))
        except (zlib.error, OSError, EOFError) as error:
            raise DamagedError(f"{self.compression} data are damaged: {error}") from error
        if not complete:
            raise DamagedError(f"{self.compression} data end in the middle")

    def _raw(self, extent: Extent) -> Iterator[bytes]:
        position = extent.offset
        while position < extent.end:
            self.file.seek(position)
            data = self.file.read(min(READ, extent.end - position))
            if not data:
                raise DamagedError("the file became shorter while it was read")
            position += len(data)
            yield data


def _zlib(pieces: Iterable[bytes]) -> Generator[bytes, None, bool]:
    """Inflate zlib streams, one per MPI process; return whether the last one is complete."""
    stream = zlib.decompressobj()
    for data in pieces:
        while data:
            if stream.eof:
                stream = zlib.decompressobj()
            if piece := stream.decompress(data, PIECE):
                yield piece
            data = stream.unused_data if stream.eof else stream.unconsumed_tail
        # the decoder may have output left after it consumed all input
        while not stream.eof and (piece := stream.decompress(b"", PIECE)):
            yield piece
    return stream.eof


def _bzip2(pieces: Iterable[bytes]) -> Generator[bytes, None, bool]:
    """Inflate bzip2 streams; return whether the last one is complete."""
    stream = bz2.BZ2Decompressor()
    for data in pieces:
        while data or not (stream.eof or stream.needs_input):
            if stream.eof:
                stream = bz2.BZ2Decompressor()
            if piece := stream.decompress(data, PIECE):
                yield piece
            data = stream.unused_data if stream.eof else b""
    return stream.eof


@attrs.frozen(eq=False)
class Region:
    """A checked region of known inflated size, which can be read repeatedly."""

    reader: RegionReader
    extent: Extent
    size: int
    data: bytes | None

    def stream(self) -> Stream:
        """Return its inflated bytes, from the start."""
        if self.data is not None:
            return Stream(iter((self.data,)))
        return Stream(self.reader.pieces(self.extent))


class Stream:
    """Reads given numbers of bytes from a sequence of pieces."""

    def __init__(self, pieces: Iterator[bytes]):
        self._pieces = pieces
        self._rest = memoryview(b"")

    def take(self, size: int) -> memoryview:
        """Return the next ``size`` bytes, or fewer at the end."""
        parts = []
        while size > len(self._rest) and (piece := next(self._pieces, None)) is not None:
            parts.append(self._rest)
            size -= len(self._rest)
            self._rest = memoryview(piece)
        parts.append(self._rest[:size])
        self._rest = self._rest[size:]
        full = [part for part in parts if len(part)]
        return full[0] if len(full) == 1 else memoryview(b"".join(full))

    def skip(self, size: int) -> None:
        """Skip ``size`` bytes, or fewer at the end."""
        while size > len(self._rest) and (piece := next(self._pieces, None)) is not None:
            size -= len(self._rest)
            self._rest = memoryview(piece)
        self._rest = self._rest[size:]
