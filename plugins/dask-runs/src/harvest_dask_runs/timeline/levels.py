"""Levels of detail: what to draw of a timeline at which width of a pixel.

A level has bins of a certain width, a quarter of that of the level above.  On a lane, slices that
are shorter than a bin and begin in the same one are drawn as one mark.  What is longer, or alone
in its bin, is drawn as itself, at this level and at all that are finer.  So each slice is kept
once, at the first level that draws it as itself, and every level shows every slice once: as
itself, or counted in a mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs
import polars as pl

FACTOR: Final = 4
"""How many bins of a level lie in one of the level above: bins never cross."""
BINS: Final = 1024
"""The whole run has at least so many bins at the first level, where it has as many microseconds."""

MARK: Final[dict[str, pl.DataType]] = {
    "lane": pl.UInt32(),
    "name": pl.UInt32(),
    "start": pl.Int64(),
    "dur": pl.Int64(),
    "count": pl.UInt32(),
    "busy": pl.Int64(),
}
"""Columns of a mark: ``dur`` is from its first start to its last end, ``busy`` how much of that is
covered by slices, ``name`` the kind of slice with the most time in it."""

_CELL = ["lane", "layer", "bin"]


@attrs.frozen
class Level:
    """What one level adds.

    width: of a bin, in microseconds; 0 for the last level, which draws everything as itself.
    alone: slices that are drawn as themselves from this level on.
    merged: marks of this level, each for two slices or more.
    """

    width: int
    alone: pl.DataFrame
    merged: pl.DataFrame


def widths(span: int) -> list[int]:
    """The widths of bins for a run of ``span`` microseconds, widest first, down to 1."""
    found = [1]
    while found[-1] * FACTOR * BINS <= span:
        found.append(found[-1] * FACTOR)
    return found[::-1]


def levels(slices: pl.DataFrame, layer_of_name: Sequence[int], span: int) -> list[Level]:
    """The levels of a timeline, coarsest first; the last draws each slice as itself.

    slices: has lane, name, start and dur, all from 0.
    layer_of_name: by name, which slices of a lane may be drawn as one: those of the same layer.
    """
    layers = pl.Series("layer", layer_of_name, dtype=pl.UInt8)
    rest = slices.with_row_index("row").with_columns(layer=layers.gather(slices["name"]))
    found: list[Level] = []
    for width in widths(span):
        if rest.is_empty():
            break
        short = rest.filter(pl.col("dur") < width).with_columns(bin=pl.col("start") // width)
        crowd = short.filter(pl.len().over(_CELL) > 1)
        alone = rest.join(crowd.select("row"), on="row", how="anti", maintain_order="left")
        found.append(Level(width, alone.drop("row", "layer"), _merge(crowd)))
        rest = crowd.drop("bin")
    if not rest.is_empty() or not found:
        found.append(Level(0, rest.drop("row", "layer"), pl.DataFrame(schema=MARK)))
    return found


def _merge(crowd: pl.DataFrame) -> pl.DataFrame:
    """One mark for each lane, layer and bin."""
    end = pl.col("start") + pl.col("dur")
    ordered = crowd.sort("start", "dur").with_columns(end=end)
    reached = pl.col("end").cum_max().shift(1).over(_CELL)
    marks = (
        ordered.with_columns(
            busy=(pl.col("end") - pl.max_horizontal("start", reached)).clip(lower_bound=0)
        )
        .group_by(_CELL)
        .agg(
            pl.col("start").min(),
            pl.col("end").max(),
            pl.col("busy").sum(),
            count=pl.len(),
        )
    )
    most = (
        crowd.group_by(*_CELL, "name")
        .agg(time=pl.col("dur").sum(), number=pl.len())
        .sort("time", "number", "name", descending=[True, True, False])
        .unique(_CELL, keep="first", maintain_order=True)
        .select(*_CELL, "name")
    )
    return (
        marks.join(most, on=_CELL, how="left")
        .with_columns(dur=pl.col("end") - pl.col("start"))
        .sort("start", "lane", "layer")
        .select(pl.col(name).cast(kind) for name, kind in MARK.items())
    )
