"""A straight line and its bounds, against numpy and against the definition."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harvest_gpfs.space.outlook import _T95, Line

YS = st.lists(st.integers(-(10**15), 10**15), min_size=3, max_size=9)


def student(t: float, degrees: int) -> float:
    """The probability of at most t, by adding up the density of Student's distribution."""
    x = np.linspace(0, t, 20_001)
    half = math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)
    density = math.exp(half) / math.sqrt(degrees * math.pi)
    y = density * (1 + x**2 / degrees) ** (-(degrees + 1) / 2)
    return 0.5 + float(np.sum((y[1:] + y[:-1]) / 2 * np.diff(x)))


@pytest.mark.parametrize("degrees", [*range(1, 7), 20, 21, 30, 100, 1000])
def test_the_bounds_are_those_of_nine_in_ten(degrees):
    t = _T95[degrees - 1] if degrees <= len(_T95) else 1.645 + 1.6 / degrees
    assert student(t, degrees) == pytest.approx(0.95, abs=2e-4)


@given(YS)
def test_the_slope_and_its_bounds_are_numpy_s(ys):
    xs = [3.0 * n - 20 + (n % 3) for n in range(len(ys))]
    line = Line.through([*zip(xs, ys, strict=True)])

    if len(ys) > 3:
        (slope, _), covariance = np.polyfit(xs, ys, 1, cov=True)
        off = _T95[len(ys) - 3] * math.sqrt(covariance[0, 0])
    else:
        (slope, cut), rest = np.polyfit(xs, ys, 1), 0.0
        rest = sum((y - slope * x - cut) ** 2 for x, y in zip(xs, ys, strict=True))
        off = _T95[0] * math.sqrt(rest / np.sum((np.array(xs) - np.mean(xs)) ** 2))
    scale = max(map(abs, ys)) + 1
    assert line.slope == pytest.approx(slope, rel=1e-6, abs=1e-8 * scale)
    assert line.slopes[0] == pytest.approx(slope - off, rel=1e-6, abs=1e-6 * scale)
    assert line.slopes[1] == pytest.approx(slope + off, rel=1e-6, abs=1e-6 * scale)


@given(st.lists(st.integers(0, 1000), min_size=3, max_size=8), st.integers(1001, 5000))
def test_the_time_is_where_the_band_about_the_line_holds_the_level(ys, level):
    """By definition: a further point at x lies within t s sqrt(1 + 1/n + (x - mean)^2 / sxx)."""
    points = [(float(7 * n), y) for n, y in enumerate(ys)]
    line = Line.through(points)
    first, last = line.between(level)
    t = _T95[len(ys) - 3]

    def outside(x: float) -> float:
        spread = 1 + 1 / line.n + (x - line.mean_x) ** 2 / line.sxx
        return abs(level - line.mean_y - line.slope * (x - line.mean_x)) - t * line.spread * (
            math.sqrt(spread)
        )

    tolerance = 1e-6 * (level + abs(line.slope) * 1e3 + t * line.spread)
    inside = [x for x in np.linspace(line.mean_x, line.mean_x + 2000, 4001) if outside(x) < 0]
    if first is None:
        assert not inside
    elif outside(line.mean_x) > 0:
        assert abs(outside(first)) < tolerance * (1 + abs(first) / 100)
        assert all(x >= first - 1 for x in inside)
    if last is not None:
        assert abs(outside(last)) < tolerance * (1 + abs(last) / 100)
        assert line.reaches(level) is not None
        assert first <= line.reaches(level) <= last


def test_what_shrinks_is_never_full():
    line = Line.through([(-14.0, 200), (-7.0, 150), (0.0, 100)])

    assert line.reaches(300) is None
    assert line.between(300) == (None, None)
