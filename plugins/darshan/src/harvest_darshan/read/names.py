"""Parse the map of names: the path, or other name, of each record id."""

import re
import struct
from collections.abc import Callable, Iterable
from typing import Final

import attrs

from ..records import Mount
from .container import DamagedError

MOST: Final = 4_000_000
"""Maximum number of names in a log; they are held in memory."""


@attrs.define
class Names:
    """Names by record id.

    ids, paths: the entries in the order of the log, without repeats.
    by_id: the first path of each id.
    repeated: number of entries that repeat an earlier one.
    """

    ids: list[int] = attrs.field(factory=list)
    paths: list[str] = attrs.field(factory=list)
    by_id: dict[int, str] = attrs.field(factory=dict)
    repeated: int = 0

    def add(self, record_id: int, path: bytes) -> None:
        """Add one entry. Raises DamagedError if there are too many."""
        if len(self.ids) >= MOST:
            raise DamagedError(f"the map of names has more than {MOST} entries")
        text = path.decode("utf-8", "backslashreplace")
        if self.by_id.get(record_id) == text:
            self.repeated += 1
            return
        self.by_id.setdefault(record_id, text)
        self.ids.append(record_id)
        self.paths.append(text)


def parse_names(data: bytes, version: str, order: str) -> Names:
    """Parse the inflated bytes of the region of names.

    Raises DamagedError if the entries do not fill the region exactly, or are too many.
    """
    names = Names()
    position, end = 0, len(data)
    if version == "3.00":
        head = struct.Struct(order + "QI")
        while position + head.size <= end:
            record_id, length = head.unpack_from(data, position)
            position += head.size + length
            if position > end:
                break
            names.add(record_id, data[position - length : position])
    else:
        number = struct.Struct(order + "Q")
        while position + 9 <= end:
            stop = data.find(b"\0", position + 8)
            if stop < 0:
                break
            names.add(number.unpack_from(data, position)[0], data[position + 8 : stop])
            position = stop + 1
    if position != end:
        raise DamagedError(f"the map of names is cut off after {len(names.ids)} entries")
    return names


def mount_finder(mounts: Iterable[Mount]) -> Callable[[str], Mount | None]:
    """Return a function that finds the mount of a path: the longest mount point above it."""
    by_point = {mount.mount_point.rstrip("/"): mount for mount in mounts}
    if not by_point:
        return lambda path: None
    longest_first = sorted(by_point, key=len, reverse=True)
    pattern = re.compile("|".join(f"{re.escape(point)}(?=/|$)" for point in longest_first))

    def find(path: str) -> Mount | None:
        found = pattern.match(path)
        return by_point[found[0]] if found else None

    return find
