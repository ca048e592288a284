"""The engine planted-threads: threads of this process, with few bundles in hand."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice

import harvest
from harvest import interrupt
from harvest.engines import available_cores


class ThreadsEngine(harvest.Engine):
    """Threads of this process."""

    name = "planted-threads"

    def run(self, work: harvest.Work) -> Iterator[harvest.Result]:
        """Results as they are done."""
        workers = self.workers or available_cores()
        bundles = iter(work.bundles)
        given: set[Future[harvest.Result]] = set()
        pool = ThreadPoolExecutor(workers)
        try:
            while True:
                for bundle in islice(bundles, 2 * workers - len(given)):
                    given.add(pool.submit(bundle.prepare().read, work.on_progress))
                if not given:
                    return
                done, given = wait(given, 0.2, FIRST_COMPLETED)
                interrupt.check()
                for future in done:
                    yield future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


@harvest.hookimpl
def harvest_engines() -> list[harvest.EngineSpec]:
    """The engine."""
    return [harvest.EngineSpec(name="planted-threads", doc="Threads.", factory=ThreadsEngine)]
