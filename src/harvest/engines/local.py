"""The engine ``local``: this process, or worker processes on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from harvest.api.engine import Engine, Work

from . import pool

if TYPE_CHECKING:
    from harvest.storage.staging import Staged

__all__ = ["LocalEngine"]

BYTES_WORTH_A_WORKER: Final = 16 << 20
"""Input for which starting one more process pays, when the user names no number."""


class LocalEngine(Engine):
    """Worker processes on this machine; with one worker, this process itself.

    Without a number of workers it takes as many as there are cores, but no more than the input
    is large enough for; and this process alone for classes that the program or notebook defines
    itself, which no other could import.
    """

    name = "local"

    def run(self, work: Work) -> Iterator[tuple[tuple[Staged, ...], ...]]:
        """Results as they are done; see :class:`harvest.api.engine.Engine`."""
        worth = 1 + work.cost_bytes // BYTES_WORTH_A_WORKER
        if any(type(item).__module__ == "__main__" for item in (*work.sources, *work.sinks)):
            worth = 1  # no worker could import it
        workers = self.workers or min(pool.available_cores(), worth)
        return pool.apply(
            work.read,
            work.prepared(),
            workers=min(workers, len(work.bundles)),
            on_progress=work.on_progress,
        )
