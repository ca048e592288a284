"""The current step of long work, in a terminal line that disappears at the end."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.progress import Progress as Bar
from rich.progress import ProgressColumn, SpinnerColumn, TimeElapsedColumn
from rich.table import Column
from rich.text import Text

from harvest.toolkit.steps import watched
from harvest.toolkit.texts import printable_line

__all__ = ["working"]


@contextlib.contextmanager
def working(on: str) -> Iterator[None]:
    """Show the current step and elapsed time of long work, in a line that disappears at the end.

    Only if standard error is a terminal. on: name of the work, ``building dask.run``.
    """
    if not sys.stderr.isatty():
        yield
        return
    columns = (SpinnerColumn(), _Step(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False) as bar:
        task = bar.add_task(printable_line(on), total=None, step="")
        with watched(lambda text: bar.update(task, step=printable_line(text))):
            yield


class _Step(ProgressColumn):
    """The work and its step, truncated to the terminal's width."""

    def __init__(self) -> None:
        super().__init__(table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1))

    def render(self, task: Any) -> Text:
        step = task.fields["step"]
        # Text, not markup: names may hold brackets
        return Text(f"{task.description}: {step}" if step else task.description)
