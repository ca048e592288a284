"""Finding the window that holds a moment, for millions of moments.

Windows lie in lanes: those of one thread, or those of one worker whose thread is unknown.
Within a lane, the windows are cut into pieces that do not overlap, so that the one that holds a
moment is found by binary search.  Where windows of a lane overlap (a thread runs one task at a
time, so this is rare), the one that began last holds the moment; of those that began together, the
one that ends first; then the first in order of key.
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
"""The end, in microseconds, of a window that never closes."""

Ints: TypeAlias = NDArray[np.int64]


@attrs.frozen
class Lanes:
    """The pieces of all lanes, in order of lane and time; times in microseconds after 1970.

    times: all different beginnings of pieces, ascending.
    codes: of each piece, lane and number of its beginning as one ascending integer.
    ends, windows: of each piece, its last moment and the number of its window.
    """

    times: Ints
    codes: Ints
    ends: Ints
    windows: Ints

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Lanes:
        """From columns lane, start, end and window, all int64."""
        pieces = _pieces(frame).sort("lane", "start")
        lane, start = _ints(pieces, "lane"), _ints(pieces, "start")
        times = np.unique(start)
        codes = lane * (len(times) + 1) + np.searchsorted(times, start, side="right")
        return cls(times, codes, _ints(pieces, "end"), _ints(pieces, "window"))

    def find(self, lanes: Ints, moments: Ints) -> Ints:
        """The window in each lane at each moment; -1 where there is none, or no lane (-1)."""
        if not len(self.codes):
            return np.full(len(lanes), -1, np.int64)
        # the last piece that begins at or before the moment has the greatest code up to this one
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
    """Windows (start, end, number) by start, as pieces that do not overlap; ends are included."""
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
