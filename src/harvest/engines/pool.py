"""Applying a function to tasks, in this process or in worker processes on this machine."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing.connection import wait
from typing import Any, Final, TypeVar

from harvest import interrupt

from .worker_process import WorkerProcess

T = TypeVar("T")
R = TypeVar("R")
P = TypeVar("P")

AHEAD: Final = 16
"""Tasks for each worker that are taken before one is asked for, at most."""

_NO_MORE: Final = object()


def available_cores() -> int:
    """Cores that this process may use (affinity and batch systems' limits counted)."""
    affinity = getattr(os, "sched_getaffinity", None)  # macOS binds no process to cores
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def apply(
    function: Callable[[T, Callable[[P], None] | None], R],
    tasks: Iterable[T],
    *,
    workers: int,
    on_progress: Callable[[P], None] | None = None,
) -> Iterator[R]:
    """Results as they are done; with one worker or none, this process itself does the work.

    tasks: each is taken when it can soon be given out, in their order.
    Raises what the function raises, and WorkerLost when a worker process is lost.
    """
    if workers <= 1:
        for task in tasks:
            yield function(task, on_progress)
        return
    processes: list[WorkerProcess] = []
    try:
        threads = max(1, available_cores() // workers)
        # one by one, so that those that run are known when the next cannot be started
        processes.extend(WorkerProcess(function, threads=threads) for _ in range(workers))
        yield from _results(processes, iter(tasks), on_progress)
        for process in processes:
            process.dismiss()
        for process in processes:
            process.wait()
    finally:
        for process in processes:
            process.end()


def _results(
    workers: Sequence[WorkerProcess],
    tasks: Iterator[Any],
    on_progress: Callable[[Any], None] | None,
) -> Iterator[Any]:
    """What the workers make of the tasks: each task goes to the next worker that is idle.

    Tasks are taken while the workers work, so that none waits for it.
    """
    idle: list[WorkerProcess] = []
    taken: deque[Any] = deque()
    more = True
    while more or taken or len(idle) < len(workers):
        interrupt.check()
        if more and len(taken) < AHEAD * len(workers):
            task = next(tasks, _NO_MORE)
            more = task is not _NO_MORE
            if more:
                taken.append(task)
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
        while idle and taken:
            idle.pop().give(taken.popleft())
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
