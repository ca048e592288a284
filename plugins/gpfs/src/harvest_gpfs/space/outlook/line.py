"""A straight line through points, when it reaches a level, and how sure that is.

Least squares.  The bounds are those of nine in ten: of the slope by Student's t, of the time by the
band in which a further point would lie (Fieller's interval, as calibration has it).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import attrs

__all__ = ["Line"]

_T95: Final = (
    *(6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812),
    *(1.796, 1.782, 1.771, 1.761, 1.753, 1.746, 1.740, 1.734, 1.729, 1.725),
)
"""Student's t of 0.95 for 1, 2, ... degrees of freedom."""


@attrs.frozen
class Line:
    """n points about ``mean_x``, ``mean_y``; slope; spread of the points about the line.

    sxx: sum of squares of the distances from ``mean_x``.
    """

    n: int
    mean_x: float
    mean_y: float
    slope: float
    spread: float
    sxx: float

    @classmethod
    def through(cls, points: Sequence[tuple[float, float]]) -> Line | None:
        """The line through points; None of fewer than two different ones."""
        n = len(points)
        if len({x for x, _ in points}) < 2:
            return None
        mean_x, mean_y = (math.fsum(values) / n for values in zip(*points, strict=True))
        sxx = math.fsum((x - mean_x) ** 2 for x, _ in points)
        slope = math.fsum((x - mean_x) * (y - mean_y) for x, y in points) / sxx
        rest = math.fsum((y - mean_y - slope * (x - mean_x)) ** 2 for x, y in points)
        return cls(n, mean_x, mean_y, slope, math.sqrt(rest / (n - 2)) if n > 2 else 0.0, sxx)

    @property
    def slopes(self) -> tuple[float, float] | None:
        """Between which the slope is; None with fewer than three points."""
        if self.n < 3:
            return None
        off = self._width / math.sqrt(self.sxx)
        return self.slope - off, self.slope + off

    def reaches(self, level: float) -> float | None:
        """Where the line reaches a level above; None where it does not rise."""
        return self.mean_x + (level - self.mean_y) / self.slope if self.slope > 0 else None

    def between(self, level: float) -> tuple[float | None, float | None]:
        """Where a further point may lie at the level first, and last.

        None for the first where no rise leads there, for the last where there may be no rise.
        Both None with fewer than three points.
        """
        if self.n < 3:
            return None, None
        up, wide = level - self.mean_y, self._width
        a = self.slope**2 - wide**2 / self.sxx
        c = up**2 - wide**2 * (1 + 1 / self.n)
        b = up * self.slope
        if a > 0 and self.slope <= 0:
            return None, None
        if a == 0:
            return (self.mean_x + c / (2 * b) if b > 0 else None), None
        root = math.sqrt(max(0.0, b**2 - a * c))
        low, high = sorted(((b - root) / a, (b + root) / a))
        if a < 0:
            return self.mean_x + (high if c > 0 else 0.0), None
        return self.mean_x + low, self.mean_x + high

    @property
    def _width(self) -> float:
        degrees = self.n - 2
        t = _T95[degrees - 1] if degrees <= len(_T95) else 1.645 + 1.6 / degrees
        return t * self.spread
