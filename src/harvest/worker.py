"""The worker process of the engine ``local``: applies a function to the tasks it receives.

It is a new interpreter with one connection to the process that started it. These messages pass:

- to the worker: first the function, with the process group of its parent; then tasks, one
  after the other; finally an empty message, after which it ends;
- from the worker: ``("ready", None)`` when it can take tasks; for each task any number of
  ``("report", report)``, then ``("done", result)`` or ``("failed", (exception, traceback))``.

If the connection closes, the other process has ended, and the worker ends too, whatever it is
doing. The program that uses harvest (its ``__main__``) is never imported here. This module lies
outside of ``harvest.engines``, whose imports no worker needs.
"""

import os
import pickle
import queue
import signal
import threading
import traceback
from multiprocessing.connection import Connection
from typing import Any

from harvest import fault
from harvest.errors import HarvestError


def main(descriptor: int) -> None:
    """Work until an empty message arrives."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles interrupts
    connection = Connection(descriptor)
    messages: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, messages), daemon=True).start()
    lock = threading.Lock()

    def send(message: str, content: Any) -> None:
        with lock:  # reports may come from any thread
            connection.send((message, content))

    try:
        function, group = _load(messages.get())
        fault.strike_group(group)
        send("ready", None)
        while data := messages.get():
            send("done", function(_load(data), lambda report: send("report", report)))
    except BaseException as error:  # noqa: BLE001 - raised again in the parent process
        send("failed", _picklable(error))
        messages.get()


def _receive(connection: Connection, messages: queue.SimpleQueue[bytes]) -> None:
    """Receive messages immediately, so that the end of the other process is noticed."""
    while True:
        try:
            messages.put(connection.recv_bytes())
        except (EOFError, OSError):
            # also ends processes that were started from here
            os.killpg(0, signal.SIGKILL)


def _load(data: bytes) -> Any:
    try:
        return pickle.loads(data)  # noqa: S301 - from the process that started this one
    except Exception as error:
        raise HarvestError(
            f"a worker process cannot load what it is to work on: {type(error).__name__}: {error}",
            remedy="what a source or sink is made of must be importable by name; or give "
            "--workers 1",
        ) from error


def _picklable(error: BaseException) -> tuple[BaseException, str]:
    """Return an exception and its traceback; only its text if it is not plain and picklable."""
    lines = "".join(traceback.format_exception(error))
    try:
        if not isinstance(error, Exception):
            raise TypeError
        pickle.loads(pickle.dumps(error))  # noqa: S301 - made here
    except Exception:  # noqa: BLE001 - a class of a plugin may raise anything
        error = RuntimeError(f"{type(error).__name__}: {error}")
    return error, lines
