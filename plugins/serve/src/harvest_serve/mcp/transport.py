"""The tools over standard input and output, and over HTTP at ``/mcp`` behind the same guard.

The slow ``mcp`` package is optional, and imported when it is needed.
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harvest import interrupt
from harvest_serve.engine.scratch import scratch
from harvest_serve.guard import BODY_BYTES
from harvest_serve.problems import NotFound
from harvest_serve.settings import Given
from harvest_serve.state import Served, serve
from harvest_serve.work import Turns, in_thread

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send


def _check_installed(where: str | None = None) -> None:
    """Raise NotFound where the package of the protocol is not installed."""
    if importlib.util.find_spec("mcp") is None:
        raise NotFound(
            "the Model Context Protocol needs the package mcp, which is not installed",
            where=where,
            remedy="pip install 'hpc-harvest-serve[mcp]'",
        )


def serve_mcp(datasets: Sequence[tuple[Path, Given]]) -> int:
    """Answer until standard input ends, or Ctrl-C; raises HarvestError where it cannot start."""
    _check_installed()
    with interrupt.orderly(), scratch() as directory:
        served = serve(datasets, directory)
        from .server import server

        made = server(served, Turns())
        # it blocks on its input, and signals do not reach it
        answering = in_thread(lambda: asyncio.run(made.run_stdio_async()))
        while not answering.done() and not interrupt.requested():
            wait([answering], interrupt.POLL_S)
        interrupt.forget()
        if answering.done():
            answering.result()
    return 0


class Program:
    """The tools over HTTP, without sessions."""

    def __init__(self, served: Mapping[str, Served], turns: Turns) -> None:
        self._served = served
        self._turns = turns
        self._manager: Callable[[], Any] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; raises NotFound where ``mcp`` is not installed."""
        _check_installed("/mcp")
        if self._manager is None:
            self._manager = await asyncio.to_thread(self._make)
        manager = self._manager()
        async with manager.run():
            # its task group would wrap an error
            answering = manager.handle_request(scope, receive, send)
            failed = await asyncio.gather(answering, return_exceptions=True)
        for error in filter(None, failed):
            raise error

    def _make(self) -> Callable[[], Any]:
        """Return a function that makes what answers one request."""
        from mcp.server.transport_security import TransportSecuritySettings

        from .server import server

        made = server(self._served, self._turns)

        def manager() -> Any:
            made.streamable_http_app(
                json_response=True,
                stateless_http=True,
                max_request_body_size=BODY_BYTES,
                # the guard has already checked Host
                transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            )
            return made.session_manager

        return manager
