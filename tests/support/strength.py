"""How hard the tests try: little by day, much at night.

``HARVEST_NIGHT=1``, which the nightly jobs set, is one switch for all that is random or walks
through many cases of one kind: kills and interruptions at random instants, fuzzing, examples of
hypothesis, and exhaustive walks of which a fixed sample covers each kind by day.  A variable of
its own (``HARVEST_KILLS=200``) sets one number alone.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from typing import TypeVar

__all__ = ["NIGHT", "examples", "pairs", "times"]

A = TypeVar("A")
B = TypeVar("B")

NIGHT = os.environ.get("HARVEST_NIGHT", "") not in ("", "0")


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
