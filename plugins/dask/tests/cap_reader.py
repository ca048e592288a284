"""The tests' own reader of ``.cap`` files: what the format says, and nothing of harvest_dask."""

import struct
import zlib
from pathlib import Path
from typing import Any

import msgpack


def read_frames(path: Path) -> tuple[list[dict[str, Any]], int]:
    """The whole frames of a file, and how many bytes of a cut one follow them."""
    data, frames, at = path.read_bytes(), [], 0
    while len(data) - at >= 16:
        magic, length, index, crc = struct.unpack_from("<4sIII", data, at)
        assert (magic, index) == (b"HDC1", len(frames) + 1)
        payload = data[at + 16 : at + 16 + length]
        if len(payload) < length:
            break
        assert zlib.crc32(data[at + 4 : at + 12] + payload) == crc
        frames.append(msgpack.unpackb(payload, strict_map_key=False))
        at += 16 + length
    return frames, len(data) - at


def of_kind(frames: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Frames of a kind."""
    return [frame for frame in frames if frame["kind"] == kind]


class Row(dict[str, Any]):
    """A row; a column that is left out is None."""

    def __missing__(self, name: str) -> None:
        return None


def rows(frames: list[dict[str, Any]], kind: str) -> list[Row]:
    """Rows of a kind."""
    found = []
    for frame in of_kind(frames, kind):
        columns = frame["columns"]
        assert all(len(values) == frame["n"] for values in columns.values())
        for number in range(frame["n"]):
            found.append(Row((name, values[number]) for name, values in columns.items()))
    return found


def files(directory: Path, role: str) -> list[Path]:
    """Files of a role."""
    return sorted(directory.glob(f"{role}-*.cap"))


def only(directory: Path, role: str) -> list[dict[str, Any]]:
    """The whole frames of the one file of a role."""
    (path,) = files(directory, role)
    return read_frames(path)[0]
