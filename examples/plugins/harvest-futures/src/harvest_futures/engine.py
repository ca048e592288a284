"""The engine ``futures``: worker processes of concurrent.futures on this machine."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import Any

import attrs

import harvest
from harvest import interrupt
from harvest.engines import available_cores

AHEAD = 2
"""Bundles given out for each worker: one in hand, one waiting."""

SPAWN = multiprocessing.get_context("spawn")

_reports: Any = None
"""In a worker: takes what it reports."""


@attrs.frozen(kw_only=True)
class FuturesConfig:
    """Settings of the engine ``futures``."""

    retries: int = attrs.field(
        default=3,
        metadata={"doc": "How often workers that are lost one after the other are replaced."},
    )


class FuturesEngine(harvest.Engine):
    """Worker processes of concurrent.futures; what a lost one had in hand is given out again."""

    name = "futures"
    Config = FuturesConfig

    def run(self, work: harvest.Work) -> Iterator[harvest.Result]:
        """Results as they are done."""
        bundles = map(harvest.Bundle.prepare, work.bundles)
        if not work.importable:
            yield from (bundle.read(work.on_progress) for bundle in bundles)
            return
        workers = self.workers or available_cores()
        again: list[harvest.Bundle] = []
        lost = 0
        while True:
            pool = _Pool(workers, work, again)
            try:
                for result in pool.results(bundles):
                    lost = 0
                    yield result
                return
            except BrokenProcessPool as error:
                lost += 1
                again = [*pool.given.values(), *pool.waiting]
                if lost > self.config.retries:
                    raise harvest.HarvestError(
                        f"workers were lost again and again: {error}",
                        where=again[0].origins[0],
                        remedy="run again: finished partitions are kept",
                    ) from error
            finally:
                pool.end()


class _Pool:
    """Workers that live until one is lost.

    given: what they have in hand, and what they have not yet begun; waiting: what they get next,
    which is ``again`` at first.
    """

    def __init__(self, workers: int, work: harvest.Work, again: Iterable[harvest.Bundle]):
        self.ahead = AHEAD * workers
        self.on_progress = work.on_progress
        self.given: dict[Future[harvest.Result], harvest.Bundle] = {}
        self.waiting = deque(again)
        self.reports = SPAWN.SimpleQueue()
        self.others = set(multiprocessing.active_children())
        self.pool = ProcessPoolExecutor(workers, SPAWN, _begin, (self.reports,))

    def results(self, bundles: Iterator[harvest.Bundle]) -> Iterator[harvest.Result]:
        """Results as they are done; raises BrokenProcessPool when a worker is lost."""
        while True:
            room = self.ahead - len(self.given) - len(self.waiting)
            self.waiting.extend(islice(bundles, room))
            while self.waiting:
                future = self.pool.submit(_read, self.waiting[0])  # it raises, too
                self.given[future] = self.waiting.popleft()
            if not self.given:
                return
            done, _ = wait(self.given, interrupt.POLL_S, FIRST_COMPLETED)
            interrupt.check()
            self._report()
            for future in done:
                result = future.result()
                del self.given[future]
                yield result

    def _report(self) -> None:
        while not self.reports.empty():
            progress = self.reports.get()
            if self.on_progress is not None:
                self.on_progress(progress)

    def end(self) -> None:
        """Stop the workers, whatever they do."""
        for worker in set(multiprocessing.active_children()) - self.others:
            worker.kill()
        self.pool.shutdown(cancel_futures=True)


def _begin(reports: Any) -> None:  # in a worker
    global _reports
    _reports = reports
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interruption is the run's to notice
    threading.Thread(target=_end_with_the_run, daemon=True).start()


def _end_with_the_run() -> None:  # in a worker, which nobody stops where the run is killed
    if (run := multiprocessing.parent_process()) is not None:
        run.join()
        os.kill(os.getpid(), signal.SIGKILL)


def _read(bundle: harvest.Bundle) -> harvest.Result:  # in a worker
    return bundle.read(_reports.put)
