"""Progress of a run: a live line on a terminal or in a notebook, plain lines in a job's log."""

import contextlib
import html
import importlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from rich import progress as rich_progress
from rich.console import Console

from harvest.reading.task import Progress
from harvest.storage.part import Part
from harvest.toolkit.amounts import bytes_in_words, count_in_words, seconds_in_words
from harvest.toolkit.texts import printable_line

from .plan import Plan
from .prepare import Observer

PLAIN_EVERY_S = 30.0
PLAIN_WAITS_S = 2.0
"""Seconds after which a log says that nothing comes through a pipe."""

NOTEBOOK_EVERY_S = 0.25


@contextlib.contextmanager
def display(show: bool | None = True) -> Iterator[Observer]:
    """Yield an observer that shows a run's progress, in a notebook or on standard error."""
    if show is False:
        yield Observer()
    elif in_notebook():
        with contextlib.closing(_Cell()) as cell:
            yield cell
    elif sys.stderr.isatty():
        console = Console(stderr=True)
        with rich_progress.Progress(*_columns(), console=console, transient=True) as bar:
            yield _LiveLine(bar)
    else:
        yield Observer() if show is None else PlainLines()


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


def _columns() -> list[Any]:
    return [
        rich_progress.TextColumn("{task.fields[parts]}", markup=False),
        rich_progress.BarColumn(bar_width=None),
        rich_progress.DownloadColumn(),
        rich_progress.TextColumn("{task.fields[rows]:>12,} rows"),
        rich_progress.TimeElapsedColumn(),
        rich_progress.TextColumn("left"),
        rich_progress.TimeRemainingColumn(),
    ]


class _Counter(Observer):
    """Counts of rows, bytes and partitions, with the times of start and last display.

    ``draw`` shows them after each change.
    """

    def __init__(self) -> None:
        self.rows = self.size = self.expected = self.done = self.total = 0
        self.started = self.last = time.monotonic()
        self.lock = threading.Lock()

    def planned(self, plan: Plan, size_bytes: int) -> None:
        self.total, self.expected = len(plan.to_read), size_bytes

    def progressed(self, progress: Progress) -> None:
        with self.lock:
            self.rows += progress.rows
            self.size += progress.size_bytes
        self.draw()

    def finished(self, part: Part) -> None:
        with self.lock:
            self.done += 1
        self.draw()

    def draw(self) -> None:
        raise NotImplementedError


class _LiveLine(_Counter):
    """One line that is redrawn: partitions, bytes, rows, time left."""

    def __init__(self, bar: Any):
        super().__init__()
        self.bar = bar
        self.task = bar.add_task("", total=None, visible=False, rows=0, parts="")

    def copying(self, pipe: str, size_bytes: int) -> None:
        shown = f"from {printable_line(pipe)}"
        self.bar.update(self.task, visible=True, completed=size_bytes, parts=shown)

    def planned(self, plan: Plan, size_bytes: int) -> None:
        super().planned(plan, size_bytes)
        self.bar.reset(self.task, total=size_bytes or None, visible=True)
        self.draw()

    def draw(self) -> None:
        with self.lock:
            parts = f"{self.done}/{self.total} parts"
            self.bar.update(self.task, completed=self.size, rows=self.rows, parts=parts)


class PlainLines(_Counter):
    """A line at regular intervals, for logs of batch jobs."""

    waits = False

    def copying(self, pipe: str, size_bytes: int) -> None:
        now = time.monotonic()
        begins = not size_bytes and not self.waits and now - self.last >= PLAIN_WAITS_S
        if begins or now - self.last >= PLAIN_EVERY_S:
            self.last, self.waits = now, True
            amount = f"{size_bytes / 1e6:,.0f} MB" if size_bytes else "nothing yet"
            _say(f"{amount} from {printable_line(pipe)}")

    def planned(self, plan: Plan, size_bytes: int) -> None:
        super().planned(plan, size_bytes)
        self.started = time.monotonic()

    def draw(self) -> None:
        now = time.monotonic()
        if now - self.last < PLAIN_EVERY_S:
            return
        self.last = now
        share = self.size / self.expected if self.expected else 0.0
        left = (now - self.started) * (1 - share) / share if 0 < share <= 1 else None
        remaining = f", about {left:.0f} s left" if left is not None else ""
        _say(
            f"{self.done}/{self.total} partitions, {self.size / 1e6:,.0f} of "
            f"{self.expected / 1e6:,.0f} MB, {self.rows:,} rows{remaining}"
        )


def _say(text: str) -> None:
    print(f"harvest: {text}", file=sys.stderr, flush=True)


class _Cell(_Counter):
    """A progress bar below a notebook's cell; at the end, one line with totals.

    Only the run's thread draws it: a kernel does not know the cell of other threads.
    """

    def __init__(self) -> None:
        super().__init__()
        self.thread = threading.get_ident()
        self.output: Any = None

    def copying(self, pipe: str, size_bytes: int) -> None:
        text = f"{bytes_in_words(size_bytes)} from {printable_line(pipe)}"
        self._redraw(f"<progress></progress> <small>{html.escape(text)}</small>")

    def planned(self, plan: Plan, size_bytes: int) -> None:
        super().planned(plan, size_bytes)
        if self.total or self.output is not None:
            self._show(self._bar())

    def draw(self) -> None:
        self._redraw(self._bar())

    def close(self) -> None:
        """Replace the bar by one line."""
        if self.output is not None:
            took = seconds_in_words(time.monotonic() - self.started)
            self._show(f"<small>read {self._amounts('')} in {took}</small>")

    def _redraw(self, bar: str) -> None:
        now = time.monotonic()
        if threading.get_ident() == self.thread and now - self.last >= NOTEBOOK_EVERY_S:
            self.last = now
            self._show(bar)

    def _bar(self) -> str:
        most = max(self.expected, 1)
        bar = f'<progress value="{min(self.size, most)}" max="{most}"></progress>'
        return f"{bar} <small>{self._amounts(f' of {bytes_in_words(self.expected)}')}</small>"

    def _amounts(self, expected: str) -> str:
        size, rows = bytes_in_words(self.size), count_in_words(self.rows, "row")
        return f"{self.done:,} of {count_in_words(self.total, 'part')}, {size}{expected}, {rows}"

    def _show(self, text: str) -> None:
        shown = importlib.import_module("IPython.display")
        if self.output is None:
            self.output = shown.display(shown.HTML(text), display_id=True)
        else:
            self.output.update(shown.HTML(text))
