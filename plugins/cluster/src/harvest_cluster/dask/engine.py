"""The engine ``dask``: units of work as tasks of a Dask cluster.

A unit is several bundles, so that very many inputs do not become as many tasks. Units are built and
submitted only as fast as the cluster can use them. Units of a lost worker are submitted again;
partitions that it had staged are not read again. Each attempt stages separately, and one rename
puts the first complete one in place, so a worker wrongly thought lost does no harm.
"""

import contextlib
import queue
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from operator import attrgetter
from typing import Any, Final

import attrs

from harvest import Bundle, Engine, Result, Work, interrupt
from harvest.engines import Progress, Terms
from harvest.errors import HarvestError
from harvest_cluster import in_units

from .cluster import DaskConfig, connect, library

LOOK_EVERY_S = 1.0
"""Seconds between queries for the number of workers."""

AHEAD = 2
"""Units submitted for each thread of the cluster: one running, one waiting."""

UNIT_BYTES: Final = 16 << 20
"""Minimum cost of a unit while much work is left: about half a second."""

UNITS: Final = 10_000
"""Maximum number of units of a run, not counting the small ones at its end."""

SHARES: Final = 4
"""Units per thread that the remaining work is divided into: units get smaller towards the end, so
that all threads have work until the end."""


class DaskEngine(Engine):
    """Workers of a Dask cluster: a running one, one on this machine, or one in Slurm jobs."""

    name = "dask"
    Config = DaskConfig

    def run(self, work: Work) -> Iterator[Result]:
        """Yield results as they complete; see :class:`harvest.Engine`.

        If the iterator is closed early on an existing cluster, partitions that are being read are
        completed; the next run uses their staged parts.
        """
        wanted = self.workers and min(self.workers, len(work.bundles))
        with connect(self.config, wanted, work.cost_bytes) as client, work.remote() as remote:
            tasks = ClusterTasks(
                client, self.config, Bundle.read, work.on_progress, remote.terms, _origin
            )
            given = units(remote.bundles, work.cost_bytes, lambda: tasks.threads)
            yield from tasks.results(map(Bundle.prepare, given))


