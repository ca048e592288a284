"""Workers of a Dask cluster on this machine, each a plain interpreter.

Dask itself starts workers by multiprocessing, which executes the user's program again in each of
them. Here a new interpreter (``main``) runs Dask's nanny, which keeps one worker alive. A
connection to the parent process carries the settings and, once the worker runs, an answer. The
interpreter ends when the connection closes for any reason.
"""

import asyncio
import contextlib
import importlib
import logging
import multiprocessing
import signal
import subprocess
from collections.abc import Iterator, Mapping
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Any, Final

from harvest import interrupt
from harvest.engines import ending, interpreter
from harvest.errors import HarvestError

_END_S: Final = 10.0
"""Maximum seconds that a worker may take to end."""


@contextlib.contextmanager
def local_workers(
    count: int, scheduler: str, security: Any, config: Mapping[str, Any], **options: Any
) -> Iterator[None]:
    """Start workers of a scheduler and wait until they run; stop them when the block ends.

    security: Dask's, None for connections that are not encrypted; config: Dask's.
    options: of Dask's nanny.
    Raises HarvestError if a worker cannot start.
    """
    # a worker's certificates, by their names in Dask's Security
    names = ("tls_ca_file", "tls_worker_cert", "tls_worker_key") if security is not None else ()
    given = {name: getattr(security, name) for name in names}
    message = (scheduler, given, dict(config), options)
    workers: list[_Worker] = []
    try:
        # one by one, so that started workers are stopped if a later one cannot start
        workers.extend(_Worker() for _ in range(count))
        for worker in workers:
            with contextlib.suppress(ConnectionError):  # wait_until_ready reports a lost worker
                worker.connection.send(message)
        for worker in workers:
            worker.wait_until_ready()
        yield
    finally:
        for worker in workers:
            worker.connection.close()
        for worker in workers:
            worker.end()


class _Worker:
    """A worker, as the parent process sees it."""

    def __init__(self) -> None:
        self.connection, theirs = multiprocessing.Pipe()
        # the worker is in this process group, but must not receive Ctrl-C
        with theirs, interrupt.kept_here():
            self.process = subprocess.Popen(
                [*interpreter("harvest_cluster.dask.local_worker"), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )

    def wait_until_ready(self) -> None:
        try:
            self.connection.recv()
        except (EOFError, ConnectionError):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_END_S)
            raise HarvestError(
                f"a worker of the Dask cluster could not start: it {ending(self.process.poll())}",
                remedy="fix what it printed",
            ) from None

    def end(self) -> None:
        try:
            self.process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()  # its child processes end with it
            self.process.wait()


def main(descriptor: int) -> None:
    """Run a worker until the connection closes.

    descriptor: file descriptor of the connection.
    """
    # block Ctrl-C after starting the tracker of multiprocessing, which the nanny uses: its start
    # unblocks the signal; ignoring it is not enough, since polars handles it while it computes
    resource_tracker.ensure_running()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    connection = Connection(descriptor)
    scheduler, security, config, options = connection.recv()
    dask, distributed = map(importlib.import_module, ("dask", "distributed"))
    dask.config.set(config)
    # the parent process raises the errors of a worker, and its end needs no report
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    if security:
        options["security"] = distributed.Security(require_encryption=True, **security)

    async def work() -> None:
        closed = asyncio.Event()
        async with distributed.Nanny(scheduler, **options):
            connection.send("ready")
            asyncio.get_running_loop().add_reader(connection.fileno(), closed.set)
            await closed.wait()

    asyncio.run(work())
