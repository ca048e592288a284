"""What long work is at, for whoever wants to show it; nothing where nobody does::

with watched(print):
    step("reading slurm.job")
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

__all__ = ["step"]

_WATCHER: ContextVar[Callable[[str], object] | None] = ContextVar("watcher", default=None)


def step(text: str) -> None:
    """Say what begins now: a few words, ``reading slurm.job``."""
    watcher = _WATCHER.get()
    if watcher is not None:
        watcher(text)


@contextlib.contextmanager
def watched(watcher: Callable[[str], object]) -> Iterator[None]:
    """Within the block, each step is given to ``watcher``."""
    before = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(before)
