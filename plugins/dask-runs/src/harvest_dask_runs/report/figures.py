"""Helpers of the plots of a run: colours, names, and time covered per cell."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from harvest.toolkit.layout import shorten

INK: Final = "#1f2430"
"""The colour of text in reports' plots, which a page replaces on dark ground."""

COLOURS: Final = ("C0", "C1", "C2", "C3", "C4")
"""Colours of the most important prefixes: as many as colour-blind readers can distinguish."""

OTHER: Final = "C5"
"""Colour of all prefixes beyond those."""

LABELLED: Final = 36


def time_per_cell(
    frame: pl.DataFrame, by: Sequence[str], columns: int, first: int, last: int
) -> pl.DataFrame:
    """Sum the microseconds of each group in each of ``columns`` equal parts of a span.

    frame: has the columns of ``by``, and ``start`` and ``end`` in microseconds.
    first, last: the ends of the span, in microseconds.
    Gives the columns of ``by``, ``column`` and ``covered``.
    """
    width = max(last - first, 1) / columns
    shifted = frame.with_columns(pl.col("start", "end") - first)
    place = ((pl.col("start", "end") / width).floor().cast(pl.Int64)).clip(0, columns - 1)
    cells = shifted.with_columns(place.name.suffix("_column")).with_columns(
        column=pl.int_ranges("start_column", pl.col("end_column") + 1)
    )
    begin = pl.max_horizontal("start", pl.col("column") * width)
    end = pl.min_horizontal("end", (pl.col("column") + 1) * width)
    return (
        cells.select(*by, "start", "end", "column")
        .explode("column")
        .group_by(*by, "column")
        .agg(covered=(end - begin).clip(lower_bound=0).sum())
    )


def mean_at_once(
    frame: pl.DataFrame, by: str, groups: Sequence[str | None], columns: int, first: int, last: int
) -> npt.NDArray[np.float64]:
    """Count how many rows of each group (rows) run in each part of the time (columns), on average.

    The other parameters are those of ``time_per_cell``.
    """
    places = {name: number for number, name in enumerate(groups)}
    grid = np.zeros((max(len(groups), 1), columns))
    for group, column, micros in time_per_cell(frame, [by], columns, first, last).iter_rows():
        if group in places:
            grid[places[group], column] = micros
    return grid / (max(last - first, 1) / columns)


def shades(most: float = 1.0, colour: str = "#0072b2") -> Any:
    """Return a colour map from transparent to a colour, for light and dark pages.

    most: maximum opacity; below 1 for text on it.
    """
    from matplotlib.colors import LinearSegmentedColormap, to_rgb  # optional: the extra "report"

    red, green, blue = to_rgb(colour)
    return LinearSegmentedColormap.from_list(
        "harvest", [(red, green, blue, 0.0), (red, green, blue, most)]
    )


def name_workers(axes: Any, workers: Sequence[str], places: Sequence[float]) -> None:
    """Write names on the vertical axis: all if there is room, else some of them."""
    step = -(-len(workers) // LABELLED) or 1
    axes.set_yticks(list(places)[::step], [short(name) for name in workers[::step]])
    axes.tick_params(axis="y", length=0)


def short(worker: str | None) -> str:
    """Return an address without its protocol, shortened to fit."""
    if worker is None:
        return "not recorded"
    return shorten(worker.rpartition("://")[2], 24, "id")
