"""Run questions in threads: a few at a time, for a limited time, while the client waits.

``await answer(request, served, ask)`` returns ``ask(snapshot)`` for the current snapshot. Work
below it registers with ``stopping`` how to stop it, for when the client leaves or the time is over.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager
from contextvars import ContextVar, copy_context
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from starlette.requests import Request

from .problems import Refused

if TYPE_CHECKING:
    from .state import Served, Snapshot

AT_ONCE: Final = 4
"""Questions that run at the same time."""

WAITING: Final = 200
"""Questions that may wait for their turn."""

TURN_S: Final = 60.0
"""Seconds that a question may wait for its turn."""

TIME_S: Final = 30.0
"""Seconds that one question may run."""

_POLL_S: Final = 0.1

Answer = TypeVar("Answer")


class Left(Exception):
    """The client has disconnected, so that an answer has no reader."""


class Ticket:
    """One running question, which another thread can stop."""

    def __init__(self) -> None:
        self.stopped = False
        self._stop: list[Callable[[], object]] = []
        self._lock = threading.Lock()

    def stop(self) -> None:
        """Stop current work and whatever the question begins later."""
        with self._lock:
            self.stopped = True
            for stop in self._stop:
                stop()

    @contextlib.contextmanager
    def stopping(self, stop: Callable[[], object]) -> Iterator[None]:
        """Call ``stop`` when the question is stopped inside this context."""
        with self._lock:
            if self.stopped:
                raise Left
            self._stop.append(stop)
        try:
            yield
        finally:
            with self._lock:
                self._stop.remove(stop)


_ticket: ContextVar[Ticket] = ContextVar("ticket", default=Ticket())  # noqa: B039 - never stopped


def stopping(stop: Callable[[], object]) -> AbstractContextManager[None]:
    """Call ``stop`` from another thread if the question is to end while this context is open."""
    return _ticket.get().stopping(stop)


def is_stopped() -> bool:
    """Return whether the question of this thread was stopped."""
    return _ticket.get().stopped


class Turns:
    """A limit of questions at the same time, and of those that wait.

    Questions with a user's own SQL have a separate limit, so that pages do not wait for them.
    """

    def __init__(self, at_once: int = AT_ONCE, waiting: int = WAITING) -> None:
        self._free = {written: asyncio.Semaphore(at_once) for written in (False, True)}
        self._left = at_once + waiting

    async def take(self, *, written: bool = False) -> None:
        """Wait for a turn; raises Refused where too many wait, or for too long."""
        busy = partial(Refused, status=503, remedy="try again in a moment")
        if self._left <= 0:
            raise busy("too many questions at the same time")
        self._left -= 1
        try:
            async with asyncio.timeout(TURN_S):
                await self._free[written].acquire()
        except BaseException as error:
            self._left += 1
            if isinstance(error, TimeoutError):
                raise busy("others ask so much that this had no turn") from None
            raise

    def give_back(self, *, written: bool = False) -> None:
        """End the turn that was taken."""
        self._free[written].release()
        self._left += 1


async def answer(
    request: Request,
    served: Served,
    ask: Callable[[Snapshot], Answer],
    *,
    time_s: float = TIME_S,
    written: bool = False,
) -> Answer:
    """Run ``ask`` in a thread with the current snapshot, and return its result.

    A page asks for all that it shows in one call, so that it shows one commit.
    time_s: seconds that it may take; written: whether it runs a user's own SQL.
    Raises the errors of ``ask``, Refused where its time is over, Left where the client is gone.
    """
    turns: Turns = request.app.state.turns
    return await run_in_turn(
        turns, lambda: served.ask(ask), request.is_disconnected, time_s=time_s, written=written
    )


async def run_in_turn(
    turns: Turns,
    function: Callable[[], Answer],
    has_left: Callable[[], Awaitable[bool]] | None = None,
    *,
    time_s: float = TIME_S,
    written: bool = False,
) -> Answer:
    """Run a function that may take long in a thread, and return its result; raises as ``answer``.

    has_left: returns whether the client is gone. Cancelling the call stops the function, too.
    The turn lasts until the function ends, even after its client gave up: a view that is being
    computed cannot be stopped, and its work counts for the limit.
    """
    ticket, context = Ticket(), copy_context()
    context.run(_ticket.set, ticket)
    await turns.take(written=written)
    try:
        waited = asyncio.wrap_future(in_thread(lambda: context.run(function)))
    except BaseException:
        turns.give_back(written=written)
        raise
    waited.add_done_callback(lambda _: turns.give_back(written=written))
    waited.add_done_callback(lambda done: done.cancelled() or done.exception())  # errors are seen
    try:
        async with asyncio.timeout(time_s):
            while not (await asyncio.wait([waited], timeout=_POLL_S))[0]:
                if has_left is not None and await has_left():
                    raise Left
            return waited.result()
    except BaseException as error:
        ticket.stop()
        if isinstance(error, TimeoutError):
            raise Refused(
                f"this took longer than {time_s:g} s",
                remedy="ask for less: fewer rows, a condition, a coarser grouping",
            ) from None
        raise


def in_thread(function: Callable[[], Answer]) -> Future[Answer]:
    """Start a function in a thread that the end of the program does not wait for."""
    future: Future[Answer] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:  # noqa: BLE001 - who waits for it raises it
            future.set_exception(error)

    threading.Thread(target=run, daemon=True, name="answer").start()
    return future
