"""How hard the tests try: little by day, much at night.

``HARVEST_NIGHT=1``, which the nightly jobs set, is one switch for all that is random or walks
through many cases of one kind: kills and interruptions at random instants, fuzzing, examples of
hypothesis, and exhaustive walks of which a fixed sample covers each kind by day.  A variable of
its own (``HARVEST_KILLS=200``) sets one number alone.  By day what is random is drawn alike on
every run, at night anew.
"""

from __future__ import annotations

import itertools
import os
import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from typing import TypeAlias, TypeVar

import pytest

__all__ = ["NIGHT", "SEED", "chosen_by_day", "examples", "pairs", "some", "times"]

Case: TypeAlias = "frozenset[tuple[str, Hashable]]"
"""Each parameter of a test with the identity of its value."""

A = TypeVar("A")
B = TypeVar("B")

NIGHT = os.environ.get("HARVEST_NIGHT", "") not in ("", "0")

SEED = int(os.environ.get("HARVEST_SEED") or (random.randrange(10**6) if NIGHT else 32))
"""Of what tests draw by themselves, who print it; ``HARVEST_SEED`` sets another."""


def times(variable: str, *, day: int, night: int) -> int:
    """How often something random is tried; the environment variable sets another number."""
    return int(os.environ.get(variable) or (night if NIGHT else day))


def examples(night: int) -> int:
    """How many examples hypothesis tries, given how many it tries at night: a fifth by day."""
    return night if NIGHT else max(min(night, 10), night // 5)


def pairs(kinds: Sequence[A], variants: Sequence[B]) -> list[tuple[A, B]]:
    """Each kind with each variant at night; by day as few pairs as hold every one of both."""
    if NIGHT:
        return list(itertools.product(kinds, variants))
    turns = range(max(len(kinds), len(variants)))
    return [(kinds[turn % len(kinds)], variants[turn % len(variants)]) for turn in turns]


def some(values: Iterable[A], each: int) -> list[A]:
    """All values at night; by day the first of so many each time."""
    return list(values)[:: 1 if NIGHT else each]


def chosen_by_day(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """The tests to pass by day.

    Of a test that is marked ``each_once`` and has several parameters, these are as few cases as
    show every value of each parameter; of another slow test every third case; of the others all.
    Tests that classes inherit, and that are marked with a name for all of them, are cases of one
    walk: each test in some class, and each class with some test.
    """
    chosen: set[pytest.Item] = set()
    slow: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    walks: defaultdict[str, dict[Case, pytest.Item]] = defaultdict(dict)
    for item in items:
        marker = item.get_closest_marker("each_once")
        values = item.callspec.params if hasattr(item, "callspec") else {}
        if marker is not None and marker.args:
            walks[marker.args[0]][frozenset((("class", item.cls), ("test", item.name)))] = item
        elif marker is not None and values:
            case = frozenset((name, id(value)) for name, value in values.items())
            walks[item.nodeid.partition("[")[0]][case] = item
        elif values and item.get_closest_marker("slow"):
            slow[item.nodeid.partition("[")[0]].append(item)
        else:
            chosen.add(item)
    for cases in slow.values():
        chosen.update(cases[::3])
    for cases in walks.values():
        shown: Counter[tuple[str, Hashable]] = Counter()
        while unseen := frozenset().union(*cases) - shown.keys():
            case = max(cases, key=partial(_worth, unseen=unseen, shown=shown))
            shown.update(case)
            chosen.add(cases[case])
    return chosen


def _worth(case: Case, unseen: Case, shown: Counter[tuple[str, Hashable]]) -> tuple[int, int]:
    """Much where a case shows what no other has, and what others have seldom."""
    return len(case & unseen), -sum(shown[value] for value in case)
