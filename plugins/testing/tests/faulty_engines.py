"""Engines with the faults that authors make, each beside the promise that it breaks."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator

import attrs

import harvest
from harvest.engines.local import LocalEngine
from harvest.errors import HarvestError, WorkerLost


class Forgetful(LocalEngine):
    """Loses the last result."""

    name = "forgetful"

    def run(self, work: harvest.Work) -> Iterator[harvest.Result]:
        results = list(super().run(work))
        yield from results[:-1]


class Carefree(LocalEngine):
    """Goes on where a worker was lost, without what it had in hand."""

    name = "carefree"

    def run(self, work: harvest.Work) -> Iterator[harvest.Result]:
        try:
            yield from super().run(work)
        except WorkerLost:
            return


class Patient(harvest.Engine):
    """Waits for ever for a worker that is lost."""

    name = "patient"

    def run(self, work: harvest.Work) -> Iterator[harvest.Result]:
        context = multiprocessing.get_context("spawn")
        with context.Pool(2) as pool:
            for bundle in work.bundles:
                yield pool.apply(harvest.Bundle.read, (bundle.prepare(),))


class Deaf(harvest.Engine):
    """Hears of no interruption, and leaves its workers behind."""

    name = "deaf"

    def run(self, work: harvest.Work) -> Iterator[harvest.Result]:
        context = multiprocessing.get_context("spawn")
        for bundle in work.bundles:
            results = context.SimpleQueue()
            worker = context.Process(target=_put, args=(bundle, results))
            worker.start()
            while results.empty():
                time.sleep(0.1)
            yield results.get()


def _put(bundle: harvest.Bundle, results: multiprocessing.SimpleQueue) -> None:
    results.put(bundle.read())


class Silent(LocalEngine):
    """Reports no progress."""

    name = "silent"

    def run(self, work: harvest.Work) -> Iterator[harvest.Result]:
        return super().run(attrs.evolve(work, on_progress=None))


class Wordy(LocalEngine):
    """Has errors of its own for what stops a bundle."""

    name = "wordy"

    def run(self, work: harvest.Work) -> Iterator[harvest.Result]:
        try:
            yield from super().run(work)
        except HarvestError as error:
            raise HarvestError(f"a worker failed: {error}") from error


class Greedy(LocalEngine):
    """Begins a worker for each core of the machine, whatever the process may use."""

    name = "greedy"

    def run(self, work: harvest.Work) -> Iterator[harvest.Result]:
        self.workers = self.workers or os.cpu_count()
        return super().run(work)


class Central(LocalEngine):
    """Runs in the main thread alone, where signal handlers can be set."""

    name = "central"

    def run(self, work: harvest.Work) -> Iterator[harvest.Result]:
        signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))
        return super().run(work)


class Ruthless(LocalEngine):
    """Kills all child processes at the end, whosever they are."""

    name = "ruthless"

    def run(self, work: harvest.Work) -> Iterator[harvest.Result]:
        yield from super().run(work)
        for child in multiprocessing.active_children():
            child.kill()
            child.join()


FAULTS = [
    (Forgetful, "test_the_dataset_is_that_of_the_engine_local", "gave no result for"),
    (Carefree, "test_a_lost_worker_costs_no_row", "gave no result for"),
    (Patient, "test_a_lost_worker_costs_no_row", "the run never ends"),
    (Deaf, "test_an_interrupted_run_ends_and_the_next_goes_on", "and left"),
    (Silent, "test_progress_is_reported", "no row was reported"),
    (Greedy, "test_bundles_are_prepared_in_order_and_read_once", "5 processes are begun"),
    (Central, "test_runs_are_independent", "signal only works in main thread"),
    (Ruthless, "test_runs_are_independent", "child processes"),
    (Wordy, "test_what_stops_a_bundle_stops_the_run", "a worker failed"),
]
