"""Connections that send nothing, or one byte a minute: they end soon, and there are few of them."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S: Final = 10.0
"""How long the head of a request may take to come, once the connection is there or it began."""

WAITING: Final = 256
"""Connections that may wait for the head of a request; beyond, the oldest of them ends."""


class Connection(H11Protocol):
    """uvicorn's connection that does not wait for ever."""

    waiting: ClassVar[dict[Connection, asyncio.TimerHandle]] = {}
    """Those of which no whole head has come, the oldest first, each with its end."""

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
