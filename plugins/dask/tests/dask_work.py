"""What the tests let a cluster do, and the cluster."""

import contextlib
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
from distributed import Client, LocalCluster, Reschedule, get_client, secede

QUIET = {
    # a cluster gives up a worker that is lost, also one whose successor is late to start
    "distributed.deploy.lost-worker-timeout": "1 hour",
    "distributed.admin.low-level-log-length": 1_000_000,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.work-stealing": False,
    "distributed.worker.memory.target": False,
}
"""Logs that keep everything, and nothing that acts on its own."""


UNSEEN = {"dashboard_address": ":0", "scheduler_kwargs": {"dashboard": False}}
"""Nobody looks at a dashboard: the libraries that draw it are not imported."""

HERE = {"processes": False, "protocol": "tcp://"}
"""Workers in this process, for tests that end none of them."""


@contextlib.contextmanager
def cluster(
    workers: int = 2, about: dict[str, Any] | None = None, **config: Any
) -> Iterator[Client]:
    """A client of a fresh cluster whose workers are processes; about: of the cluster."""
    asked = {"n_workers": workers, "threads_per_worker": 1, **UNSEEN, **(about or {})}
    with (
        dask.config.set(QUIET | config),
        LocalCluster(**asked) as local,
        Client(local) as client,
    ):
        yield client


def scheduler_log(dask_scheduler: Any) -> list[tuple[str, str, str, str]]:
    """The transitions that Dask's scheduler keeps itself."""
    return [(str(t.key), t.start, t.finish, t.stimulus_id) for t in dask_scheduler.transition_log]


def increment(x: int) -> int:
    return x + 1


def add(*values: int) -> int:
    return sum(values)


def fail(x: int) -> int:
    raise ValueError(f"no {x} today")


def fail_once(mark: str) -> str:
    """Fails unless it was called before."""
    if Path(mark).exists():
        return "done"
    Path(mark).touch()
    raise ValueError("the first attempt")


def go_elsewhere_once(mark: str) -> str:
    """Asks to be run again unless it was called before."""
    if Path(mark).exists():
        return "done"
    Path(mark).touch()
    raise Reschedule


def spend(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def wait_for(mark: str) -> None:
    """Ends a moment after a file is there."""
    until(Path(mark).exists)
    time.sleep(0.1)


def block(seed: int) -> bytes:
    """A megabyte that does not compress."""
    return random.Random(seed).randbytes(1_000_000)


def submit_from_task(x: int) -> int:
    """Leaves its thread to a task of its own, and waits for that."""
    client = get_client()
    secede()
    return client.submit(increment, x, pure=False).result()


class Counter:
    """An actor."""

    def __init__(self) -> None:
        self.n = 0

    def count(self) -> int:
        self.n += 1
        return self.n


def until(holds: Any) -> None:
    """Wait until something holds; fails where it never does."""
    for _ in range(6_000):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("it did not happen")


def fail_somehow(x: int) -> int:
    """Most raise one type, with texts of their own; the fifth kills its worker."""
    if x == 5:
        time.sleep(0.5)  # what ended before is recorded
        os.kill(os.getpid(), signal.SIGKILL)
    raise KeyError(f'it\'s "{x}"\n') if x < 3 else ValueError(x)
