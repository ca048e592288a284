"""How many lines of a list lie before a byte range, so that its lines are numbered as the list's.

Lines are counted when a range's turn comes, from where the range before it begins, at the speed
of memory; so a list whose rows are in the dataset already is not read, and the first range can be
parsed while the rest is counted.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import attrs

__all__ = ["Before", "Counter", "LinesBefore", "after", "is_remark", "trailer_rows"]

_CHUNK: Final = 1 << 18
"""Bytes that are counted at once: few enough to stay in the processor's cache."""

_TRAILER: Final = re.compile(rb"# end rows=(\d{1,18})\s*")
_NEWLINE: Final = 10


@attrs.frozen
class Before:
    """What lies before a place of a list.

    lines: how many; remarks: those of them that list no file; at_trailer: lines that list a file
    up to the last trailer.
    """

    lines: int = 0
    remarks: int = 0
    at_trailer: int = 0

    @property
    def listed(self) -> int:
        """Lines that list a file."""
        return self.lines - self.remarks


def is_remark(line: bytes) -> bool:
    """Whether a line lists no file: empty, a header or trailer, a message of the engine."""
    return not line or line[:1] in (b"#", b"[")


def trailer_rows(line: bytes) -> int | None:
    """How many lines a trailer says that the list has; None when the line is none."""
    found = _TRAILER.fullmatch(line)
    return int(found[1]) if found else None


class Counter:
    """Counts the lines of one list up to the begin of each of its ranges, each line once."""

    def __init__(self, path: Path):
        self._path = path
        self._lock = threading.Lock()
        self._known: dict[int, Before] = {0: Before()}

    def before(self, place: int) -> Before:
        """What lies before a place, at which a line begins."""
        import numpy as np  # late: a plan does without, and workers wait for it

        with self._lock:
            nearest = max(known for known in self._known if known <= place)
            found = self._known[nearest]
            ends = np.empty(_CHUNK, bool)
            for chunk in self._chunks(nearest, place):
                found = after(found, chunk, ends)
            self._known[place] = found
            return found

    def _chunks(self, start: int, stop: int) -> Iterator[memoryview]:
        """Whole lines between two places; each chunk is overwritten by the next one."""
        buffer = bytearray(_CHUNK)
        with self._path.open("rb", buffering=0) as file:
            while start < stop:
                file.seek(start)
                room = memoryview(buffer)[: stop - start]
                count = file.readinto(room)
                end = buffer.rfind(b"\n", 0, count) + 1
                if end:
                    start += end
                    yield room[:end]
                elif count == len(buffer):  # of one line
                    buffer = bytearray(2 * count)
                else:
                    break


def after(before: Before, chunk: bytes | memoryview, room: Any = None) -> Before:
    """What lies before the end of a chunk of whole lines that follows.

    room: an array of booleans, for one a byte; without it, or where it is too small, a new one.
    """
    import numpy as np

    data = np.frombuffer(chunk, np.uint8)
    out = None if room is None or len(room) < len(data) else room[: len(data)]
    ends = np.flatnonzero(np.equal(data, _NEWLINE, out=out))
    first = np.append(data[:1], data[ends[:-1] + 1])
    remarks = int(np.count_nonzero((first == 35) | (first == 91) | (first == _NEWLINE)))
    at_trailer = before.at_trailer
    if remarks:
        text = bytes(chunk)
        if (place := text.rfind(b"# end rows=")) >= 0:
            line = text.rfind(b"\n", 0, place) + 1
            if place == line and trailer_rows(text[line : text.index(b"\n", line)]) is not None:
                head = after(Before(before.lines, before.remarks), text[:line]) if line else before
                at_trailer = head.listed
    return Before(before.lines + len(ends), before.remarks + remarks, at_trailer)


class LinesBefore:
    """What lies before a range, found out when it is asked for, or when it travels to a worker."""

    def __init__(self, counter: Counter, place: int):
        self._counter = counter
        self._place = place

    def value(self) -> Before:
        """What lies before the range."""
        return self._counter.before(self._place)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Known, (self.value(),))


@attrs.frozen
class Known:
    """What lies before a range, already found out."""

    before: Before = Before()

    def value(self) -> Before:
        """What lies before the range."""
        return self.before
