"""How far reading is, reported a few times a second."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import attrs

_REPORT_EVERY_S: Final = 0.2


@attrs.frozen
class Progress:
    """Rows and input bytes that a running task got further."""

    rows: int
    size_bytes: int


class Meter:
    """Sums up progress: a million small partitions are not as many reports."""

    def __init__(self, report: Callable[[Progress], None] | None):
        self._report = report
        self._rows = 0
        self._bytes = 0
        self._last = time.monotonic()

    def rows(self, count: int) -> None:
        self.add(Progress(count, 0))

    def bytes(self, size: int) -> None:
        self.add(Progress(0, size))

    def add(self, progress: Progress) -> None:
        self._rows += progress.rows
        self._bytes += progress.size_bytes
        if self._report is not None and time.monotonic() - self._last >= _REPORT_EVERY_S:
            self.flush()

    def flush(self) -> None:
        """Report what has not been reported."""
        if self._report is not None and (self._rows or self._bytes):
            self._report(Progress(self._rows, self._bytes))
            self._rows = self._bytes = 0
            self._last = time.monotonic()
