"""Plots over time with a line for each worker or process: columns of time, and cells in colours."""

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import polars as pl

from .extra import need

__all__ = ["Window", "shades"]


@attrs.frozen
class Window:
    """The time that a plot covers, divided into columns of equal length.

    start_us, span_us: where it begins, and its length, in microseconds.
    """

    start_us: int
    span_us: int
    columns: int

    @property
    def seconds(self) -> float:
        """Its length in seconds."""
        return self.span_us / 1e6

    @property
    def width_us(self) -> float:
        """Length of a column in microseconds."""
        return self.span_us / self.columns

    def in_columns(self, pieces: pl.LazyFrame) -> pl.LazyFrame:
        """Return a row per piece of time and column that it touches, with its time ``inside``.

        pieces: have ``start`` and ``end`` in microseconds; in the result, since the start of the
            window.
        """
        # in whole numbers: a quotient of floats may fall just below a border
        whole = pl.Int64 if self.span_us * self.columns < 2**63 else pl.Int128
        start, end = (pl.col(name).cast(whole) * self.columns for name in ("start", "end"))
        # a piece does not touch the column that begins at its end
        first, last = (
            at.floordiv(self.span_us).clip(0, self.columns - 1).cast(pl.Int64)
            for at in (start, pl.max_horizontal(start, end - 1))
        )
        since = pl.max_horizontal("start", pl.col("column") * self.width_us)
        until = pl.min_horizontal("end", (pl.col("column") + 1) * self.width_us)
        return (
            pieces.with_columns(pl.col("start", "end") - self.start_us)
            .with_columns(column=pl.int_ranges(first, last + 1))
            .explode("column")
            .with_columns(inside=(until - since).clip(lower_bound=0))
        )

    def draw_longest(
        self,
        axes: Any,
        cells: pl.DataFrame,
        colours: Sequence[str],
        *,
        lines: int,
        faint: float,
        left: float = 0.0,
    ) -> None:
        """Draw each cell in the colour of its longest kind, the stronger the fuller the cell is.

        cells: line, column, kind (number of its colour) and ``inside``, the time of each kind.
        lines: their number; faint: least opacity of a cell with any kind, from 0 to 1.
        left: where the image begins on the axis of seconds.
        """
        longest = (
            cells.sort("inside", "kind", descending=[True, False])
            .group_by("line", "column", maintain_order=True)
            .agg(pl.col("kind").first(), pl.col("inside").sum())
        )
        share = (longest["inside"] / self.width_us).clip(0, 1).to_numpy()
        place = (longest["line"].to_numpy(), longest["column"].to_numpy())
        to_rgb = need("matplotlib.colors", "drawing a plot").to_rgb
        palette = np.array([to_rgb(colour) for colour in colours])
        picture = np.zeros((lines, self.columns, 4))
        picture[(*place, slice(0, 3))] = palette[longest["kind"].to_numpy()]
        picture[(*place, 3)] = faint + (1 - faint) * share
        extent = (left, left + self.seconds, lines - 0.5, -0.5)
        axes.imshow(picture, extent=extent, aspect="auto", interpolation="nearest", rasterized=True)


def shades(colour: str = "#0072b2", most: float = 1.0) -> Any:
    """Return a colour map from transparent to a colour, for light and dark pages.

    most: maximum opacity; below 1 for text on it.
    """
    colours = need("matplotlib.colors", "drawing a plot")
    red, green, blue = colours.to_rgb(colour)
    return colours.LinearSegmentedColormap.from_list(
        "harvest", [(red, green, blue, 0.0), (red, green, blue, most)]
    )
