"""The current step of long work, in a terminal line that disappears at the end."""

import contextlib
import sys
from collections.abc import Iterator

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
    # late: it takes long to import, and without a terminal nothing is drawn
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.table import Column

    on = printable_line(on)
    cut = Column(no_wrap=True, overflow="ellipsis", ratio=1)  # where the terminal ends
    text = TextColumn("{task.description}", markup=False, table_column=cut)  # names have brackets
    columns = (SpinnerColumn(), text, TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False)
    with bar:
        task = bar.add_task(on, total=None)
        with watched(lambda step: bar.update(task, description=f"{on}: {printable_line(step)}")):
            yield
