"""The recorder of a process: events go into queues, and a thread writes them.

While writes fail, rows wait in their queues. A full queue loses rows and counts them; a ``blind``
frame reports the loss as soon as writing is possible.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final, Protocol

from ..settings import Settings
from .frames import pack
from .queues import Columns, Payload, Singles, Stream, in_columns

CLOSE_S: Final = 15.0
"""Maximum seconds that a process waits at its end for its last rows to be written."""

logger = logging.getLogger("harvest_dask")


class Target(Protocol):
    """Destination of frames: a file, or the scheduler."""

    def append(self, payloads: Sequence[bytes]) -> None:
        """Append frames: all, or none if it raises OSError."""

    def close(self) -> None:
        """Close the target; no more frames follow."""


class Recorder:
    """Writes the events of one process.

    ``target`` creates the target, which begins with the frames from ``first``; both are called in
    the thread. ``report`` sends a blind spell elsewhere, as this process cannot write it.
    """

    def __init__(
        self,
        target: Callable[[Sequence[bytes]], Target],
        settings: Settings,
        first: Callable[[], Iterable[Payload]],
        report: Callable[[Payload], None] = lambda spell: None,
    ) -> None:
        self._make_target = target
        self._first = first
        self._report = report
        self._limit = settings.queue
        self._flush_s = settings.flush
        self._singles = Singles(self._limit)
        self._queues: list[Singles | Stream] = [self._singles]
        self._pending: tuple[list[bytes], int] | None = ([], 0)
        self._blind: Payload | None = None
        self._warned = False
        self._reason: str | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="harvest-capture", daemon=True)

    def stream(
        self,
        kind: str,
        columns: Sequence[str] = (),
        shape: Callable[[Sequence[Any]], Columns] | None = None,
    ) -> Stream:
        """Create a queue for rows of a kind: tuples in column order, or the input of ``shape``."""
        made = Stream(kind, shape or partial(in_columns, columns), self._limit)
        self._queues.append(made)
        return made

    def put(self, payloads: Iterable[Payload] | Callable[[], Iterable[Payload]], rows: int) -> None:
        """Queue frames that represent ``rows`` rows; a function is called in the thread."""
        self._singles.append(payloads if callable(payloads) else lambda: payloads, rows)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def close(self, reason: str) -> None:
        """Write waiting rows and the frame ``end``, and wait until that is done."""
        self._reason = reason
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(CLOSE_S)
            if self._thread.is_alive():
                logger.warning(
                    "the last rows of this process were not written within %.0f s; its record has "
                    "no end",
                    CLOSE_S,
                )
        self._shut()

    async def aclose(self, reason: str) -> None:
        """Close like ``close``, without blocking the event loop."""
        await asyncio.to_thread(self.close, reason)

    def _run(self) -> None:
        try:
            target = self._make_target([pack(payload) for payload in self._first()])
            self._flush(target)
            while not self._stop.wait(self._flush_s):
                self._flush(target)
            self._finish(target)
        except Exception as error:
            # the computation goes on; the log, the scheduler's file and the missing frame ``end``
            # say that this ended
            logger.exception("the capture of this process ended: what follows is not recorded")
            self._shut()
            self._report(blind(time.time(), f"a defect: {error!r}", None))

    def _flush(self, target: Target) -> None:
        """Write waiting rows; after a failed write, the rest stays in the queues."""
        if self._pending is not None and not self._write(target):
            return
        for payload, rows in self._waiting():
            self._pending = ([payload], rows)
            if not self._write(target):
                return

    def _waiting(self) -> Iterator[tuple[bytes, int]]:
        for queue in self._queues:
            yield from queue.frames()
        lost, since = self._take_lost()
        if lost:
            reason = f"a queue of {self._limit} rows was full, or a row larger than a frame"
            self._warn(f"{reason}: {lost} rows are lost so far; the computation goes on")
            yield pack(blind(since or time.time(), reason, lost)), 0

    def _write(self, target: Target) -> bool:
        """Write the pending frames and, after a blind spell, its loss; return False on failure."""
        while self._pending is not None:
            try:
                target.append(self._pending[0])
            except OSError as error:
                self._refuse(error)
                return False
            self._pending = None
            if self._blind is not None:
                lost, _ = self._take_lost()
                spell = blind(self._blind["since"], self._blind["reason"], lost)
                self._blind, self._pending = None, ([pack(spell)], 0)
                logger.warning("recording goes on; %d rows are lost", lost)
        return True

    def _refuse(self, error: OSError) -> None:
        if self._blind is not None:
            return
        reason = str(error) or type(error).__name__
        self._blind = blind(time.time(), reason, None)
        self._warn(f"nothing can be recorded: {reason}; the computation goes on, rows wait")
        self._report(self._blind)

    def _finish(self, target: Target) -> None:
        self._flush(target)
        if self._pending is None:
            end = {"kind": "end", "time": time.time(), "reason": self._reason}
            self._pending = ([pack(end)], 0)
            self._write(target)
        if self._blind is not None:
            waiting = sum(len(queue) for queue in self._queues)
            waiting += self._pending[1] if self._pending is not None else 0
            lost = self._take_lost()[0] + waiting
            self._report(blind(self._blind["since"], self._blind["reason"], lost))
        target.close()

    def _take_lost(self) -> tuple[int, float | None]:
        found = [queue.take_lost() for queue in self._queues]
        return sum(n for n, _ in found), min((t for _, t in found if t is not None), default=None)

    def _warn(self, message: str) -> None:
        """Warn once per process."""
        if not self._warned:
            self._warned = True
            logger.warning("%s", message)

    def _shut(self) -> None:
        for queue in self._queues:
            queue.limit = 0


def blind(since: float, reason: str, lost: int | None) -> Payload:
    """Build the frame of a blind spell, in which nothing could be written."""
    return {"kind": "blind", "time": time.time(), "since": since, "reason": reason, "lost": lost}


def report_of(spell: Payload, settings: Settings, process: str) -> Payload:
    """Build the report of a blind spell for the scheduler, as this process cannot write it."""
    known = {name: spell[name] for name in ("since", "reason", "lost")}
    return known | {"capture": settings.capture, "process": process}
