"""Plain or compressed text files, which are written as a whole and read by byte range.

A compressed file may be a sequence of gzip members or zstd frames. All tools for these formats
read the sequence as one text.
"""

import contextlib
import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import zstandard

from harvest import DatasetError
from harvest.toolkit.plain import open_linked

BLOCK_BYTES = 8 * 1024 * 1024
"""Bytes to read at a time; a block also includes the rest of its last line."""

DEFAULT_LEVELS = {"gz": 6, "zst": 3}


def codec_of(name: str) -> str:
    """Return the codec for a file name's suffix: ``gz``, ``zst`` or, for any other, ``plain``."""
    ending = name.rpartition(".")[2]
    return ending if ending in DEFAULT_LEVELS else "plain"


class Output:
    """A new file: plain, or one gzip member or zstd frame; equal text gives equal bytes."""

    def __init__(self, path: Path, codec: str, level: int | None = None):
        self._raw: IO[bytes] = path.open("wb")
        self._stream: Any = self._raw
        if level is None:
            level = DEFAULT_LEVELS.get(codec, 0)
        if codec == "gz":
            # a time or name in the header would make equal texts differ
            self._stream = gzip.GzipFile("", "wb", level, self._raw, mtime=0)
        elif codec == "zst":
            self._stream = zstandard.ZstdCompressor(level).stream_writer(self._raw, closefd=False)

    def write(self, data: bytes | memoryview) -> None:
        """Append text."""
        self._stream.write(data)

    def close(self) -> None:
        """Finish and close the file; raise OSError if this fails."""
        try:
            if self._stream is not self._raw:
                self._stream.close()
        finally:
            self._raw.close()

    def drop(self) -> None:
        """Close a file that will be deleted; ignore that its end cannot be written."""
        with contextlib.suppress(OSError):
            self.close()


class _Range(io.RawIOBase):
    """Bytes ``start`` to ``start + size`` of a file; a shorter file raises DatasetError."""

    def __init__(self, file: IO[bytes], path: Path, start: int, size: int):
        self._path = path
        self._file = file
        self._file.seek(start)
        self._left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)[: self._left]
        count = self._file.readinto(view) or 0
        if self._left and not count:
            problem = f"the file ends {self._left} bytes before the manifest says"
            remedy = "restore it from a backup, or run again with --force"
            raise DatasetError(problem, where=str(self._path), remedy=remedy)
        self._left -= count
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def open_range(path: Path, start: int, size: int, codec: str) -> IO[bytes]:
    """Open the text of a byte range of a file, which consists of complete members or frames."""
    raw = io.BufferedReader(_Range(open_linked(path), path, start, size), 1 << 20)
    if codec == "gz":
        return gzip.GzipFile(fileobj=raw, mode="rb")  # type: ignore[return-value]
    if codec == "zst":
        frames = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
        return io.BufferedReader(frames, 1 << 20)
    return raw


def blocks(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield blocks of complete lines of a stream, in order; the last may lack its newline."""
    while piece := stream.read(BLOCK_BYTES):
        yield piece + stream.readline()
