"""Calls that a file system keeps waiting are made by threads, and no others."""

import threading
import time

import pytest

from harvest.storage.fingerprint import FIRST, THREADS, map_waiting

ITEMS = range(FIRST + 300)


def test_calls_that_wait_are_made_by_threads():
    callers = set()

    def ask(number: int) -> int:
        callers.add(threading.get_ident())
        time.sleep(0.001)
        return -number

    assert map_waiting(ask, ITEMS) == [-number for number in ITEMS]
    assert 1 < len(callers) <= 1 + THREADS


def test_what_a_call_in_a_thread_raises_is_raised():
    def ask(number: int) -> int:
        time.sleep(0.001)
        if number == FIRST + 100:
            raise OSError("stale file handle")
        return number

    with pytest.raises(OSError, match="stale"):
        map_waiting(ask, ITEMS)
