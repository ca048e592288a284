"""The server's process: from the options of ``harvest serve`` to one event loop, until Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import secrets
import socket
import stat
import sys
import threading
import webbrowser
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from harvest import UsageError, interrupt
from harvest.commands import remark

from .app import application
from .engine.scratch import scratch
from .guard import access, is_loopback
from .settings import Given
from .state import serve

_FILES: Final = 4096
"""Open files and connections at the same time, where the system allows so many."""

HEAD_S: Final = 10.0
"""Seconds in which the head of a request must arrive, from the connection or its first byte."""

WAITING: Final = 256
"""Connections that may wait for the head of a request; above this, the oldest one is closed."""

LEAST_TOKEN: Final = 16
"""Smallest number of characters of a token."""


def serve_datasets(
    datasets: Sequence[tuple[Path, Given]],
    *,
    host: str,
    port: int,
    names: Sequence[str],
    browser: bool,
    token_file: Path | None,
    needs_token: bool,
) -> int:
    """Serve until Ctrl-C; raises HarvestError where the server cannot start.

    A damaged or missing dataset is served, too, and shows its error until it is repaired. Where no
    dataset opens, the first one's error is raised.
    """
    token = _token(token_file) if needs_token else None
    if not needs_token and token_file is not None:
        raise UsageError("--token-file and --no-token are given", remedy="give one of them")
    if token is None and not is_loopback(host):
        raise UsageError(
            f"{host} lets others ask, and no token would be needed",
            where="--no-token",
            remedy="leave --no-token out; or leave --host out, and have the proxy ask 127.0.0.1",
        )
    with interrupt.orderly(), scratch() as directory:
        served = serve(datasets, directory)
        with listen(host, port) as listening:
            here = listening.getsockname()[1]
            name = f"[{host}]" if ":" in host else host
            # the name by which a browser on this computer reaches it
            name = "127.0.0.1" if host in ("0.0.0.0", "::") else name  # noqa: S104 - compared
            address = f"http://{name}:{here}/"
            whole = address if token is None else f"{address}?token={token}"
            print(f"serving {', '.join(each.label for each in served.values())} at {whole}")
            print("Ctrl-C ends it", flush=True)
            if browser and sys.stdout.isatty():
                threading.Thread(target=webbrowser.open, args=(whole,), daemon=True).start()
            run(application(served, access(token, host, here, names)), listening)
    remark("ended; nothing was written")
    return 0


def _token(file: Path | None) -> str:
    """Read a file's token, or make a new one; raises UsageError if others may read the file."""
    if file is None:
        return secrets.token_urlsafe(24)
    try:
        if stat.S_IMODE(file.stat().st_mode) & 0o077:
            raise UsageError(
                "others may read this token", where=str(file), remedy=f"chmod 600 {file}"
            )
        token = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the token cannot be read: {error}", where=str(file)) from error
    if len(token) < LEAST_TOKEN or not token.isascii() or not token.isprintable():
        raise UsageError(
            f"a token has at least {LEAST_TOKEN} plain characters",
            where=str(file),
            remedy="python -c 'import secrets; print(secrets.token_urlsafe())' makes one",
        )
    return token


def listen(host: str, port: int) -> socket.socket:
    """Open a socket that listens at an address; port 0 means any free port.

    Raises UsageError where the address cannot be used.
    """
    try:
        (family, kind, protocol, _, address), *_ = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(2048)
    except OSError as error:
        raise UsageError(
            f"cannot listen here: {error.strerror or error}",
            where=f"{host}:{port}",
            remedy="give another --port, or none for a free one; --host is an address of this "
            "computer",
        ) from error
    return listening


class Connection(H11Protocol):
    """A connection of uvicorn that closes when the head of a request takes too long.

    A client that sends nothing, or one byte a minute, is soon disconnected. WAITING limits them.
    """

    waiting: ClassVar[dict[Connection, asyncio.TimerHandle]] = {}
    """Connections without a complete head, the oldest first, each with the timer that closes it."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        before = self.cycle
        if self not in self.waiting and (before is None or before.response_complete):
            self._wait()
        super().data_received(data)
        if self.cycle is not before:
            self._wait_no_more()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self.waiting[self] = self.loop.call_later(HEAD_S, self._end)
        if len(self.waiting) > WAITING:
            next(iter(self.waiting))._end()

    def _wait_no_more(self) -> None:
        timer = self.waiting.pop(self, None)
        if timer is not None:
            timer.cancel()

    def _end(self) -> None:
        self._wait_no_more()
        self.transport.abort()


class _Server(uvicorn.Server):
    """uvicorn's server, which leaves signals to harvest."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def run(app: Any, listening: socket.socket) -> None:
    """Serve requests on a socket until Ctrl-C or SIGTERM, which ends it immediately."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)  # the application reports errors
    config = uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=0,
    )
    server = _Server(config)

    async def serve() -> None:
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        while not serving.done():
            if interrupt.requested():
                interrupt.forget()
                server.should_exit = server.force_exit = True
            await asyncio.wait([serving], timeout=interrupt.POLL_S)
        serving.result()

    asyncio.run(serve())
