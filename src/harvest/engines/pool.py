"""Applying a function to tasks, in this process or in worker processes on this machine."""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing.connection import wait
from types import FunctionType
from typing import Any, Final, TypeVar

from harvest import interrupt
from harvest.errors import HarvestError, UsageError, WorkerLost

_PROGRAM: Final = (
    "import sys; from importlib import import_module; module, *sys.path[:], number = sys.argv[1:]; "
    "import_module(module).main(int(number))"
)
"""Imports from where this process imports, also what it has added to ``sys.path``."""

_FLAGS: Final = {
    "isolated": "-I",
    "ignore_environment": "-E",
    "no_user_site": "-s",
    "no_site": "-S",
    "dont_write_bytecode": "-B",
}
"""The interpreter's options that a worker has in common with this process."""

_END_S: Final = 5.0
"""How long a worker may take to end."""

_LAST_LINES: Final = 5


class WorkerProcess:
    """A new interpreter that applies a function to tasks; see ``worker`` for what the two say.

    It has a session of its own, so that no Ctrl-C reaches it: this process decides when it ends.
    It ends by itself when this process does, however that happens.

    function: of a module that can be imported.
    threads: what libraries may take, unless the environment says otherwise.
    connection: readable when there is a message for ``receive``.
    output: descriptor of what the worker prints, for ``show_output``; None once it has ended.
    """

    def __init__(self, function: Callable[..., Any], *, threads: int):
        start = _pickle((function, os.getpgrp()))
        self.connection, theirs = multiprocessing.Pipe()
        self.output: int | None
        self.output, printed = os.pipe()
        self._ready = False
        self._text = b""
        try:
            self._process = subprocess.Popen(
                [*interpreter("harvest.engines.worker"), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                env={
                    "POLARS_MAX_THREADS": str(threads),
                    "OMP_NUM_THREADS": str(threads),
                    **os.environ,
                },
            )
        finally:
            theirs.close()
            os.close(printed)
        self._send(start)

    def give(self, task: Any) -> None:
        """Let it work on a task, once it is ready or done with the one before."""
        self._send(_pickle(task))

    def receive(self) -> tuple[str, Any]:
        """A message: ``ready``, ``report`` with a report, or ``done`` with a result.

        Waits for it.  Raises what the function raised, or HarvestError when the worker is lost.
        """
        try:
            message, content = self.connection.recv()
        except (EOFError, ConnectionError):
            raise self._loss() from None
        if message == "failed":
            error, traceback = content
            error.add_note(f"in a worker process:\n{traceback}")
            raise error
        if message == "ready":
            self._ready = True
            self._show(whole_lines=True)
        return message, content

    def show_output(self) -> None:
        """Print what the worker has printed, on standard error, where a program's remarks go."""
        data = os.read(self.output, 1 << 16) if self.output is not None else b""
        if not data and self.output is not None:
            os.close(self.output)
            self.output = None
        self._text += data
        if self._ready:
            self._show(whole_lines=bool(data))

    def dismiss(self) -> None:
        """Let it end, since all work is done."""
        with contextlib.suppress(ConnectionError):
            self.connection.send_bytes(b"")

    def wait(self) -> None:
        """Wait until it has ended, and print what it said last."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
        self._drain()

    def end(self) -> None:
        """End it immediately, and what it has started, unless it has ended already."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self._process.poll() is not None:
                break
            os.killpg(self._process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_S)
        self.connection.close()
        if self.output is not None:
            os.close(self.output)
            self.output = None

    def _send(self, data: bytes) -> None:
        # a worker that is lost is noticed by who receives
        with contextlib.suppress(ConnectionError):
            self.connection.send_bytes(data)

    def _loss(self) -> HarvestError:
        """What is known about a worker whose connection is closed."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
        code = self._process.poll()
        self._drain()
        if not self._ready:
            lines = self._text.decode("utf-8", "backslashreplace").strip().splitlines()
            said = "\n".join(["; it printed:", *lines[-_LAST_LINES:]]) if lines else ""
            return HarvestError(
                f"a worker process could not start: it {ending(code)}{said}",
                remedy="fix what keeps the interpreter from starting, or give --workers 1",
            )
        return WorkerLost(
            f"a worker process {ending(code)}",
            remedy="run again: finished partitions are kept; fewer --workers need less memory",
        )

    def _drain(self) -> None:
        """Take what it printed, without waiting for others that print there."""
        if self.output is None:
            return
        os.set_blocking(self.output, False)
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self.output, 1 << 16):
                self._text += data
        if self._ready:
            self._show(whole_lines=False)

    def _show(self, *, whole_lines: bool) -> None:
        count = self._text.rfind(b"\n") + 1 if whole_lines else len(self._text)
        shown, self._text = self._text[:count], self._text[count:]
        if shown:
            print(shown.decode("utf-8", "backslashreplace"), end="", file=sys.stderr, flush=True)


def ending(code: int | None) -> str:
    """How a process ended, in words: it ..."""
    if code is None:
        return "closed its connection and did not end"
    if code >= 0:
        return f"ended with exit code {code}"
    if code == -signal.SIGKILL:
        return "was killed (SIGKILL), which the system does when memory is short"
    try:
        return f"was ended by the signal {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def interpreter(module: str) -> list[str]:
    """The command for a new interpreter that calls ``main`` of a module.

    It imports from where this process does, and never the program that this process executes.
    Append the number to give to ``main``.
    """
    paths = [path for path in sys.path if isinstance(path, str)]
    options = [option for name, option in _FLAGS.items() if getattr(sys.flags, name)]
    if sys.flags.optimize:
        options.append("-" + "O" * sys.flags.optimize)
    options += [f"-W{option}" for option in sys.warnoptions]
    return [sys.executable, *options, "-P", "-c", _PROGRAM, module, *paths]


class _Pickler(pickle.Pickler):
    """Refuses what a worker could not import."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, type | FunctionType) and obj.__module__ == "__main__":
            raise UsageError(
                f"worker processes cannot import {obj.__qualname__!r}, which is defined in the "
                "program or notebook itself",
                remedy="move it to a module of its own, or give workers=1",
            )
        return NotImplemented


def _pickle(value: Any) -> bytes:
    buffer = io.BytesIO()
    _Pickler(buffer, pickle.HIGHEST_PROTOCOL).dump(value)
    return buffer.getvalue()


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
    """What the workers make of the tasks: each task goes to the next worker that is idle."""
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
