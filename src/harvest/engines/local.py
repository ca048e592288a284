"""The engine ``local``: this process, or worker processes on this machine."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import wait
from typing import Any, Final, TypeVar

from harvest import interrupt
from harvest.api.engine import Engine, unchanged

from .worker_process import WorkerLost, WorkerProcess

__all__ = ["LocalEngine", "WorkerLost", "available_cores"]

T = TypeVar("T")
R = TypeVar("R")

BYTES_WORTH_A_WORKER = 16 << 20
"""Input for which starting one more process pays, when the user names no number."""

AHEAD: Final = 16
"""Tasks for each worker that are prepared before one is asked for, at most."""

_NO_MORE: Final = object()


def available_cores() -> int:
    """Cores that this process may use (affinity and batch systems' limits counted)."""
    return len(os.sched_getaffinity(0))


class LocalEngine(Engine):
    """Worker processes on this machine; with one worker, this process itself.

    Without a number of workers it takes as many as there are cores, but no more than the input
    is large enough for.
    """

    name = "local"

    def map(
        self,
        function: Callable[..., R],
        tasks: Sequence[T],
        *,
        prepare: Callable[[T], T] = unchanged,
        size_bytes: int = 0,
        on_progress: Callable[[Any], None] | None = None,
    ) -> Iterator[R]:
        """Results as they are done; see :class:`harvest.api.engine.Engine`."""
        count = self.workers or min(available_cores(), 1 + size_bytes // BYTES_WORTH_A_WORKER)
        count = min(count, len(tasks))
        if count <= 1:
            for task in tasks:
                yield function(prepare(task), on_progress)
            return
        workers: list[WorkerProcess] = []
        try:
            threads = max(1, available_cores() // count)
            # one by one, so that those that run are known when the next cannot be started
            workers.extend(WorkerProcess(function, threads=threads) for _ in range(count))
            yield from _results(workers, map(prepare, tasks), on_progress)
            for worker in workers:
                worker.dismiss()
            for worker in workers:
                worker.wait()
        finally:
            for worker in workers:
                worker.end()


def _results(
    workers: Sequence[WorkerProcess],
    tasks: Iterator[Any],
    on_progress: Callable[[Any], None] | None,
) -> Iterator[Any]:
    """What the workers make of the tasks: each task goes to the next worker that is idle.

    Tasks are prepared while the workers read, so that none waits for it.
    """
    idle: list[WorkerProcess] = []
    prepared: deque[Any] = deque()
    more = True
    while more or prepared or len(idle) < len(workers):
        interrupt.check()
        if more and len(prepared) < AHEAD * len(workers):
            task = next(tasks, _NO_MORE)
            more = task is not _NO_MORE
            if more:
                prepared.append(task)
            pause = 0.0
        else:
            pause = interrupt.POLL_S
        results = []
        for worker in _with_messages(workers, pause):
            message, content = worker.receive()
            if message == "report" and on_progress is not None:
                on_progress(content)
            elif message == "done":
                results.append(content)
            if message in ("ready", "done"):
                idle.append(worker)
        while idle and prepared:
            idle.pop().give(prepared.popleft())
        yield from results


def _with_messages(workers: Sequence[WorkerProcess], timeout_s: float) -> list[WorkerProcess]:
    """The workers that have sent a message; what others printed is printed here."""
    channels: dict[Any, WorkerProcess] = {worker.connection: worker for worker in workers}
    outputs = {worker.output: worker for worker in workers if worker.output is not None}
    found = wait([*channels, *outputs], timeout_s)
    for channel in found:
        if channel in outputs:
            outputs[channel].show_output()
    return [channels[channel] for channel in found if channel in channels]
