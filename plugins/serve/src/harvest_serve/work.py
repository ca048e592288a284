"""Running what is asked in a thread: a few at a time, for a limited time, while its client waits.

``await answer(request, served, ask)`` gives what ``ask(snapshot)`` makes of the state in force.
What runs below it registers how it is stopped with ``stopping``; it is stopped when the client
leaves or its time is over.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any, Final, TypeVar

from starlette.requests import Request

from .problems import Busy, Refused

if TYPE_CHECKING:
    from .state import Served, Snapshot

AT_ONCE: Final = 4
"""Questions that are answered at the same time."""

WAITING: Final = 200
"""Questions that may wait for their turn."""

TURN_S: Final = 60.0
"""How long a question may wait for its turn."""

TIME_S: Final = 30.0
"""How long one question may take."""

_POLL_S: Final = 0.1

Answer = TypeVar("Answer")


class Left(Exception):
    """The client is gone; nobody reads what would be answered."""


class Ticket:
    """One question that is at work: it can be stopped from outside."""

    def __init__(self) -> None:
        self.stopped = False
        self._stop: list[Callable[[], object]] = []
        self._lock = threading.Lock()

    def stop(self) -> None:
        """Stop what is at work, now and whatever it begins later."""
        with self._lock:
            self.stopped = True
            for stop in self._stop:
                stop()

    @contextlib.contextmanager
    def stopping(self, stop: Callable[[], object]) -> Iterator[None]:
        """Inside, ``stop`` is called where the question is stopped."""
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
    """Inside, ``stop`` is called from another thread when the client leaves or time is over."""
    return _ticket.get().stopping(stop)


def is_stopped() -> bool:
    """Whether the question that this thread answers was stopped."""
    return _ticket.get().stopped


class Turns:
    """So many questions at the same time; the others wait, and of these not too many.

    Questions with SQL that a user wrote have as many turns of their own: it may take all of its
    time, and no page waits for it.
    """

    def __init__(self, at_once: int = AT_ONCE, waiting: int = WAITING) -> None:
        self._free = {written: asyncio.Semaphore(at_once) for written in (False, True)}
        self._left = at_once + waiting

    async def take(self, *, written: bool = False) -> None:
        """Wait for a turn; raises Busy where there is none."""
        if self._left <= 0:
            raise Busy("too many questions at the same time")
        self._left -= 1
        try:
            async with asyncio.timeout(TURN_S):
                await self._free[written].acquire()
        except BaseException as error:
            self._left += 1
            if isinstance(error, TimeoutError):
                raise Busy("others ask so much that this had no turn") from None
            raise

    def give_back(self, *, written: bool = False) -> None:
        """Let another have the turn that was taken."""
        self._free[written].release()
        self._left += 1

    @contextlib.asynccontextmanager
    async def one(self) -> Any:
        """Wait for a turn, and have it inside."""
        await self.take()
        try:
            yield
        finally:
            self.give_back()


async def answer(
    request: Request,
    served: Served,
    ask: Callable[[Snapshot], Answer],
    *,
    time_s: float = TIME_S,
    written: bool = False,
) -> Answer:
    """What a question gives of the state in force: ``ask`` gets one snapshot, in a thread.

    All that a page shows is asked in one call, so that it is of one state.
    time_s: how long it may take; written: whether SQL of a user's is in it.
    Raises what it raises, Refused where its time is over, Left where the client is gone.
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
    """What a function gives that may take long, run in a thread; raises as ``answer``.

    has_left: whether nobody waits for it any more; it is stopped where it is cancelled, too.
    The turn is taken until the work has ended, though its answer was given up before: a view that
    is being made cannot be stopped, and of such work, too, no more is done at the same time.
    """
    await turns.take(written=written)
    try:
        waited, ticket = _start(function)
    except BaseException:
        turns.give_back(written=written)
        raise
    waited.add_done_callback(lambda _: turns.give_back(written=written))
    try:
        async with asyncio.timeout(time_s):
            return await _wait(waited, ticket, has_left)
    except TimeoutError:
        raise Refused(
            f"this took longer than {time_s:g} s",
            remedy="ask for less: fewer rows, a condition, a coarser grouping",
        ) from None


def _start(function: Callable[[], Answer]) -> tuple[asyncio.Future[Answer], Ticket]:
    """What a function gives that runs in a thread from now on, and how it is stopped."""
    ticket = Ticket()
    context = copy_context()
    context.run(_ticket.set, ticket)
    future: Future[Answer] = Future()

    def run() -> None:
        try:
            future.set_result(context.run(function))
        except BaseException as error:  # noqa: BLE001 - who waits for it raises it
            future.set_exception(error)

    # a daemon: Ctrl-C waits for none of them
    threading.Thread(target=run, daemon=True, name="answer").start()
    waited = asyncio.wrap_future(future)
    waited.add_done_callback(lambda done: done.cancelled() or done.exception())  # seen by nobody
    return waited, ticket


async def _wait(
    waited: asyncio.Future[Answer], ticket: Ticket, has_left: Callable[[], Awaitable[bool]] | None
) -> Answer:
    try:
        while True:
            done, _ = await asyncio.wait([waited], timeout=_POLL_S)
            if done:
                return waited.result()
            if has_left is not None and await has_left():
                raise Left
    except BaseException:
        ticket.stop()
        raise
