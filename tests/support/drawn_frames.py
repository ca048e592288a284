"""Frames of any values, for tests of what is shown of them."""

from datetime import datetime

import polars as pl
from hypothesis import strategies as st

VALUES = {
    pl.Int64: st.integers(-(2**63), 2**63 - 1),
    pl.Float64: st.floats(allow_nan=True),
    pl.String: st.text(max_size=70),
    pl.Boolean: st.booleans(),
    pl.Datetime("us", "UTC"): st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)),
    pl.List(pl.String): st.lists(st.text(max_size=9), max_size=9),
}


@st.composite
def frames(draw, kinds=tuple(VALUES)):
    """Up to six rows of up to nine columns of these types."""
    height = draw(st.integers(0, 6))
    series = []
    for number in range(draw(st.integers(1, 9))):
        kind = draw(st.sampled_from(kinds))
        name = f"c{number}_" + draw(st.text("xyz_", max_size=25))
        values = draw(st.lists(st.none() | VALUES[kind], min_size=height, max_size=height))
        series.append(pl.Series(name, values, kind))
    return pl.DataFrame(series)
