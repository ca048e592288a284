"""Waiting until it is time to look: a clock, a notification or a signal ends the wait."""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from collections.abc import Callable, Sequence

from harvest import interrupt

__all__ = ["Bell", "Notifications", "notifying"]

_STEP_MS = 250
_SIGN_OF_LIFE_MS = 1_000


class Bell:
    """Ends a wait, from another thread."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def ring(self) -> None:
        """End the wait that goes on, or the next one."""
        with contextlib.suppress(BlockingIOError):  # it rings already
            os.write(self._write, b".")

    def wait(self, seconds: float) -> bool:
        """Wait so long at most, or until a signal asks to stop; whether it rang."""
        end = time.monotonic() + seconds
        while True:
            left = max(0.0, end - time.monotonic())
            ready, _, _ = select.select([self._read], [], [], min(left, interrupt.POLL_S))
            if ready:
                break
            if not left or interrupt.requested():
                return False
        with contextlib.suppress(BlockingIOError):
            while os.read(self._read, 4096):
                pass
        return True

    def close(self) -> None:
        """Free its descriptors."""
        os.close(self._read)
        os.close(self._write)


class Notifications:
    """Rings when the file system tells of a change below some directories.

    It also rings when it has begun to listen, so that what changed before is looked for, and when
    it fails; ``failure`` then says how.
    """

    def __init__(
        self, directories: Sequence[str], wanted: Callable[[str], bool], ring: Callable[[], None]
    ):
        self.failure: str | None = None
        self._directories = directories
        self._wanted = wanted
        self._ring = ring
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Listen no more."""
        self._stop.set()
        self._thread.join()

    def _listen(self) -> None:
        import watchfiles

        listening = False
        try:
            for changes in watchfiles.watch(
                *self._directories,
                watch_filter=lambda _, path: self._wanted(path),
                debounce=_SIGN_OF_LIFE_MS,
                step=_STEP_MS,
                rust_timeout=_SIGN_OF_LIFE_MS,
                yield_on_timeout=True,
                stop_event=self._stop,
                force_polling=False,
                ignore_permission_denied=True,
                raise_interrupt=False,
            ):
                if changes or not listening:
                    listening = True
                    self._ring()
        except (OSError, RuntimeError) as error:  # too many directories; a defect within
            self.failure = str(error)
        else:
            if not self._stop.is_set():
                self.failure = "the notifications ended"
        if self.failure is not None:
            self._ring()


def notifying() -> bool:
    """Whether the library that listens to the file system is installed."""
    from importlib.util import find_spec

    return find_spec("watchfiles") is not None
