"""Amounts in words: three digits, the unit that suits, and no share that is not what it says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harvest.toolkit.amounts import bytes_in_words, count_in_words, seconds_in_words, share_in_words

UNITS = {
    "bytes": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "PB": 10**15,
    "EB": 10**18,
} | {unit: 1024**power for power, unit in enumerate(("KiB", "MiB", "GiB", "TiB", "PiB", "EiB"), 1)}


@pytest.mark.parametrize(
    ("size", "decimal", "binary"),
    [
        (0, "0 bytes", "0 bytes"),
        (987, "987 bytes", "987 bytes"),
        (1023, "1.02 kB", "1,023 bytes"),
        (5_242_880, "5.24 MB", "5.00 MiB"),
        (-1_200_000_000, "-1.20 GB", "-1.12 GiB"),
        (1023 * 1024, "1.05 MB", "1,023 KiB"),
    ],
)
def test_bytes_are_said_in_the_unit_that_suits_them(size, decimal, binary):
    assert bytes_in_words(size) == binary
    assert bytes_in_words(size, binary=False) == decimal


@given(size=st.integers(-(2**60), 2**60), binary=st.booleans())
def test_bytes_in_words_are_right_to_three_digits(size, binary):
    number, unit = bytes_in_words(size, binary=binary).split()

    said = float(number.replace(",", "")) * UNITS[unit]
    assert said == pytest.approx(size, rel=0.005, abs=0.5)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (0.0032, "3.2 ms"), (42, "42 s"), (210, "3.5 min"), (4320, "1.2 h"),
     (345_600, "4.0 d"), (-42, "-42 s"), (-5_400, "-1.5 h"), (-0.0032, "-3.2 ms"),
     (0.9996, "1 s"), (0.00032, "320 µs"), (2.5e-8, "25 ns")],
)  # fmt: skip
def test_durations(seconds, words):
    assert seconds_in_words(seconds) == words


SECONDS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600, "d": 86400}


@given(st.floats(-1e9, 1e9))
def test_durations_in_words_are_right_to_a_twentieth(seconds):
    number, unit = seconds_in_words(seconds).split()

    said = float(number.replace(",", "")) * SECONDS[unit]
    assert said == pytest.approx(seconds, rel=0.05, abs=1e-11)
    assert "e" not in number or abs(seconds) < 1e-9


@pytest.mark.parametrize(
    ("share", "words"),
    [(0, "0 %"), (8e-8, "<0.01 %"), (0.0003, "0.03 %"), (0.042, "4.2 %"), (0.37, "37 %"),
     (0.996, "99.6 %"), (0.99999, "99.9 %"), (1, "100 %"), (81.71, "8,171 %"),
     (-0.032, "-3.2 %")],
)  # fmt: skip
def test_shares(share, words):
    """What is not all is not called 100 %."""
    assert share_in_words(share) == words


def test_counts():
    assert [count_in_words(n, "file") for n in (0, 1, 1204)] == ["0 files", "1 file", "1,204 files"]
    assert count_in_words(2, "entry", "entries") == "2 entries"
