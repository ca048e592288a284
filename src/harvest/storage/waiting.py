"""Calls that a file system may keep waiting: by threads, where it does.

A local disk answers at once, and what such calls take is the interpreter's own time, of which
threads need twice as much.  A file system on the network takes its time for each answer, and gives
many at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

THREADS: Final = 16
FIRST: Final = 256
"""Calls that show whether they wait."""

_CHUNK: Final = 64
_WAITING: Final = 5
"""Calls wait when they take so many times the CPU time that they need."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def map_waiting(function: Callable[[_Item], _Result], items: Sequence[_Item]) -> list[_Result]:
    """What a function returns for each item, in their order; raises what it raises.

    The first calls are made one after the other; where they wait, threads make all others.
    """
    start, start_cpu = time.perf_counter(), time.thread_time()
    results = [function(item) for item in items[:FIRST]]
    waits = time.perf_counter() - start > _WAITING * (time.thread_time() - start_cpu)
    rest = items[FIRST:]
    if not (waits and rest):
        return [*results, *map(function, rest)]

    def call(at: int) -> list[_Result]:
        return [function(item) for item in rest[at : at + _CHUNK]]

    with ThreadPoolExecutor(THREADS) as pool:
        for some in pool.map(call, range(0, len(rest), _CHUNK)):
            results += some
    return results
