"""What there is to do for a partition, as it travels to who reads it, and how far reading is."""

from __future__ import annotations

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

    targets: each sink with its part description, in which counts and files are still empty, and
        the fingerprint and the stem may be (``identify``).
    limit: rows at most, None for all.
    unreadable: why the partition cannot be read, where its preparation has shown that.
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
        """The fingerprint of its inputs before they are read."""
        partition = self.partition
        if partition.inputs and partition.fingerprint is None:
            return self.targets[0][1].fingerprint
        return fingerprint(partition.inputs)


def identify(task: Task) -> Task:
    """A task whose parts have the fingerprint of their input: taken now where planning did without.

    A change since it was planned counts as one while it is read.
    """
    if task.targets[0][1].stem:
        return task
    interrupt.check()
    partition = task.partition
    now = fingerprint(partition.inputs)
    changed = (facts(partition.inputs) or b"").hex() != task.targets[0][1].facts
    return attrs.evolve(
        task,
        targets=tuple(
            (
                sink,
                attrs.evolve(
                    part,
                    fingerprint=now,
                    stem=part_stem(part.key, partition.id, now, part.plugin, part.config),
                    changed=changed,
                ),
            )
            for sink, part in task.targets
        ),
    )


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
        if self._report is not None and (self._rows or self._bytes):
            self._report(Progress(self._rows, self._bytes))
            self._rows = self._bytes = 0
            self._last = time.monotonic()
