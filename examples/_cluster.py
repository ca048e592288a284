"""A tiny Dask cluster, simulated: what its scheduler and workers would tell the coupler.

Events happen at simulated times, in order, from one seeded stream of random numbers; nothing here
depends on the machine or the clock.  The rules are those of Dask in small: a worker fetches what a
task needs from where it lies, results are released when nothing needs them any more, root tasks
queue when all threads are taken.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Task:
    """A task of a graph: what it needs, how long it runs, how big its result is."""

    key: Any
    needs: list[Any] = field(default_factory=list)
    seconds: float = 0.1
    size: int = 1000
    fails: bool = False
    secedes: bool = False
    requested: bool = False

    @property
    def group(self) -> str:
        """Dask's name of the collection that the task is of."""
        name = self.key[0] if isinstance(self.key, tuple) else self.key
        head, dash, token = name.rpartition("-")
        if isinstance(self.key, tuple):
            return str(name)
        return head if dash and len(token) == 32 else str(name)

    @property
    def prefix(self) -> str:
        """Dask's name of the kind of task."""
        name = self.key[0] if isinstance(self.key, tuple) else self.key
        return str(name).rpartition("-")[0] or str(name)


class Worker:
    """A worker: its threads, what it holds, and what it tells."""

    def __init__(self, cluster: Cluster, address: str, threads: list[int], skew: float):
        self.cluster = cluster
        self.address = address
        self.free_threads = threads
        self.skew = skew
        self.held: dict[Any, int] = {}
        self.waiting: dict[Any, set[Any]] = {}
        self.flying: set[Any] = set()
        self.failed: set[Any] = set()
        self.ready: list[Task] = []
        self.load = 0
        self.incoming: list[dict[str, Any]] = []
        self.outgoing: list[dict[str, Any]] = []
        self.told = {"incoming": 0, "outgoing": 0}
        self.last = 0.0

    def tell(self, key: Any, start: str, finish: str) -> None:
        """Report a transition, and with it new transfers, the way the coupler's plugin does."""
        now = self.last = max(self.cluster.now, self.last + 4e-5)
        row = {"key": str(key), "start": start, "finish": finish}
        self.cluster.worker_transitions.append(
            {**row, "called_from": self.address, "time": now + self.cluster.jitter(2e-5)}
        )
        for kind, log in (("incoming", self.incoming), ("outgoing", self.outgoing)):
            known = self.told[kind]
            if len(log) > known:
                # the plugin slices from one entry too early: it sends its last one again
                for entry in log[known - 1 :]:
                    told = {"type": f"{kind}_transfer", "called_from": self.address}
                    sent = now + self.cluster.jitter(9e-5)
                    self.cluster.transfers.append({**entry, **told, "time": sent})
                self.told[kind] = len(log)

    def receive(self, task: Task) -> None:
        """Take a task from the scheduler and fetch what it needs."""
        self.tell(task.key, "released", "waiting")
        missing = [key for key in task.needs if key not in self.held]
        self.waiting[task.key] = set(missing)
        for key in missing:
            if key not in self.flying:
                self.tell(key, "released", "fetch")
        by_holder: dict[str, list[Any]] = {}
        for key in missing:
            if key not in self.flying:
                holder = self.cluster.holder(key, self)
                by_holder.setdefault(holder.address, []).append(key)
        for address, keys in sorted(by_holder.items()):
            for key in keys:
                self.tell(key, "fetch", "flight")
                self.flying.add(key)
            self.cluster.move(self.cluster.workers[address], self, keys)
        self.proceed(task)

    def proceed(self, task: Task) -> None:
        """Make a task ready when all it needs is here."""
        if task.key in self.waiting and not self.waiting[task.key]:
            del self.waiting[task.key]
            self.tell(task.key, "waiting", "ready")
            self.ready.append(task)
            self.run()

    def arrived(self, keys: list[Any]) -> None:
        """Take in fetched data."""
        for key in keys:
            self.flying.discard(key)
            self.held[key] = self.cluster.tasks[key].size
            self.tell(key, "flight", "memory")
        for waiting in list(self.waiting):
            self.waiting[waiting] -= set(keys)
            self.proceed(self.cluster.tasks[waiting])

    def run(self) -> None:
        """Begin ready tasks on free threads."""
        while self.ready and self.free_threads:
            task, thread = self.ready.pop(0), self.free_threads.pop(0)
            self.tell(task.key, "ready", "executing")
            begun = self.cluster.now
            if task.secedes:
                self.cluster.after(task.seconds / 3, self.tell, task.key, "executing", LONG)
            self.cluster.after(task.seconds, self.done, task, thread, begun)

    def done(self, task: Task, thread: int, begun: float) -> None:
        """End an execution."""
        self.free_threads.append(thread)
        self.load -= 1
        finish = "error" if task.fails else "memory"
        self.tell(task.key, LONG if task.secedes else "executing", finish)
        if task.fails:
            self.failed.add(task.key)
        else:
            self.held[task.key] = task.size
        span = (begun + self.skew, self.cluster.now + self.skew)
        self.cluster.after(self.cluster.delay(), self.cluster.finished, task, self, thread, span)
        self.run()

    def free(self, key: Any, state: str = "memory") -> None:
        """Forget a task's data."""
        self.held.pop(key, None)
        self.tell(key, state, "released")
        self.cluster.after(self.cluster.delay(), self.tell, key, "released", "forgotten")


