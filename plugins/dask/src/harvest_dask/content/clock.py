"""How far a process's clock is from the scheduler's.

Of several questions the one with the shortest round trip says most: the scheduler's answer lies
somewhere within it, so the offset is known to half of that.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Final

from ..write.queues import Payload

__all__ = ["REPEAT_S", "Offset", "clock_frame", "measure"]

ROUNDS: Final = 7
REPEAT_S: Final = 60.0
"""Clocks drift, so a process measures again."""

Offset = tuple[float, float]
"""Seconds to add to this process's times to get the scheduler's, and the round trip."""


async def measure(ask: Callable[[], Awaitable[float]]) -> Offset:
    """Ask the scheduler for its time."""
    best: Offset | None = None
    for _ in range(ROUNDS):
        sent, began = time.time(), time.perf_counter()
        theirs = await ask()
        trip = time.perf_counter() - began
        if best is None or trip < best[1]:
            best = theirs - (sent + trip / 2), trip
    assert best is not None
    return best


def clock_frame(offset: Offset) -> Payload:
    """The frame of a newer measurement."""
    return {"kind": "clock", "time": time.time(), "offset_s": offset[0], "round_trip_s": offset[1]}
