"""Ctrl-C and SIGTERM, so that neither is ever lost.

Python raises KeyboardInterrupt wherever it happens to be, even where nobody can pass it on (in a
destructor, in an import's callback).  The handler therefore remembers the signal, and the run asks
at its safe points.
"""

from __future__ import annotations

import signal
from types import FrameType
from typing import NoReturn

__all__ = ["check", "install"]

_requested = False


def install() -> None:
    """Take both signals as a wish to stop; call it in the main thread of the program."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _remember)


def _remember(number: int, frame: FrameType | None) -> NoReturn:
    global _requested
    _requested = True
    raise KeyboardInterrupt


def check() -> None:
    """Raise KeyboardInterrupt if a signal came; called between batches and before the commit."""
    if _requested:
        raise KeyboardInterrupt
