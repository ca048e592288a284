"""Lanes: which intervals can share a line of a picture.

In a trace, the slices of one track must nest or be apart.  Nearly always all intervals of a track
are apart, which is found column-wise; only the tracks with overlaps are gone through one by one.
"""

from __future__ import annotations

import polars as pl


def with_lanes(frame: pl.DataFrame, track: str | list[str], *, nest: bool = False) -> pl.DataFrame:
    """The rows with the column ``lane``, from 0: within a track and lane no two overlap.

    frame: has the columns ``start`` and ``end`` (start <= end, not null); its order is kept.
    track: columns that name the track; nulls are a value like any other.
    nest: an interval may also lie within another of the same lane.

    Intervals that touch do not overlap.
    """
    by = [track] if isinstance(track, str) else track
    before = pl.col("end").cum_max().shift(1).over(by)
    numbered = frame.with_row_index("_row")
    clash = (
        numbered.sort(*by, "start", "end")
        .filter((pl.col("start") < before).fill_null(value=False))
        .select(by)
        .unique()
    )
    if clash.is_empty():
        return frame.with_columns(lane=pl.lit(0, pl.Int64))
    odd = numbered.join(clash, on=by, how="semi", nulls_equal=True)
    rows: list[int] = []
    lanes: list[int] = []
    for group in odd.partition_by(by):
        ordered = group.sort("start", "end", descending=[False, nest])
        rows += ordered["_row"].to_list()
        starts, ends = (ordered[c].to_physical().to_list() for c in ("start", "end"))
        lanes += _nested(starts, ends) if nest else _apart(starts, ends)
    placed = pl.DataFrame(
        {"_row": rows, "lane": lanes}, schema={"_row": numbered.schema["_row"], "lane": pl.Int64}
    )
    return (
        numbered.join(placed, on="_row", how="left", maintain_order="left")
        .with_columns(pl.col("lane").fill_null(0))
        .drop("_row")
    )


def _apart(starts: list[int], ends: list[int]) -> list[int]:
    """For each interval, ordered by start, the first lane that is free."""
    last: list[int] = []
    lanes = []
    for start, end in zip(starts, ends, strict=True):
        for number, busy_until in enumerate(last):
            if busy_until <= start:
                last[number] = end
                lanes.append(number)
                break
        else:
            lanes.append(len(last))
            last.append(end)
    return lanes


def _nested(starts: list[int], ends: list[int]) -> list[int]:
    """For each interval, ordered by start and, longest first, by end, the first lane that fits."""
    open_ends: list[list[int]] = []
    lanes = []
    for start, end in zip(starts, ends, strict=True):
        for number, stack in enumerate(open_ends):
            while stack and stack[-1] <= start:
                stack.pop()
            if not stack or end <= stack[-1]:
                stack.append(end)
                lanes.append(number)
                break
        else:
            lanes.append(len(open_ends))
            open_ends.append([end])
    return lanes