LONG = "long-running"
DONE = ("memory", "released", "erred")


class Cluster:
    """The scheduler and its workers; the lists hold rows of the coupler's CSVs."""

    def __init__(self, address: str, seed: int, start: float):
        self.address = address
        self.random = random.Random(seed)  # noqa: S311 - the point is to repeat it
        self.now = start
        self.last = start
        self.queue: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self.count = 0
        self.tasks: dict[Any, Task] = {}
        self.states: dict[Any, str] = {}
        self.queued: list[Task] = []
        self.workers: dict[str, Worker] = {}
        self.pending: dict[str, list[Task]] = {}
        self.after_graph: dict[str, Callable[[], None]] = {}
        self.scheduler_transitions: list[dict[str, Any]] = []
        self.worker_transitions: list[dict[str, Any]] = []
        self.transfers: list[dict[str, Any]] = []
        self.graphs: list[dict[str, Any]] = []

    def uniform(self, low: float, high: float) -> float:
        """A random number between two."""
        return low + (high - low) * self.random.random()

    def jitter(self, width: float) -> float:
        """A small positive random number."""
        return self.random.random() * width

    def delay(self) -> float:
        """Seconds that a message takes."""
        return self.uniform(0.0006, 0.0031)

    def after(self, seconds: float, call: Callable[..., None], *arguments: Any) -> None:
        """Let something happen later."""
        self.count += 1
        heapq.heappush(self.queue, (self.now + seconds, self.count, call, arguments))

    def run(self) -> None:
        """Let everything happen, in order of time."""
        while self.queue:
            self.now, _, call, arguments = heapq.heappop(self.queue)
            call(*arguments)

    def tell(self, task: Task, start: str, finish: str, stimulus: str, **more: Any) -> None:
        """Report a transition of the scheduler."""
        self.states[task.key] = finish
        self.last = max(self.now, self.last + self.uniform(3e-4, 9e-4))
        row = {"key": str(task.key), "thread": None, "worker": None, "prefix": task.prefix}
        row |= {"group": task.group, "start": start, "finish": finish, "stimulus_id": stimulus}
        row |= {"called_from": self.address, "begins": None, "ends": None, "duration": None}
        self.scheduler_transitions.append({**row, "size": None, **more, "time": self.last})

    def submit(self, client: str, graph: list[Task], then: Callable[[], None]) -> None:
        """Take a graph from a client; ``then`` happens when its results were released."""
        stimulus = f"update-graph-{self.now - self.uniform(0.2, 0.5)!r}"
        needs = {task.key: set(task.needs) for task in graph}
        wanted = {task.key for task in graph if task.requested}
        row = {"client": client, "keys": wanted, "dependencies": needs, "time": self.now}
        self.graphs.append(row)
        self.pending[client] = graph
        self.after_graph[client] = then
        for task in graph:
            self.tasks[task.key] = task
            self.tell(task, "released", "waiting", stimulus)
            if not task.needs:
                worker = self.idlest()
                if worker.load < 2:
                    self.assign(task, worker, "waiting", stimulus)
                else:
                    self.tell(task, "waiting", "queued", stimulus)
                    self.queued.append(task)

    def idlest(self) -> Worker:
        """The worker with the least to do."""
        return min(self.workers.values(), key=lambda worker: worker.load)

    def assign(self, task: Task, worker: Worker, state: str, stimulus: str) -> None:
        """Send a task to a worker."""
        self.tell(task, state, "processing", stimulus)
        worker.load += 1
        self.after(self.last - self.now + self.delay(), worker.receive, task)

    def holder(self, key: Any, other_than: Worker) -> Worker:
        """A worker that holds a task's data."""
        holders = [w for w in self.workers.values() if key in w.held and w is not other_than]
        return holders[0]

    def move(self, source: Worker, target: Worker | None, keys: list[Any]) -> None:
        """Move data between two workers, or to a client; both sides log it."""
        sizes = {key: self.tasks[key].size for key in keys}
        total = sum(sizes.values())
        seconds = self.uniform(0.002, 0.006) + total / 4e8
        start = self.now + self.uniform(3e-4, 2e-3)
        entry = {"keys": str(sizes), "total": total}
        sent = _span(start + self.jitter(4e-4), seconds * 0.9, total, source.skew)
        sent |= {"who": target.address if target else None, "compressed": total + 46 * len(keys)}
        self.after(seconds, source.outgoing.append, {**sent, **entry})
        if target is not None:
            got = _span(start, seconds, total, target.skew)
            got |= {"who": source.address, "compressed": None}
            self.after(seconds, target.incoming.append, {**got, **entry})
            self.after(seconds + 5e-4, target.arrived, keys)

    def finished(self, task: Task, worker: Worker, thread: int, span: tuple[float, ...]) -> None:
        """Learn that a task ended, release what is done with, send out what can run."""
        if task.fails:
            self.tell(task, "processing", "erred", f"task-erred-{self.now!r}")
            return self.complete()
        stimulus = f"task-finished-{self.now!r}"
        begins, ends = span
        more = {"thread": thread, "worker": worker.address, "begins": begins, "ends": ends}
        more |= {"duration": ends - begins, "size": task.size}
        self.tell(task, "processing", "memory", stimulus, **more)
        for other in self.tasks.values():
            runnable = self.states.get(other.key) == "waiting" and task.key in other.needs
            if runnable and all(self.states.get(key) == "memory" for key in other.needs):
                self.assign(other, self.best(other), "waiting", stimulus)
        if self.queued and worker.load < 2:
            self.assign(self.queued.pop(0), worker, "queued", stimulus)
        for key in task.needs:
            users = [other for other in self.tasks.values() if key in other.needs]
            over = all(self.states[other.key] in DONE for other in users)
            if over and self.states[key] == "memory" and not self.tasks[key].requested:
                self.tell(self.tasks[key], "memory", "released", stimulus)
                self.free_everywhere(key)
        return self.complete()

    def best(self, task: Task) -> Worker:
        """The worker that holds most of what a task needs; among equals the idlest."""

        def cost(worker: Worker) -> tuple[int, int]:
            local = sum(worker.held.get(key, 0) for key in task.needs)
            return (worker.load // 2, -local)

        return min(self.workers.values(), key=cost)

    def free_everywhere(self, key: Any) -> None:
        """Have all workers drop a task's data."""
        for worker in self.workers.values():
            if key in worker.held:
                self.after(self.delay(), worker.free, key)
            elif key in worker.failed:
                self.after(self.delay(), worker.free, key, "error")

    def complete(self) -> None:
        """Send results to clients whose graphs are done, then release and forget these."""
        for client, graph in list(self.pending.items()):
            wanted = [task for task in graph if task.requested]
            if all(self.states[task.key] in ("memory", "erred") for task in wanted):
                del self.pending[client]
                for worker in self.workers.values():
                    keys = [task.key for task in wanted if task.key in worker.held]
                    if keys:
                        self.move(worker, None, keys)
                self.after(0.04, self.release, client, graph)

    def release(self, client: str, graph: list[Task]) -> None:
        """Forget a graph that its client has done with."""
        stimulus = f"client-releases-keys-{self.now!r}"
        for task in reversed(graph):
            if self.states[task.key] == "erred":
                self.tell(task, "erred", "released", stimulus)
            self.tell(task, self.states[task.key], "forgotten", stimulus)
            if task.requested:
                self.free_everywhere(task.key)
        self.after(0.5, self.after_graph[client])


def _span(start: float, seconds: float, total: int, skew: float) -> dict[str, Any]:
    stop = start + seconds
    middle = (start + stop) / 2 + skew / 2
    row = {"start": start, "stop": stop, "middle": middle, "duration": stop - start}
    return {**row, "bandwidth": total / (stop - start)}
