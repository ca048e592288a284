"""Amounts in words: three digits, the unit that suits, and no share that is not what it says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harvest.toolkit.amounts import (
    bytes_in_words,
    count_in_words,
    seconds_in_words,
    share_in_words,
)


@pytest.mark.parametrize(
    ("size", "words"),
    [(0, "0 bytes"), (987, "987 bytes"), (5_242_608, "5.24 MB"), (999_999, "1.00 MB"),
     (12_345, "12.3 kB"), (123_456_789_000, "123 GB"), (10**19, "10.0 EB")],
)  # fmt: skip
def test_sizes(size, words):
    assert bytes_in_words(size) == words


@given(st.integers(1000, 10**20))
def test_a_size_in_words_is_within_half_a_digit_of_the_size(size):
    number, unit = bytes_in_words(size).split()
    power = ("kB", "MB", "GB", "TB", "PB", "EB").index(unit) + 1

    assert abs(float(number) * 1000**power - size) <= 0.0051 * size


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (0.0032, "3.2 ms"), (42, "42 s"), (210, "3.5 min"), (4320, "1.2 h"),
     (345_600, "4.0 d")],
)  # fmt: skip
def test_durations(seconds, words):
    assert seconds_in_words(seconds) == words


@pytest.mark.parametrize(
    ("share", "words"),
    [(0, "0 %"), (0.0003, "0.03 %"), (0.042, "4.2 %"), (0.37, "37 %"), (0.996, "99.6 %"),
     (0.99999, "99.9 %"), (1, "100 %"), (2.5, "250 %")],
)  # fmt: skip
def test_shares(share, words):
    """What is not all is not called 100 %."""
    assert share_in_words(share) == words


def test_counts():
    assert [count_in_words(n, "file") for n in (0, 1, 1204)] == ["0 files", "1 file", "1,204 files"]
    assert count_in_words(2, "entry", "entries") == "2 entries"
