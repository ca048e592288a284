"""Waiting for something to hold, whatever else the machine does meanwhile."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

LOOKS = 6_000
"""How often one looks: a bound for what never comes, not for a slow machine."""


def eventually(holds: Callable[[], T], what: str = "it did not happen", looks: int = LOOKS) -> T:
    """What a function gives once that is true; an AssertionError where it never is."""
    for _ in range(looks):
        if found := holds():
            return found
        time.sleep(0.1)
    raise AssertionError(what)
