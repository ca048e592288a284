"""Ctrl-C and SIGTERM: the program prints one line, ends with 130 and leaves nothing half done.

Only the program installs this (``harvest.__main__``). In other programs that use harvest as a
library, the signals keep the meaning that these programs gave them.

A handler that raises KeyboardInterrupt raises it wherever Python happens to be. In some places
nothing can pass it on (a destructor, a callback of an import); Python then prints a traceback and
continues. The handler here therefore only records the signal, and a thread does the rest:

- Outside of ``orderly``, there is nothing to clean up: the process ends immediately.
- Inside, the main thread has ``GRACE_S`` to reach a safe point, ``check``, which raises
  KeyboardInterrupt; the work is then abandoned as after an error. If it reaches none, since a
  library is at work, the process ends as if killed, which a run survives at any time.
- Inside ``deferred``, this time does not pass.
- A second signal ends the process immediately, whatever it does.
"""

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
"""Seconds that the main thread may take to notice a signal."""

POLL_S: Final = 0.2
"""Maximum seconds between calls of ``check`` while the main thread waits."""

_SAME_S: Final = 0.5
"""Signals within this many seconds count as one: a process may receive one Ctrl-C repeatedly."""

_CLEAN_LINE: Final = b"\r\x1b[2K\x1b[?25h"
"""Terminal codes that erase a progress line and show the cursor again."""

_requested = False
_noticed = False
_forgotten = -float("inf")
_orderly = 0
_deferring = 0
_installed = False
_ending = threading.Lock()
"""Held by the thread that ends the process, so that only one decides how."""


def install() -> None:
    """Handle both signals as requests to stop; call it in the main thread of the program."""
    global _installed
    _installed = True
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    threading.Thread(target=_watch, args=(reading,), daemon=True).start()
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _remember)


def is_program() -> bool:
    """Return whether this process is the program, which handles both signals."""
    return _installed


def may_be_meant() -> bool:
    """Return whether a KeyboardInterrupt raised here can come from a person's Ctrl-C."""
    if _installed:
        return _requested
    here = threading.current_thread() is threading.main_thread()
    return here and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


def finish() -> None:
    """Ignore signals from here on: the process ends normally.

    Does not return if a signal has begun to end the process.
    """
    if not _installed:
        return
    if not _ending.acquire(blocking=False):
        threading.Event().wait()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def requested() -> bool:
    """Return whether a signal arrived."""
    return _requested


def forget() -> None:
    """Mark the signal as handled: the caller stops in its own way, until another signal arrives."""
    global _requested, _forgotten
    _requested = False
    _forgotten = time.monotonic()


def check() -> None:
    """Raise KeyboardInterrupt if a signal arrived; call it at safe points, as between batches."""
    global _noticed
    if _requested:
        _noticed = True
        raise KeyboardInterrupt


def sleep(seconds: float) -> None:
    """Sleep for some seconds; raise KeyboardInterrupt soon after a signal."""
    end = time.monotonic() + seconds
    check()
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, POLL_S))
        check()


@contextlib.contextmanager
def orderly() -> Iterator[None]:
    """Mark work that calls ``check`` and needs cleanup when it is interrupted."""
    global _orderly
    _orderly += 1
    try:
        yield
    finally:
        _orderly -= 1


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Finish a short step even if a signal arrives."""
    global _deferring
    _deferring += 1
    try:
        yield
    finally:
        _deferring -= 1


@contextlib.contextmanager
def kept_here() -> Iterator[None]:
    """Block SIGINT for threads and processes that are started inside, and their descendants.

    Ctrl-C reaches all processes of a terminal; this process decides how the others end.
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
    """Act on signals in a thread, since the main thread may be in a library's call.

    reading: descriptor that yields a byte for each signal, immediately.
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
    """Return whether there may be something to clean up."""
    return bool(_orderly or _deferring or _noticed)


def _end() -> None:
    """End the process with one line, unless the main thread is already ending it."""
    if not _ending.acquire(blocking=False):
        threading.Event().wait()
    line = f"harvest: {MESSAGE}\n".encode()
    with contextlib.suppress(OSError):
        os.write(2, (_CLEAN_LINE if os.isatty(2) else b"") + line)
    os._exit(130)
