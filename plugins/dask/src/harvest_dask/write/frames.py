"""Frames, and the files they are appended to.

A frame is a header (magic, length and number of the frame, and a CRC of both and the payload) and a
payload, one msgpack map. A file has only complete frames, even after failed writes. After a kill
the last frame may be incomplete, which its header shows.
"""

import os
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgpack

from ..settings import CaptureError
from .directory import find_capture

MAGIC: Final = b"HDC1"
LARGEST: Final = 2**26
"""Maximum bytes of a payload."""

_NUMBERS: Final = struct.Struct("<II")


def pack(payload: dict[str, Any]) -> bytes:
    """Pack a payload; values without a msgpack type become text."""
    packed: bytes = msgpack.packb(payload, default=str, unicode_errors="backslashreplace")
    return packed


def frame(payload: bytes, index: int) -> bytes:
    """Build the frame of a payload; index: number of the frame in the file, from 1."""
    numbers = _NUMBERS.pack(len(payload), index)
    crc = zlib.crc32(payload, zlib.crc32(numbers))
    return b"".join((MAGIC, numbers, crc.to_bytes(4, "little"), payload))


class FrameFile:
    """A file to which frames are appended.

    If the file vanishes while the directory still belongs to the capture, a new file is created,
    which again begins with the first frames.
    """

    def __init__(self, path: Path, capture: str | None, first: Sequence[bytes] = ()) -> None:
        self.path = path
        self._capture = capture
        self._first = tuple(first)
        self._handle: int | None = None
        self._size = 0
        self._index = 0

    def append(self, payloads: Sequence[bytes]) -> None:
        """Append a frame for each payload: all, or none if it raises OSError."""
        if not self._is_there():
            self._create()
        if self._index == 0:
            payloads = [*self._first, *payloads]
        handle = self._handle
        assert handle is not None
        if os.fstat(handle).st_size != self._size:
            os.ftruncate(handle, self._size)  # remove the remains of a failed write
        data = b"".join(frame(p, index) for index, p in enumerate(payloads, self._index + 1))
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(handle, rest) :]
        self._size += len(data)
        self._index += len(payloads)

    def close(self) -> None:
        """Close the file; another frame would create a new one."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _is_there(self) -> bool:
        """Return whether the path still leads to the open file."""
        if self._handle is None:
            return False
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return False
        return os.path.samestat(found, os.fstat(self._handle))

    def _create(self) -> None:
        try:
            found = find_capture(os.fspath(self.path.parent))
        except CaptureError as error:
            raise OSError(str(error)) from error
        if found is None or found != self._capture:
            raise OSError(
                f"{self.path.parent} is not the capture's directory on this machine: use one that "
                "all machines share, or via='scheduler'"
            )
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        self.close()
        self._handle, self._size, self._index = handle, 0, 0
