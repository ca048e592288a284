"""Numbers and times from bytes, compared with Python's own, text by text."""

import re
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_EVEN, Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harvest_toolkit.spans import (
    Spans,
    clock_seconds,
    date_days,
    epoch_microseconds,
    leading_digits,
    places,
    spans,
    unsigned,
)

NEARLY = st.text("0123456789-:. TX\0/", max_size=22)
DIGITS = st.text("0123456789", min_size=1, max_size=20)


def column(texts: list[str | None]) -> Spans:
    """The texts between others, so that no function may look beyond its own."""
    return spans(pa.array(["9", *texts, "9"], pa.string()).slice(1, len(texts)))


@settings(deadline=None)
@given(st.dictionaries(st.integers(0, 599_999), st.sampled_from("=; ")))
def test_places_are_those_of_any_sign_in_a_buffer_of_several_pieces(signs):
    """Given signs anywhere in 600,000 bytes, when two are sought, then all of both are found."""
    data = np.full(600_000, ord("x"), np.uint8)
    for place, sign in signs.items():
        data[place] = ord(sign)
    expected = sorted(place for place, sign in signs.items() if sign in "=;")
    assert places(data, b";=").tolist() == expected


@settings(deadline=None)
@given(st.lists(st.one_of(NEARLY, DIGITS)))
def test_whole_numbers_are_those_of_python(texts):
    found = column(texts)
    values, good = unsigned(found.data, found.start, found.end)
    expected = [int(t) if re.fullmatch(r"[0-9]{1,18}", t) else None for t in texts]
    assert [int(v) if g else None for v, g in zip(values, good, strict=True)] == expected


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.one_of(NEARLY, DIGITS).map(lambda text: text + "x")))
def test_leading_digits_end_where_the_digits_do(texts):
    found = column(texts)
    values, counts = leading_digits(found.data, found.start)
    for text, value, count in zip(texts, values.tolist(), counts.tolist(), strict=True):
        digits = re.match("[0-9]*", text)[0]
        assert count == len(digits)
        if 1 <= count <= 18:
            assert value == int(digits)


DATES = st.one_of(
    NEARLY, st.dates(date(1800, 1, 1), date(2200, 1, 1)).map(str), st.just("2023-02-29")
)


@settings(deadline=None)
@given(st.lists(DATES))
def test_dates_are_those_of_the_calendar(texts):
    found = column([text.ljust(10, "x") for text in texts])
    days, good = date_days(found.data, found.start)
    for text, day, fine in zip(texts, days.tolist(), good.tolist(), strict=True):
        try:
            known = date.fromisoformat(text[:10]) if text[4:5] == "-" else None
        except ValueError:
            known = None
        assert fine == (known is not None and 1900 <= known.year < 2100)
        if fine:
            assert day == (known - date(1970, 1, 1)).days


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.one_of(NEARLY, st.times().map(lambda t: t.strftime("%H:%M:%S")))))
def test_clock_times_are_seconds_of_the_day(texts):
    found = column([text.ljust(8, "x") for text in texts])
    seconds, good = clock_seconds(found.data, found.start)
    for text, value, fine in zip(texts, seconds.tolist(), good.tolist(), strict=True):
        known = re.match(r"([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])", text)
        assert fine == bool(known)
        if known:
            assert value == int(known[1]) * 3600 + int(known[2]) * 60 + int(known[3])


EPOCHS = st.one_of(
    NEARLY,
    st.builds("{:010d}.{}".format, st.integers(0, 9_999_999_999), DIGITS),
    st.datetimes(datetime(2001, 9, 10), datetime(2100, 1, 1)).map(
        lambda t: repr(t.replace(tzinfo=UTC).timestamp())
    ),
)


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.one_of(EPOCHS, st.none())))
def test_epoch_seconds_are_rounded_as_decimal_numbers(texts):
    values, good = epoch_microseconds(column(texts))
    usual = re.compile(r"[0-9]{10}\.[0-9]{1,9}")
    for text, value, fine in zip(texts, values.tolist(), good.tolist(), strict=True):
        assert fine == bool(text and usual.fullmatch(text))
        exact = Decimal(text) * 1_000_000 if fine else 0
        assert value == int(Decimal(exact).to_integral_value(ROUND_HALF_EVEN))


def test_an_empty_column_has_no_texts():
    found = spans(pa.array([], pa.string()))
    assert len(found.length) == 0
    assert unsigned(found.data, found.start, found.end)[0].dtype == np.int64
    assert spans(pa.nulls(2, pa.string())).length.tolist() == [0, 0]
