"""Times are exact to the microsecond, as decimal arithmetic has them."""

from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harvest_mofka_dask.read.convert import microseconds_of
from harvest_toolkit.spans import epoch_microseconds, spans


def read(texts: list[str | None]) -> list[int | None]:
    values, good = epoch_microseconds(spans(pa.array(texts, pa.string())))
    result = [
        None if text is None else int(value) for text, value in zip(texts, values, strict=True)
    ]
    for row, text in enumerate(texts):
        if text is not None and not good[row]:
            result[row] = microseconds_of(text)
    return result


def exact(text: str) -> int:
    return int((Decimal(text) * 1_000_000).to_integral_value(ROUND_HALF_EVEN))


DECIMALS = st.builds(
    "{}.{}".format, st.integers(0, 9_999_999_999), st.text("0123456789", min_size=1, max_size=14)
)
FLOATS = st.floats(0, 4e9, allow_nan=False).map(repr)
WHOLE = st.integers(0, 9_999_999_999).map(str)


@pytest.mark.slow
@given(st.lists(st.one_of(DECIMALS, FLOATS, WHOLE, st.none()), max_size=20))
def test_epoch_texts_are_read_as_decimal_reads_them(texts):
    assert read(texts) == [None if text is None else exact(text) for text in texts]


def test_a_float_would_round_this_one_wrong():
    """A text whose nearest float64 lies on the other side of a half microsecond."""
    wrong = [
        text
        for i in range(2000)
        if round(float(text := f"1713553304.{3_746_520 + i:07d}") * 1e6) != exact(text)
        and not text.endswith("5")
    ]
    assert wrong
    assert read(wrong) == [exact(text) for text in wrong]


@pytest.mark.parametrize(
    "text",
    [
        "2024-04-19T19:01:44.374652+00:00",
        "2024-04-19 21:01:44.374652+02:00",
        "2024-04-19T19:01:44.374652Z",
        "'1713553304.374652'",
        " 1713553304.374652 ",
    ],
)
def test_iso_times_with_an_offset_and_quoted_numbers_are_read(text):
    expected = datetime(2024, 4, 19, 19, 1, 44, 374_652, tzinfo=UTC)
    assert microseconds_of(text) == int(expected.timestamp()) * 1_000_000 + 374_652


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nan",
        "-1",
        "2024-04-19T19:01:44",
        "1713553304,5",
        "253402300800",
        "1e99",
        "１７１３５５３３０４.5",
        "9" * 1000,
    ],
)
def test_anything_else_is_no_time(text):
    assert microseconds_of(text) is None
