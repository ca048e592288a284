"""Ctrl-C and SIGTERM: the program says one line, ends with 130 and leaves nothing half done.

Only the program installs this (``harvest.__main__``).  Where harvest is a library, the signals mean
what the process that uses it has made of them.

A handler that raises KeyboardInterrupt raises it wherever Python happens to be, also where nobody
can pass it on (a destructor, a callback of an import); Python then prints a traceback and goes on.
So the handler here only remembers the signal, and a thread sees to the rest:

- Outside of ``orderly`` there is nothing to clear up: the process ends immediately.
- Inside, the main thread has ``GRACE_S`` to come to a safe point, ``check``, which raises
  KeyboardInterrupt; from there the work is given up as after an error.  If it comes to none, since
  a library is at work, the process ends as if it were killed, which a run can bear at any time.
- Inside ``deferred`` that time does not pass.
- A second signal ends the process immediately, whatever it does.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Final

__all__ = [
    "POLL_S", "check", "deferred", "forget", "install", "kept_here", "orderly", "requested",
    "sleep",
]  # fmt: skip

MESSAGE: Final = "interrupted; earlier commits are intact, run again to continue"

GRACE_S: Final = 1.0
"""How long the main thread may take to notice a signal."""

POLL_S: Final = 0.2
"""How often who waits in the main thread has to call ``check``."""

_SAME_S: Final = 0.5
"""Signals that follow one another so fast are one wish: a process may get it in several ways."""

_CLEAN_LINE: Final = b"\r\x1b[2K\x1b[?25h"
"""On a terminal: away with a progress line, and the cursor is shown again."""

_requested = False
_noticed = False
_forgotten = -float("inf")
_orderly = 0
_deferring = 0
_installed = False
_ending = threading.Lock()
"""Taken by the thread that ends the process: it alone says how."""


def install() -> None:
    """Take both signals as a wish to stop; call it in the main thread of the program."""
    global _installed
    _installed = True
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    threading.Thread(target=_watch, args=(reading,), daemon=True).start()
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _remember)


def is_program() -> bool:
    """Whether this process is the program, which takes both signals."""
    return _installed


def may_be_meant() -> bool:
    """Whether a KeyboardInterrupt that is raised here can come from a person's Ctrl-C."""
    if _installed:
        return _requested
    here = threading.current_thread() is threading.main_thread()
    return here and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


def finish() -> None:
    """From here on the process ends as it would: there is nothing left to interrupt.

    Does not return where a signal has begun to end the process.
    """
    if not _installed:
        return
    if not _ending.acquire(blocking=False):
        threading.Event().wait()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def requested() -> bool:
    """Whether a signal came."""
    return _requested


def forget() -> None:
    """Take the signal as answered: who waited for it stops in its own way, until another comes."""
    global _requested, _forgotten
    _requested = False
    _forgotten = time.monotonic()


def check() -> None:
    """Raise KeyboardInterrupt if a signal came; called at safe points, such as between batches."""
    global _noticed
    if _requested:
        _noticed = True
        raise KeyboardInterrupt


def sleep(seconds: float) -> None:
    """Sleep so long; raises KeyboardInterrupt soon after a signal."""
    end = time.monotonic() + seconds
    check()
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, POLL_S))
        check()


@contextlib.contextmanager
def orderly() -> Iterator[None]:
    """Work that comes by ``check`` and must be cleared up when it is interrupted."""
    global _orderly
    _orderly += 1
    try:
        yield
    finally:
        _orderly -= 1


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Finish a short step even if a signal comes."""
    global _deferring
    _deferring += 1
    try:
        yield
    finally:
        _deferring -= 1


@contextlib.contextmanager
def kept_here() -> Iterator[None]:
    """Keep SIGINT from threads and processes that are started inside, and from those they start.

    A Ctrl-C goes to all processes of a terminal; this one decides how the others take it.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _remember(number: int, frame: FrameType | None) -> None:
    global _requested
    _requested = True


def _watch(reading: int) -> None:
    """Act on signals, in a thread: the main one may be in a library's call.

    reading: gives a byte for each signal, as soon as it comes.
    """
    while os.read(reading, 4096):
        if not _at_work():
            _end()
        came = time.monotonic()
        deadline = came + GRACE_S
        while _at_work() and _forgotten < came - _SAME_S:
            again, _, _ = select.select([reading], [], [], POLL_S / 4)
            now = time.monotonic()
            if again and os.read(reading, 4096) and now - came > _SAME_S:
                _end()
            if _deferring or _noticed:
                deadline = now + GRACE_S
            elif now >= deadline:
                _end()


def _at_work() -> bool:
    """Whether there may be something to clear up."""
    return bool(_orderly or _deferring or _noticed)


def _end() -> None:
    """End the process with the one line, unless the main thread is about to end it."""
    if not _ending.acquire(blocking=False):
        threading.Event().wait()
    line = f"harvest: {MESSAGE}\n".encode()
    with contextlib.suppress(OSError):
        os.write(2, (_CLEAN_LINE if os.isatty(2) else b"") + line)
    os._exit(130)
