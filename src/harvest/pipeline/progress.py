"""Progress of a run: a live line on a terminal, plain lines in a batch job's log."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar

from harvest.pipeline.plan import Plan
from harvest.pipeline.prepare import Observer
from harvest.pipeline.task import Progress, TaskResult

__all__ = ["display"]

PLAIN_EVERY_S = 30.0


@contextlib.contextmanager
def display() -> Iterator[Observer]:
    """An observer that shows a run's progress on standard error."""
    if not sys.stderr.isatty():
        yield PlainLines()
        return
    columns: list[Any] = [
        TextColumn("{task.fields[parts]} parts"),
        BarColumn(bar_width=None),
        DownloadColumn(),
        TextColumn("{task.fields[rows]:>12,} rows"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    ]
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        yield _LiveLine(bar)


class _LiveLine(Observer):
    """One line that is redrawn: partitions, bytes, rows, time left."""

    def __init__(self, bar: Any):
        self.bar = bar
        self.task: Any = None
        self.rows = self.done = self.total = 0
        self.lock = threading.Lock()

    def planned(self, plan: Plan, size_bytes: int) -> None:
        self.total = len(plan.to_read)
        self.task = self.bar.add_task("", total=size_bytes or None, rows=0, parts=f"0/{self.total}")

    def progressed(self, progress: Progress) -> None:
        with self.lock:
            self.rows += progress.rows
            self.bar.update(self.task, advance=progress.size_bytes, rows=self.rows)

    def finished(self, result: TaskResult) -> None:
        with self.lock:
            self.done += 1
            self.bar.update(self.task, parts=f"{self.done}/{self.total}")


class PlainLines(Observer):
    """A line now and then, for logs of batch jobs."""

    def __init__(self) -> None:
        self.rows = self.size = self.expected = self.done = self.total = 0
        self.started = self.last = time.monotonic()

    def planned(self, plan: Plan, size_bytes: int) -> None:
        self.total, self.expected = len(plan.to_read), size_bytes

    def progressed(self, progress: Progress) -> None:
        self.rows += progress.rows
        self.size += progress.size_bytes
        now = time.monotonic()
        if now - self.last < PLAIN_EVERY_S:
            return
        self.last = now
        share = self.size / self.expected if self.expected else 0.0
        left = (now - self.started) * (1 - share) / share if 0 < share <= 1 else None
        remaining = f", about {left:.0f} s left" if left is not None else ""
        print(
            f"harvest: {self.done}/{self.total} partitions, {self.size / 1e6:,.0f} of "
            f"{self.expected / 1e6:,.0f} MB, {self.rows:,} rows{remaining}",
            file=sys.stderr,
            flush=True,
        )

    def finished(self, result: TaskResult) -> None:
        self.done += 1
