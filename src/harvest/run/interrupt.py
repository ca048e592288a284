"""Ctrl-C and SIGTERM, so that neither is ever lost.

Python raises KeyboardInterrupt wherever it happens to be, even where nobody can pass it on (in a
destructor, in an import's callback).  The handler therefore remembers the signal, and the run asks
at its safe points.  Between the commit and the end of its tidying it is only remembered.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

__all__ = ["check", "deferred", "forget", "install", "requested"]

_requested = False
_deferring = 0


def install() -> None:
    """Take both signals as a wish to stop; call it in the main thread of the program."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _remember)


def _remember(number: int, frame: FrameType | None) -> None:
    global _requested
    _requested = True
    if not _deferring:
        raise KeyboardInterrupt


def requested() -> bool:
    """Whether a signal came."""
    return _requested


def forget() -> None:
    """Take the signal for heard: who waited for it stops in its own way, until another comes."""
    global _requested
    _requested = False


def check() -> None:
    """Raise KeyboardInterrupt if a signal came; called between batches and before the commit."""
    if _requested:
        raise KeyboardInterrupt


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Finish a short step even if a signal comes."""
    global _deferring
    _deferring += 1
    try:
        yield
    finally:
        _deferring -= 1