def units(bundles: Iterable[Bundle], total: int, threads: Callable[[], int]) -> Iterator[Bundle]:
    """Join bundles into the units to submit.

    total: cost of all bundles; threads: returns the current number of the cluster's threads.
    """
    most = max(UNIT_BYTES, -(-total // UNITS))
    left = total

    def goal() -> int:
        return min(most, left // (SHARES * max(1, threads())))

    for together in in_units(bundles, attrgetter("cost_bytes"), goal):
        unit = Bundle.join(together)
        left -= unit.cost_bytes
        yield unit


def _origin(unit: Bundle) -> str:
    origin, others = unit.origins[0], len(unit) - 1
    return f"{origin}, or one of the {others} behind it" if others else origin


@attrs.define(eq=False)
class ClusterTasks:
    """Applies a function to tasks on a cluster.

    terms: conditions that each worker must meet; origin: returns a task's name for errors.
    given: tasks in work, each with the number of times that its workers were lost.
    """

    client: Any
    config: DaskConfig
    function: Callable[..., Any]
    on_progress: Callable[[Progress], None] | None = None
    terms: Terms | None = None
    origin: Callable[[Any], str] = str
    given: dict[Any, tuple[Any, int]] = attrs.field(factory=dict, init=False)
    done: queue.SimpleQueue[Any] = attrs.field(factory=queue.SimpleQueue, init=False)
    threads: int = attrs.field(default=0, init=False)
    looked: float = attrs.field(factory=time.monotonic, init=False)
    seen: float = attrs.field(factory=time.monotonic, init=False)
    topic: str | None = attrs.field(default=None, init=False)

    def results(self, tasks: Iterable[Any]) -> Iterator[Any]:
        """Yield results as they complete; raises the error of a task."""
        if (report := self.on_progress) is not None:
            self.topic = f"harvest-{secrets.token_hex(8)}"
            self.client.subscribe_topic(self.topic, lambda event: report(Progress(*event[1])))
        try:
            self._first_worker()
            for task in tasks:
                self._give(task, lost=0)
                while len(self.given) >= max(1, AHEAD * self.threads):
                    yield from self._next()
            while self.given:
                yield from self._next()
        finally:
            self._stop()

    def _stop(self) -> None:
        if self.topic is not None and self.client.status == "running":
            self.client.unsubscribe_topic(self.topic)
        if self.given and self.client.status == "running":
            self.client.cancel(list(self.given), asynchronous=False)
        self.given.clear()

    def _give(self, task: Any, *, lost: int) -> None:
        key, work = f"harvest-{secrets.token_hex(12)}", (self.function, task, self.topic)
        future = self.client.submit(_attempt, *work, key=key, pure=False)
        self.given[future] = (task, lost)
        future.add_done_callback(self.done.put)

    def _next(self) -> Iterator[Any]:
        """Wait briefly for a task to end; yield its result, or handle its error."""
        interrupt.check()
        future = None
        with contextlib.suppress(queue.Empty):
            future = self.done.get(timeout=interrupt.POLL_S)
        if time.monotonic() - self.looked >= LOOK_EVERY_S:
            self._look()
        if future is None:
            return
        task, lost = self.given.pop(future)
        status = future.status
        if status == "finished":
            try:
                with self._connection():
                    result = future.result()
            except library("distributed").KilledWorker as error:  # lost before it was fetched
                self._handle_error(task, lost, error)
            else:
                yield result
        elif status == "error":
            self._handle_error(task, lost, future.exception())
        elif status == "lost":  # it finished, but the worker that held its result is gone
            with self._connection():
                self._give(task, lost=lost)
        else:
            with self._connection():
                self._give_again(task, lost, f"the scheduler dropped it ({status})")
        future.release()

    def _handle_error(self, task: Any, lost: int, error: BaseException) -> None:
        if isinstance(error, RuntimeError) and isinstance(error.__cause__, ImportError):
            raise Terms.refusal("a worker", [str(error.__cause__)]) from error
        if not isinstance(error, library("distributed").KilledWorker):
            raise error
        self._give_again(task, lost, str(error).partition(". ")[0])

    def _give_again(self, task: Any, lost: int, reason: str) -> None:
        if lost >= self.config.retries:
            raise HarvestError(
                f"its workers were lost repeatedly: {reason}",
                where=self.origin(task),
                remedy="run again: finished partitions are kept; give workers more memory "
                "(fewer threads or processes on a node), or look at their logs",
            )
        self._give(task, lost=lost + 1)

    def _first_worker(self) -> None:
        """Wait for the first worker, and check the terms of all connected workers."""
        while not self.threads:
            self._look()
            if not self.threads:
                interrupt.sleep(0.05)
        if self.terms is None:
            return
        try:
            found = self.client.run(self.terms.problems, on_error="return")
        except OSError:  # workers left during the query: each is checked at its first task
            return
        for worker, problems in found.items():
            if isinstance(problems, BaseException):
                problems = [f"{type(problems).__name__}: {problems}"]
            if problems:
                raise Terms.refusal(f"the worker {worker}", problems)

    def _look(self) -> None:
        """Count the cluster's threads; raises HarvestError if there are none for too long."""
        self.looked = time.monotonic()
        with self._connection():
            self.threads = sum(self.client.nthreads().values())
        if self.threads:
            self.seen = self.looked
        elif self.looked - self.seen > self.config.timeout and (
            # Slurm jobs may wait long before they start
            self.config.existing or self.config.cluster != "slurm"
        ):
            raise HarvestError(
                f"the Dask cluster has had no worker for {self.config.timeout:.0f} s",
                remedy="start workers, or raise dask.timeout; finished partitions are kept",
            )

    @contextlib.contextmanager
    def _connection(self) -> Iterator[None]:
        """Report a lost connection to the scheduler; not for calls that raise task errors."""
        try:
            if self.client.status not in ("running", "connecting"):
                raise ConnectionError(self.client.status)
            yield
        except (OSError, CancelledError) as error:
            problem = "the connection to the Dask scheduler is lost"
            remedy = "run again: finished partitions are kept"
            raise HarvestError(problem, remedy=remedy) from error


def _attempt(function: Callable[..., Any], task: Any, topic: str | None) -> Any:  # in a worker
    if topic is None:
        return function(task, None)
    worker = library("distributed").get_worker()
    return function(task, lambda progress: worker.log_event(topic, attrs.astuple(progress)))
