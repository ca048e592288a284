"""The tools over HTTP at ``/mcp``, without sessions, behind the same guard."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from starlette.routing import Route

from harvest_serve.guard import BODY_BYTES
from harvest_serve.state import Served
from harvest_serve.work import Turns

from . import check_installed

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send


class Program:
    """The tools over HTTP; the first request imports the slow ``mcp`` package."""

    def __init__(self, served: Mapping[str, Served], turns: Turns) -> None:
        self._served = served
        self._turns = turns
        self._wanted = asyncio.Event()
        self._ready = asyncio.Event()
        self._manager: Any = None
        # POST only: a request has one answer, not a stream
        self.routes = [Route("/mcp", self, methods=["POST"])]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; raises NotFound where ``mcp`` is not installed."""
        check_installed("/mcp")
        self._wanted.set()
        await self._ready.wait()
        await self._manager.handle_request(scope, receive, send)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answer requests inside this context."""
        task = asyncio.create_task(self._run())
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _run(self) -> None:
        await self._wanted.wait()
        self._manager = await asyncio.to_thread(self._make)
        async with self._manager.run():
            self._ready.set()
            await asyncio.Event().wait()

    def _make(self) -> Any:
        from mcp.server.transport_security import TransportSecuritySettings

        from .server import server

        made = server(self._served, self._turns)
        made.streamable_http_app(
            json_response=True,
            stateless_http=True,
            max_request_body_size=BODY_BYTES,
            # the guard has already checked Host
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        return made.session_manager
