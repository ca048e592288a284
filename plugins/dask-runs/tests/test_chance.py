"""How likely a difference is by chance: against counting all ways to part the values."""

import itertools

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harvest_dask_runs.compare import compare as chance
from harvest_dask_runs.compare.compare import chance_of

SIDE = st.lists(st.integers(0, 6).map(float), min_size=1, max_size=5)


def counted(before, after):
    """Share of pairs, and of all ways to choose the second side those that are as far apart."""

    def above(first, second):
        return sum((a > b) + (a == b) / 2 for b in first for a in second)

    every = before + after
    middle = len(before) * len(after) / 2
    away = abs(above(before, after) - middle)
    ways = list(itertools.combinations(range(len(every)), len(after)))
    far = 0
    for chosen in ways:
        second = [every[i] for i in chosen]
        first = [every[i] for i in range(len(every)) if i not in chosen]
        far += abs(above(first, second) - middle) >= away
    return above(before, after) / (2 * middle), far / len(ways)


@given(before=SIDE, after=SIDE)
def test_few_values_are_counted(before, after):
    found = chance_of(pl.Series(before), pl.Series(after))

    assert found == pytest.approx(counted(before, after))


@given(order=st.permutations(range(18)), side=st.integers(7, 10))
def test_of_many_values_it_is_nearly_what_counting_gives(order, side):
    before, after = (list(map(float, each)) for each in (order[:side], order[side:]))
    first, second = pl.Series(before), pl.Series(after)
    exact = chance_of(first, second)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(chance, "EXACT", 0)
        near = chance_of(first, second)

    assert near[0] == exact[0]
    assert near[1] == pytest.approx(exact[1], abs=0.02)


def test_what_is_all_alike_or_one_sided_says_nothing():
    alike = pl.Series([2.0] * 30)

    assert chance_of(alike, alike) == (0.5, 1.0)
    assert chance_of(alike, pl.Series([], dtype=pl.Float64)) is None
