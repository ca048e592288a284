"""The work on one partition, as it is sent to its reader, and the progress of reading."""

import time
from collections.abc import Callable
from typing import Final

import attrs

from harvest import interrupt
from harvest.api.sink import Sink
from harvest.api.source import Partition, Source
from harvest.storage.fingerprint import facts, fingerprint
from harvest.storage.part import Part, part_stem


@attrs.frozen(kw_only=True)
class Task:
    """One partition to read, and the sinks that need it.

    targets: each sink with its part description. Counts and files are still empty; fingerprint and
        stem may be, until ``identify``.
    limit: maximum number of rows, None for all.
    unreadable: the reason if preparation has shown that the partition cannot be read.
    """

    source: Source
    partition: Partition
    targets: tuple[tuple[Sink, Part], ...]
    on_error: str = "reject"
    max_rejects: int | None = None
    limit: int | None = None
    unreadable: str | None = None

    @property
    def sinks(self) -> tuple[Sink, ...]:
        return tuple(sink for sink, _ in self.targets)

    def fingerprint_before(self) -> str:
        """Return the fingerprint of the inputs before they are read."""
        partition = self.partition
        if partition.inputs and partition.fingerprint is None:
            return self.targets[0][1].fingerprint
        return fingerprint(partition.inputs)


def identify(task: Task) -> Task:
    """Fill in the fingerprint of the input if planning skipped it.

    A change since planning counts as a change during reading.
    """
    if task.targets[0][1].stem:
        return task
    interrupt.check()
    partition = task.partition
    now = fingerprint(partition.inputs)
    changed = (facts(partition.inputs) or b"").hex() != task.targets[0][1].facts

    def known(part: Part) -> Part:
        stem = part_stem(part.key, partition.id, now, part.plugin, part.config)
        return attrs.evolve(part, fingerprint=now, stem=stem, changed=changed)

    return attrs.evolve(task, targets=tuple((sink, known(part)) for sink, part in task.targets))


_REPORT_EVERY_S: Final = 0.2


@attrs.frozen
class Progress:
    """Rows and input bytes that a running task has read since the last report."""

    rows: int
    size_bytes: int


class Meter:
    """Accumulator of progress, so that a million small partitions do not cause as many reports."""

    def __init__(self, report: Callable[[Progress], None] | None):
        self._report = report
        self._rows = 0
        self._bytes = 0
        self._last = time.monotonic()

    def add(self, size_bytes: int = 0, *, rows: int = 0) -> None:
        self._rows += rows
        self._bytes += size_bytes
        if self._report is not None and time.monotonic() - self._last >= _REPORT_EVERY_S:
            self.flush()

    def flush(self) -> None:
        if self._report is not None and (self._rows or self._bytes):
            self._report(Progress(self._rows, self._bytes))
            self._rows = self._bytes = 0
            self._last = time.monotonic()
