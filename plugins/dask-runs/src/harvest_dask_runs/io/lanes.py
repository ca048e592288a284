"""Search for the window that contains a moment, for millions of moments.

A lane has the windows of one thread, or those of one worker whose thread is unknown.  Binary search
finds the last window that began before a moment.  Windows of a lane rarely overlap, since a thread
runs one task at a time.  If the window ended before the moment, the search goes on with the windows
around it.  So of several windows that contain a moment, the one that began last counts; of those
that began together, the one that ends first; then the first in order of key.
"""

from typing import Self, TypeAlias

import attrs
import numpy as np
import polars as pl
from numpy.typing import NDArray

FOREVER = 2**62
"""End, in microseconds, of a window that never closes."""

Ints: TypeAlias = NDArray[np.int64]


@attrs.frozen
class Lanes:
    """The windows of all lanes, in order of lane and start, in microseconds of the epoch.

    times: distinct starts of windows, ascending.
    codes: lane and number of the start of each window as one ascending integer.
    ends, windows: last moment of each window, and its number.
    around: place of the last earlier window of the lane that ends later; -1 for none.
    """

    times: Ints
    codes: Ints
    ends: Ints
    windows: Ints
    around: Ints

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Self:
        """Build from the columns lane, start, end and window, all int64."""
        reach = pl.col("end").cum_max().shift(1).over("lane")
        ordered = frame.sort(
            "lane", "start", "end", "window", descending=[False, False, True, True]
        ).with_columns(inside=(reach > pl.col("end")).fill_null(value=False))
        lane, start, ends, window = (
            np.ascontiguousarray(ordered[name].to_numpy(), dtype=np.int64)
            for name in ("lane", "start", "end", "window")
        )
        around = np.full(len(lane), -1, np.int64)
        for place in ordered["inside"].arg_true():
            before = place - 1
            while ends[before] <= ends[place]:
                before = around[before]
            around[place] = before
        times = np.unique(start)
        codes = lane * (len(times) + 1) + np.searchsorted(times, start, side="right")
        return cls(times, codes, ends, window, around)

    def find(self, lanes: Ints, moments: Ints) -> Ints:
        """Find the window in each lane at each moment; -1 for none, or if the lane is -1."""
        if not len(self.codes):
            return np.full(len(lanes), -1, np.int64)
        # the last window that begins at or before the moment has the largest code up to this one
        number = np.searchsorted(self.times, moments, side="right")
        place = np.searchsorted(self.codes, lanes * (len(self.times) + 1) + number, "right") - 1
        in_lane = (lanes >= 0) & (self.codes[place] // (len(self.times) + 1) == lanes)
        place = np.where(in_lane, place, -1)
        ended = np.flatnonzero((place >= 0) & (self.ends[place] < moments))
        while len(ended):
            place[ended] = self.around[place[ended]]
            ended = ended[(place[ended] >= 0) & (self.ends[place[ended]] < moments[ended])]
        return np.where(place >= 0, self.windows[place], -1)
