"""Queries with a user's text: each runs in its own process, which can be killed.

DuckDB does not count all memory of a query, and cannot be interrupted everywhere. Its crash would
end the server.
"""

import contextlib
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.ipc

from harvest import HarvestError
from harvest.model.frames import DUCKDB_ONLY
from harvest_serve.problems import Refused
from harvest_serve.work import Left, is_stopped, stopping

TIME_S: Final = 30.0
"""Seconds that one query may take; ``work`` may end it sooner."""

AT_ONCE: Final = 4
"""Queries at the same time; two of them may be downloads."""


class Nursery:
    """The process that forks a process for each query; started on first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._turns = threading.BoundedSemaphore(AT_ONCE)

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a turn, unless the client leaves, and hold it inside this context."""
        while not self._turns.acquire(timeout=0.1):
            if is_stopped():
                raise Left
        try:
            yield
        finally:
            self._turns.release()

    def child(self) -> socket.socket:
        """Return a socket to a new process, which ends when the socket is closed."""
        ours, theirs = socket.socketpair()
        with theirs, self._lock:
            for _ in range(2):
                try:
                    socket.send_fds(self._start(), [b"q"], [theirs.fileno()])
                except OSError:  # the nursery was killed
                    self._close()
                else:
                    return ours
        ours.close()
        raise HarvestError("the process that answers SQL does not start")

    def _start(self) -> socket.socket:
        if self._control is None:
            self._control, theirs = socket.socketpair()
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "harvest_serve.engine.nursery", str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,  # Ctrl-C must reach only the server
                )
        return self._control

    def _close(self) -> None:
        if self._control is not None and self._process is not None:
            self._control.close()  # the nursery ends
            self._process.wait()
        self._control = self._process = None


_nursery: Final = Nursery()


class Apart:
    """DuckDB in a separate process for each query; see ``guarded.open_engine``."""

    def __init__(
        self, config: Mapping[str, Any], setup: Sequence[str], failed: Callable[..., Exception]
    ) -> None:
        self._asked = {"config": dict(config), "setup": list(setup), "refused": DUCKDB_ONLY.pattern}
        self._failed = failed

    def table(self, sql: str, values: Sequence[Any] = ()) -> pa.Table:
        """Return the whole result of a query."""
        return pa.Table.from_batches(list(self.batches(sql, values)))

    def batches(
        self, sql: str, values: Sequence[Any] = (), time_s: float = TIME_S
    ) -> Iterator[pa.RecordBatch]:
        """Yield the result of a query in batches; little more is computed than is consumed.

        time_s: seconds for the query and for the consumer of its rows.
        """
        return self._batches({**self._asked, "sql": sql, "values": list(values), "time_s": time_s})

    def parse(self, text: str) -> tuple[list[str], str | None]:
        """Return the types of a text's statements, and as JSON the tree of a single SELECT."""
        (found,) = self._batches({**self._asked, "parse": text, "time_s": TIME_S})
        return found["kinds"][0].as_py(), found["tree"][0].as_py()

    def _batches(self, asked: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
        with _nursery.turn(), _nursery.child() as talk:

            def stop() -> None:
                with contextlib.suppress(OSError):  # already closed
                    talk.shutdown(socket.SHUT_RDWR)

            with stopping(stop), talk.makefile("rb") as answers:
                try:
                    talk.sendall(f"{json.dumps(asked)}\n".encode())
                    mark = answers.read(1)
                    if mark == b"A":
                        yield from pa.ipc.open_stream(answers)
                        mark = answers.read(1)
                    said = json.loads(answers.readline() if mark == b"E" else b"")
                except (OSError, ValueError) as error:
                    if is_stopped():
                        raise Left from error
                    raise Refused(
                        f"this needs more time than {asked['time_s']:g} s, or more memory than one "
                        "question may take",
                        remedy="ask for less: fewer rows, fewer columns, a coarser grouping",
                    ) from error
        if said:
            raise self._failed(said["kind"], said["text"])
