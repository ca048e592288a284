"""The engine ``local``: this process, or worker processes on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from harvest.pipeline.engine import Engine, Work
from harvest.reading.bundle import Bundle, Result
from harvest.reading.task import Progress

from . import pool

BYTES_WORTH_A_WORKER: Final = 16 << 20
"""Input for which starting one more process pays, when the user names no number."""


class LocalEngine(Engine):
    """Worker processes on this machine; with one worker, this process itself.

    Without a number of workers it takes as many as there are cores, but no more than the input
    is large enough for; and this process alone for classes that the program or notebook defines
    itself, which no other could import.
    """

    name = "local"

    def run(self, work: Work) -> Iterator[Result]:
        worth = 1 + work.cost_bytes // BYTES_WORTH_A_WORKER if work.importable else 1
        workers = self.workers or min(pool.available_cores(), worth)
        return read_bundles(
            map(Bundle.prepare, work.bundles),
            workers=min(workers, len(work.bundles)),
            on_progress=work.on_progress,
        )


def read_bundles(
    bundles: Iterable[Bundle],
    *,
    workers: int,
    on_progress: Callable[[Progress], None] | None = None,
) -> Iterator[Result]:
    """Read bundles on this machine, by worker processes; with one worker, by this process itself.

    Results come as they are done; each bundle is taken when it can soon be given out.
    Raises what ``Bundle.read`` raises, and WorkerLost when a worker process is lost.
    """
    return pool.apply(Bundle.read, bundles, workers=workers, on_progress=on_progress)
