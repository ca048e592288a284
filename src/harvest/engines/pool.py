"""The engine ``local``: reads bundles in this process, or in worker processes on this machine."""

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
from harvest.pipeline.engine import Engine, Work
from harvest.reading.bundle import Bundle, Result
from harvest.reading.task import Progress

_PROGRAM: Final = (
    "import sys; from importlib import import_module; module, *sys.path[:], number = sys.argv[1:]; "
    "import_module(module).main(int(number))"
)
"""Program of a worker: takes over this process's ``sys.path``, including its additions."""

_FLAGS: Final = {
    "isolated": "-I",
    "ignore_environment": "-E",
    "no_user_site": "-s",
    "no_site": "-S",
    "dont_write_bytecode": "-B",
}
"""Interpreter options that a worker takes over from this process, by name in ``sys.flags``."""

BYTES_WORTH_A_WORKER: Final = 16 << 20
"""Input bytes for which one more worker is worth its start, if the user gives no number."""

_END_S: Final = 5.0
"""Seconds that a worker may take to end."""

_LAST_LINES: Final = 5


class LocalEngine(Engine):
    """Worker processes on this machine; with one worker, this process itself.

    By default it uses as many workers as there are cores, but no more than the input size
    justifies. It uses only this process if the program or notebook itself defines a source or sink
    class, since workers cannot import that.
    """

    name = "local"

    def run(self, work: Work) -> Iterator[Result]:
        worth = 1 + work.cost_bytes // BYTES_WORTH_A_WORKER if work.importable else 1
        workers = self.workers or min(available_cores(), worth)
        return read_bundles(
            map(Bundle.prepare, work.bundles),
            workers=min(workers, len(work.bundles)),
            on_progress=work.on_progress,
        )


def read_bundles(
    bundles: Iterable[Bundle],
    *,
    workers: int,
    on_progress: Callable[[Progress], None] | None = None,
) -> Iterator[Result]:
    """Read bundles on this machine, in worker processes; with one worker, in this process.

    Results come in order of completion; a bundle is taken shortly before it is given to a worker.
    Raises errors of ``Bundle.read``, and WorkerLost when a worker process is lost.
    """
    return apply(Bundle.read, bundles, workers=workers, on_progress=on_progress)


class WorkerProcess:
    """A new interpreter that applies a function to tasks; see ``harvest.worker`` for the protocol.

    It runs in its own session, so Ctrl-C does not reach it: this process decides when it ends. It
    ends by itself when this process ends, for whatever reason.

    function: a function of an importable module.
    threads: number of threads for libraries, unless the environment sets another.
    connection: readable when there is a message for ``receive``.
    output: descriptor of the worker's output, for ``show_output``; None after its end.
    """

    def __init__(self, function: Callable[..., Any], *, threads: int):
        start = _pickle((function, os.getpgrp()))
        self.connection, theirs = multiprocessing.Pipe()
        self.output: int | None
        self.output, printed = os.pipe()
        self._ready = False
        self._text = b""
        limits = {"POLARS_MAX_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
        try:
            self._process = subprocess.Popen(
                [*interpreter("harvest.worker"), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                env=limits | os.environ,
            )
        finally:
            theirs.close()
            os.close(printed)
        self._send(start)

    def give(self, task: Any) -> None:
        """Send a task to the worker, once it is ready or done with the previous one."""
        self._send(_pickle(task))

    def receive(self) -> tuple[str, Any]:
        """Return the next message: ``ready``, ``report`` with a report, or ``done`` with a result.

        Waits for it. Raises the function's exception, or HarvestError when the worker is lost.
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
        """Print the worker's output on standard error, like other remarks of the program."""
        data = os.read(self.output, 1 << 16) if self.output is not None else b""
        if not data and self.output is not None:
            os.close(self.output)
            self.output = None
        self._text += data
        if self._ready:
            self._show(whole_lines=bool(data))

    def dismiss(self) -> None:
        """Ask the worker to end, since all work is done."""
        self._send(b"")

    def wait(self) -> None:
        """Wait until the worker has ended, and print its last output."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
        self._drain()

    def end(self) -> None:
        """End the worker and its processes immediately, unless it has ended already."""
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
        # ``receive`` reports a lost worker
        with contextlib.suppress(ConnectionError):
            self.connection.send_bytes(data)

    def _loss(self) -> HarvestError:
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
        remedy = "run again: finished partitions are kept; fewer --workers need less memory"
        return WorkerLost(f"a worker process {ending(code)}", remedy=remedy)

    def _drain(self) -> None:
        """Read the remaining output, without waiting for other processes that write to it."""
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
    """Say how a process ended, as words after "it"."""
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
    """Return the command for a new interpreter that calls ``main`` of a module.

    It has the import paths of this process, and never imports the program that this process
    executes. Append the number to pass to ``main``.
    """
    paths = [path for path in sys.path if isinstance(path, str)]
    options = [option for name, option in _FLAGS.items() if getattr(sys.flags, name)]
    if sys.flags.optimize:
        options.append("-" + "O" * sys.flags.optimize)
    options += [f"-W{option}" for option in sys.warnoptions]
    return [sys.executable, *options, "-P", "-c", _PROGRAM, module, *paths]


class _Pickler(pickle.Pickler):
    """Pickler that raises UsageError for objects that a worker cannot import."""

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
"""Maximum number of tasks per worker that are taken in advance."""

_NO_MORE: Final = object()


def available_cores() -> int:
    """Return the number of cores that this process may use (affinity, limits of batch systems)."""
    affinity = getattr(os, "sched_getaffinity", None)  # macOS binds no process to cores
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def apply(
    function: Callable[[T, Callable[[P], None] | None], R],
    tasks: Iterable[T],
    *,
    workers: int,
    on_progress: Callable[[P], None] | None = None,
) -> Iterator[R]:
    """Yield results in order of completion; with at most one worker, work in this process.

    tasks: taken in order, each shortly before it is given to a worker.
    """
    if workers <= 1:
        for task in tasks:
            yield function(task, on_progress)
        return
    processes: list[WorkerProcess] = []
    try:
        threads = max(1, available_cores() // workers)
        # added one by one, so that running workers are known if the next cannot start
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
    """Return the workers that have sent a message; print output of the others."""
    channels: dict[Any, WorkerProcess] = {worker.connection: worker for worker in workers}
    outputs = {worker.output: worker for worker in workers if worker.output is not None}
    found = wait([*channels, *outputs], timeout_s)
    for channel in found:
        if channel in outputs:
            outputs[channel].show_output()
    return [channels[channel] for channel in found if channel in channels]
