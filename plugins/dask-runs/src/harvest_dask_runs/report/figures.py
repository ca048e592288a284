"""Helpers of the plots of a run: colours, names, and time covered per cell."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from harvest.toolkit.layout import shorten
from harvest_report.over_time import Window

COLOURS: Final = ("C0", "C1", "C2", "C3", "C4")
"""Colours of the most important prefixes: as many as colour-blind readers can distinguish."""

OTHER: Final = "C5"
"""Colour of all prefixes beyond those."""

LABELLED: Final = 36


def mean_at_once(
    frame: pl.DataFrame, by: str, groups: Sequence[str | None], window: Window
) -> npt.NDArray[np.float64]:
    """Count how many rows of each group (rows) run in each part of the time (columns), on average.

    frame: has the column ``by``, and ``start`` and ``end`` in microseconds.
    """
    places = {name: number for number, name in enumerate(groups)}
    grid = np.zeros((max(len(groups), 1), window.columns))
    cells = window.in_columns(frame.lazy().select(by, "start", "end"))
    sums = cells.group_by(by, "column").agg(pl.col("inside").sum()).collect()
    for group, column, micros in sums.iter_rows():
        if group in places:
            grid[places[group], column] = micros
    return grid / window.width_us


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
