"""How work is shared out to a scheduler: few units, however many partitions there are."""

from __future__ import annotations

import math
import tracemalloc
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from harvest_paced import PacedSource
from hypothesis import given
from hypothesis import strategies as st

from harvest.api.source import Partition
from harvest.engines.dask import engine as dask
from harvest.engines.dask.engine import units
from harvest.engines.units import in_units
from harvest.pipeline.bundle import Bundle
from harvest.pipeline.bundling import BUNDLE_PARTITIONS
from harvest.pipeline.plan import Plan, Planned, SourceUse
from harvest.pipeline.prepare import PreparedRun
from harvest.pipeline.recipe import Recipe
from harvest.pipeline.task import Task
from harvest.plugins.registry import manager

NOBODY: Any = None


def bundle(partitions: int, size_bytes: int) -> Bundle:
    """Partitions that are read together; of all that belongs to them, only their size matters."""
    partition = Partition(id="p", origin="/p", inputs=("/p",), size_bytes=size_bytes)
    return Bundle((Task(source=NOBODY, partition=partition, targets=()),) * partitions)


def shared_out(bundles: list[Bundle], threads: int) -> list[Bundle]:
    cost = sum(each.cost_bytes for each in bundles)
    return list(units(bundles, cost, lambda: threads))


def small_ones_at_the_end(threads: int, largest: int, smallest: int) -> int:
    """How many units there can be of those that shrink, by adding them up.

    Each thread takes its share of what is left, from the largest unit down to a single bundle.
    """
    left, count = dask.SHARES * threads * largest, 0
    while left > 0:
        left -= max(left // (dask.SHARES * threads), smallest)
        count += 1
    return count


@pytest.mark.parametrize("threads", [1, 4, 64])
@pytest.mark.parametrize("partitions", [100_000, 1_000_000])
def test_tiny_partitions_make_few_units(partitions, threads):
    together = bundle(BUNDLE_PARTITIONS, 2_000)
    given_out = shared_out(list(repeat(together, partitions // BUNDLE_PARTITIONS)), threads)

    # by the cost of opening alone, 256 of them are enough for a unit
    large = math.ceil(partitions / 256)
    cost = together.cost_bytes
    assert len(given_out) <= large + small_ones_at_the_end(threads, dask.UNIT_BYTES, cost)
    assert len(given_out) <= dask.UNITS


def test_very_many_large_partitions_make_no_more_units_than_documented():
    alone, count = bundle(1, 10**8), 200_000

    given_out = shared_out(list(repeat(alone, count)), threads=4)

    cost = alone.cost_bytes
    at_the_end = small_ones_at_the_end(4, largest=cost * count // dask.UNITS, smallest=cost)
    assert len(given_out) <= dask.UNITS + at_the_end


def test_units_get_smaller_so_that_all_threads_have_work_to_the_last():
    # given no more work than would fill a unit
    few = [bundle(1, 1_000)] * 40

    given_out = shared_out(few, threads=4)

    assert len(given_out) > 4
    assert [len(unit) for unit in given_out][:2] == [3, 3]  # of 40, a sixteenth or just more
    assert [len(unit) for unit in given_out][-4:] == [1, 1, 1, 1]


@given(
    st.lists(st.integers(0, 1 << 28), max_size=60),
    st.integers(1, 40),
    st.integers(0, 20),
)
def test_every_bundle_is_in_one_unit_in_its_order(sizes, times, threads):
    bundles = [bundle(1, size) for size in sizes] * times

    given_out = shared_out(bundles, threads)

    assert [one for unit in given_out for one in unit.split(1)] == bundles
    assert all(given_out)


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(0, 20))
def test_a_unit_costs_enough_and_no_item_more(costs, enough):
    for unit in list(in_units(costs, lambda cost: cost, lambda: enough))[:-1]:
        assert sum(unit) >= enough
        assert sum(unit[:-1]) < enough or len(unit) == 1


# --- what the process that plans holds ------------------------------------------------------------


def planned(number: int, use: SourceUse) -> Planned:
    path = f"/scratch/logs/2026/{number:06}.log"
    return Planned(
        use=use, partition=Partition(id=path, origin=path, inputs=(path,), size_bytes=2_000),
        key=f"{number:016x}", fingerprint=f"{number:064x}", facts=bytes(16), config="c",
        run="20260101T000000-000000", read_for=(0,), staged_for={}, held_by=(),
    )  # fmt: skip


def plan_of(folder: Path, count: int) -> tuple[PreparedRun, Plan]:
    """A run that has so many tiny inputs to read."""
    use = SourceUse(source=PacedSource(str(folder)), settings={}, version="harvest-paced 1.0")
    sinks = [manager().sink("parquet")(str(folder / "out"))]
    run = PreparedRun(recipe=Recipe(), plugins=manager(), uses=[use], listed=[], sinks=sinks)
    todo = tuple(planned(number, use) for number in range(count))
    plan = Plan(
        partitions=todo, listed=[], unchanged=(), frozen=({},),
        replaced=(frozenset(),), dropped=(frozenset(),),
    )  # fmt: skip
    return run, plan


def test_tasks_are_made_when_they_are_given_out(tmp_path: Path):
    # given many tiny inputs
    run, plan = plan_of(tmp_path, 2_000)

    # when they are all given out
    tracemalloc.start()
    work = run.work(plan, plan.to_read)
    given_out = units(work.bundles, work.cost_bytes, lambda: 4)
    partitions = sum(map(len, given_out))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    # then there are never more than those of some units, of about a kilobyte each
    assert partitions == 2_000
    assert peak < 256 * 2_048 + 100 * 2_000


def test_work_is_described_whether_or_not_its_tasks_are_made(tmp_path: Path):
    run, plan = plan_of(tmp_path, 70)

    work = run.work(plan, plan.to_read)

    assert [len(each) for each in work.bundles] == [32, 32, 6]
    assert work.bundles[1:] == [work.bundles[1], work.bundles[2]]
    assert [origin for bundle in work.bundles for origin in bundle.origins] == [
        f"/scratch/logs/2026/{number:06}.log" for number in range(70)
    ]
    assert work.partitions == 70
    assert work.cost_bytes == 70 * (2_000 + 65_536)
    assert (work.state, work.run) == (tmp_path / "out" / "_harvest", "20260101T000000-000000")
    assert work.importable
