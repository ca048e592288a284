"""How work is shared out to a scheduler: few units, however many partitions there are."""

import math
from itertools import repeat
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harvest import Bundle, Partition
from harvest.reading.bundle import BUNDLE_PARTITIONS
from harvest.reading.task import Task
from harvest_cluster import in_units
from harvest_cluster.dask import engine as dask
from harvest_cluster.dask.engine import units

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


@pytest.mark.parametrize(("partitions", "threads"), [(100_000, 1), (100_000, 64), (1_000_000, 4)])
def test_tiny_partitions_make_few_units(partitions, threads):
    together = bundle(BUNDLE_PARTITIONS, 2_000)
    given_out = shared_out(list(repeat(together, partitions // BUNDLE_PARTITIONS)), threads)

    # by the cost of opening alone, 256 of them are enough for a unit
    large = math.ceil(partitions / 256)
    cost = together.cost_bytes
    assert len(given_out) <= large + small_ones_at_the_end(threads, dask.UNIT_BYTES, cost)
    assert len(given_out) <= dask.UNITS


@pytest.mark.slow
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


@given(st.lists(st.integers(0, 1 << 28), max_size=60), st.integers(1, 40), st.integers(0, 20))
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
