"""The engine ``local``: reads in this process, or in worker processes on this machine."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from harvest.pipeline.engine import Engine, Work
from harvest.reading.bundle import Bundle, Result
from harvest.reading.task import Progress

from . import pool

BYTES_WORTH_A_WORKER: Final = 16 << 20
"""Input bytes for which one more worker is worth its start, if the user gives no number."""


class LocalEngine(Engine):
    """Worker processes on this machine; with one worker, this process itself.

    By default it uses as many workers as there are cores, but no more than the input size
    justifies. It uses only this process if the program or notebook itself defines a source or sink
    class, since workers cannot import that.
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
    """Read bundles on this machine, in worker processes; with one worker, in this process.

    Results come in order of completion; a bundle is taken shortly before it is given to a worker.
    Raises errors of ``Bundle.read``, and WorkerLost when a worker process is lost.
    """
    return pool.apply(Bundle.read, bundles, workers=workers, on_progress=on_progress)
