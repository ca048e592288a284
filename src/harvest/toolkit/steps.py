"""Remarks of the program, and the current step of long work, for a display::

with watched(print):
    step("reading slurm.job")
"""

import contextlib
import os
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from .texts import printable_line

__all__ = ["step"]

_WATCHER: ContextVar[Callable[[str], object] | None] = ContextVar("watcher", default=None)


def step(text: str) -> None:
    """Announce the step that begins now, in a few words: ``reading slurm.job``."""
    watcher = _WATCHER.get()
    if watcher is not None:
        watcher(text)


@contextlib.contextmanager
def watched(watcher: Callable[[str], object]) -> Iterator[None]:
    """Pass each step within the block to ``watcher``."""
    before = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(before)


def remark(text: str) -> None:
    """Print a text of one or more lines on standard error; wrap it for a terminal.

    In a log, each line stays whole, so that a search for its words finds it.
    """
    lines = [printable_line(line) for line in text.splitlines()] or [""]
    lines[0] = f"harvest: {lines[0]}"
    if sys.stderr.isatty():
        width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
        lines = [_filled(line, width) for line in lines]
    print("\n".join(lines), file=sys.stderr, flush=True)


def _filled(line: str, width: int) -> str:
    return textwrap.fill(
        line,
        width,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )
