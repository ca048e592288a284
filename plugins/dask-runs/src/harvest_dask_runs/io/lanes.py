"""Search for the window that contains a moment, for millions of moments.

A lane has the windows of one thread, or those of one worker whose thread is unknown.  The windows
of a lane are cut into pieces that do not overlap, so that binary search finds the one that contains
a moment.  Where windows of a lane overlap (rarely, since a thread runs one task at a time), the one
that began last counts; of those that began together, the one that ends first; then the first in
order of key.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import TypeAlias

import attrs
import numpy as np
import polars as pl
from numpy.typing import NDArray

FOREVER = 2**62
"""End, in microseconds, of a window that never closes."""

Ints: TypeAlias = NDArray[np.int64]


@attrs.frozen
class Lanes:
    """The pieces of all lanes, in order of lane and time, in microseconds of the epoch.

    times: distinct starts of pieces, ascending.
    codes: lane and number of the start of each piece as one ascending integer.
    ends, windows: last moment of each piece, and number of its window.
    """

    times: Ints
    codes: Ints
    ends: Ints
    windows: Ints

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Lanes:
        """Build from the columns lane, start, end and window, all int64."""
        pieces = _pieces(frame).sort("lane", "start")
        lane, start = _ints(pieces, "lane"), _ints(pieces, "start")
        times = np.unique(start)
        codes = lane * (len(times) + 1) + np.searchsorted(times, start, side="right")
        return cls(times, codes, _ints(pieces, "end"), _ints(pieces, "window"))

    def find(self, lanes: Ints, moments: Ints) -> Ints:
        """Find the window in each lane at each moment; -1 for none, or if the lane is -1."""
        if not len(self.codes):
            return np.full(len(lanes), -1, np.int64)
        # the last piece that begins at or before the moment has the largest code up to this one
        number = np.searchsorted(self.times, moments, side="right")
        place = np.searchsorted(self.codes, lanes * (len(self.times) + 1) + number, "right") - 1
        piece = np.maximum(place, 0)
        held = (
            (lanes >= 0)
            & (place >= 0)
            & (self.codes[piece] // (len(self.times) + 1) == lanes)
            & (moments <= self.ends[piece])
        )
        return np.where(held, self.windows[piece], -1)


def _ints(frame: pl.DataFrame, column: str) -> Ints:
    return np.ascontiguousarray(frame[column].to_numpy(), dtype=np.int64)


def _pieces(frame: pl.DataFrame) -> pl.DataFrame:
    shape = ["lane", "start", "end", "window"]
    reach = pl.col("end").cum_max().shift(1).over("lane")
    grouped = (
        frame.select(shape)
        .sort("lane", "start", "end", "window")
        .with_columns(cluster=(reach.is_null() | (pl.col("start") > reach)).cum_sum())
        .with_columns(size=pl.len().over("cluster"))
    )
    alone = grouped.filter(pl.col("size") == 1).select(shape)
    tangled = grouped.filter(pl.col("size") > 1)
    clusters = tangled.group_by("cluster", "lane", maintain_order=True).agg(shape[1:])
    cut = [
        (lane, *piece)
        for _, lane, *windows in clusters.iter_rows()
        for piece in _cut([*zip(*windows, strict=True)])
    ]
    schema = {name: pl.Int64() for name in shape}
    return pl.concat([alone, pl.DataFrame(cut, schema=schema, orient="row")])


def _cut(windows: list[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
    """Cut windows (start, end, number), ordered by start, into pieces without overlap.

    Ends are included.
    """
    held: list[tuple[int, int, int]] = []
    now = windows[0][0]
    for start, end, number in [*windows, (FOREVER + 1, FOREVER, -1)]:
        while held and now < start:
            _, last, owner = held[0]
            if last < now:
                heapq.heappop(held)
                continue
            until = min(last, start - 1)
            yield now, until, owner
            now = until + 1
        now = max(now, start)
        heapq.heappush(held, (-start, end, number))
