"""What a run's record leaves open: threads, workers that the scheduler does not name, silence.

Nothing is concluded from it, and no rule says that it looked and found nothing.
"""

from typing import Any

import pytest
from dask_rows import A, B, at, dataset, one, ran, tables_of, transfer, window

from harvest.findings import evaluate
from harvest.plugins.registry import manager
from harvest_dask.records import types as r
from harvest_dask_runs.memory import MemoryReader
from harvest_dask_runs.plugin import harvest_rules
from harvest_dask_runs.views.indicators import indicators


class WithIndicators(MemoryReader):
    """Rows, and the view that rules look at."""

    def view(self, name: str, /, **settings: Any) -> Any:
        return indicators(self) if name == "dask.indicators" else super().view(name, **settings)


def registered(*addresses: str, **more: Any) -> list[Any]:
    return [r.WorkerEvent(time=at(-1), worker=w, action="add", **more) for w in addresses]


def executed(key: str, begins: float, address: str, **more: Any) -> list[Any]:
    """A second on a worker, as both sides record it."""
    named = {"worker": address, **more}
    ends = begins + 1
    return [
        *window(key, begins, ends, address),
        ran(key, ends + 0.1, named["worker"], begins, ends, thread=7),
    ]


@pytest.mark.slow
def test_threads_that_ran_tasks_are_not_all_that_a_worker_has():
    """Each of two workers ran a task on one thread; that they have no more, nobody said."""
    rows = [*executed("x", 0, A), *executed("y", 5, B)]

    row = one(indicators(dataset(*registered(A, B), *rows)))
    unknown = ("observed_threads", "thread_s", "used_share", "serial_s", "imbalance_s", "busiest_s")
    assert [row[name] for name in unknown] == [None] * len(unknown)
    # when nothing ran is known all the same
    assert (row["observed_workers"], row["gaps_s"]) == (2, 4.0)

    # with eight threads each, 2 of 6 s times 16 were used
    told = one(indicators(dataset(*registered(A, B, nthreads=8), *rows)))
    assert (told["observed_threads"], told["thread_s"]) == (16, 96.0)


@pytest.mark.parametrize("named", [A, None], ids=["named", "not named"])
def test_an_execution_counts_once_though_the_scheduler_does_not_name_its_worker(named):
    rows = [*executed("x", 0, A, worker=named), *executed("y", 5, A, worker=named)]

    row = one(indicators(dataset(*registered(A), *rows)))

    assert (row["executions"], row["busy_s"], row["peak_threads"]) == (2, 2.0, 1)
    assert row["repeated"] == 0


@pytest.mark.parametrize(("named", "there"), [(A, 0), (None, None)], ids=["named", "not named"])
def test_what_the_scheduler_credits_to_nobody_may_have_run_on_a_silent_worker(named, there):
    rows = executed("x", 0, A, worker=named)

    row = one(indicators(dataset(*registered(A, B), *rows)))

    assert (row["silent_workers"], row["silent_executed"]) == (1, there)


@pytest.mark.slow
def test_what_a_silent_worker_moved_is_in_no_share():
    """The scheduler knows what it executed, nobody what it moved."""
    rows = [*executed("x", 0, A), transfer(0, "outgoing", A, None, x=9)]
    row = one(indicators(dataset(*registered(A), *rows)))
    assert (row["moving_s"], row["transfer_share"]) == (0.5, 0.5)

    row = one(indicators(dataset(*registered(A, B), *rows, ran("y", 6, B, 5, 6))))
    assert (row["workers"], row["observed_workers"], row["silent_workers"]) == (2, 2, 1)
    assert (row["moving_s"], row["transfer_share"]) == (0.5, None)

    # nor where nobody recorded which workers there were
    row = one(indicators(dataset(*rows, ran("y", 6, B, 5, 6))))
    assert (row["workers"], row["silent_workers"]) == (2, None)
    assert (row["moving_s"], row["transfer_share"]) == (0.5, None)


@pytest.mark.parametrize("silent", [False, True], ids=["all observed", "one silent"])
def test_few_tasks_and_short_movements_are_known_to_be_few_where_all_workers_reported(silent):
    rows = [*executed("x", 0, A), transfer(0, "outgoing", A, None, x=9)]
    came = registered(A, B) if silent else registered(A)
    known = WithIndicators(tables_of([*came, *rows]))
    names = {"dask.short_tasks", "dask.transfers"}

    verdict = evaluate(known, manager(), rules=[r for r in harvest_rules() if r.name in names])

    assert set(verdict.passed) == (set() if silent else names)
    assert {name for name, _ in verdict.unjudged} == (names if silent else set())
