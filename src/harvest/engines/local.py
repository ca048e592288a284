"""The engine ``local``: this process, or worker processes on this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing.reduction import ForkingPickler
from typing import Any, Final, TypeVar

from harvest.errors import HarvestError
from harvest.plugins.engine import Engine

from .forking import fork_context

__all__ = ["LocalEngine", "available_cores"]

T = TypeVar("T")
R = TypeVar("R")

BYTES_WORTH_A_WORKER = 16 << 20
"""Input for which starting one more process pays, when the user names no number."""

WAITING: Final = 16
"""Tasks a worker that wait at most: enough to do while this process is busy with results."""

START_S: Final = 0.2
"""Seconds that the process which workers are forked from takes to start, about."""

_report_queue: Any = None


def available_cores() -> int:
    """Cores that this process may use (affinity and batch systems' limits counted)."""
    return len(os.sched_getaffinity(0))


class LocalEngine(Engine):
    """Worker processes on this machine; with one worker, this process itself.

    Without a number of workers it takes as many as there are cores, but no more than the input
    is large enough for.
    """

    name = "local"
    bundles = True

    def map(
        self,
        function: Callable[..., R],
        tasks: Sequence[T],
        *,
        size_bytes: int = 0,
        on_progress: Callable[[Any], None] | None = None,
    ) -> Iterator[R]:
        """Results as they are done; see :class:`harvest.plugins.engine.Engine`."""
        workers = self.workers or min(available_cores(), 1 + size_bytes // BYTES_WORTH_A_WORKER)
        workers = min(workers, len(tasks))
        if workers <= 1:
            for task in tasks:
                yield function(task, on_progress)
            return
        context = fork_context([function.__module__, *self.modules])
        yield from _in_processes(context, function, tasks, workers, on_progress)


def _in_processes(
    context: Any,
    function: Callable[..., R],
    tasks: Sequence[T],
    workers: int,
    on_progress: Callable[[Any], None] | None,
) -> Iterator[R]:
    reports: Any = context.SimpleQueue() if on_progress is not None else None
    pool = ProcessPoolExecutor(
        workers,
        mp_context=context,
        initializer=_start_worker,
        initargs=(reports, dict(os.environ), max(1, available_cores() // workers)),
    )
    listener = _Listener(reports, on_progress) if on_progress is not None else None
    # biggest first would be faster still, but the plan's order is what users watch
    todo = map(_found_out, tasks)
    running: set[Future[R]] = set()
    complete = False
    try:
        following = _ahead(todo, workers)
        while running or following:
            running.update(pool.submit(_call, function, task) for task in following)
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
            more = min(len(done) + 1, WAITING * workers - len(running))
            following = list(islice(todo, more))
        complete = True
    except BrokenProcessPool as error:
        raise HarvestError(
            "a worker process was killed (out of memory?)",
            remedy="run again: finished partitions are kept; fewer --workers need less memory",
        ) from error
    finally:
        if complete:
            pool.shutdown(wait=True)
        else:
            _end(pool)
        if listener is not None:
            listener.stop()


def _ahead(todo: Iterator[T], workers: int) -> list[T]:
    """The first tasks: as many as are ready in the time that workers take to start anyway."""
    until = time.monotonic() + START_S
    ready: list[T] = []
    for task in todo:
        ready.append(task)
        late = time.monotonic() > until and len(ready) >= 2 * workers
        if late or len(ready) >= WAITING * workers:
            break
    return ready


def _found_out(task: T) -> T:
    """A task that has found out what it does when it is pickled, as the lines before a range."""
    ForkingPickler.dumps(task)
    return task


def _end(pool: ProcessPoolExecutor) -> None:
    """End the workers at once: the run is given up."""
    processes = list((getattr(pool, "_processes", None) or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()
    for process in processes:
        process.join()


def _start_worker(reports: Any, environment: dict[str, str], threads: int) -> None:
    """Prepare a worker process, which has the environment of when the first one was started."""
    global _report_queue
    os.environ.clear()
    os.environ.update(environment)
    os.environ.setdefault("POLARS_MAX_THREADS", str(threads))
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))
    # Ctrl-C reaches the whole process group; the parent ends the workers
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    _report_queue = reports


def _die_with_parent() -> None:
    """End this worker when the process that gave it work is killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGKILL)


def _call(function: Callable[..., R], task: Any) -> R:
    return function(task, _report_queue.put if _report_queue is not None else None)


class _Listener:
    """A thread that hands the workers' reports to the display."""

    def __init__(self, reports: Any, on_progress: Callable[[Any], None]):
        self._reports = reports
        self._on_progress = on_progress
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        # polls, because a killed worker may leave the queue's write lock taken
        while not (self._stopping.is_set() and self._reports.empty()):
            if self._reports.empty():
                self._stopping.wait(0.1)
            else:
                self._on_progress(self._reports.get())

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(timeout=2)
