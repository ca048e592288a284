"""What is wrong with a plot, as its parts lie when it is drawn."""

import contextlib
import itertools
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from harvest_report import Plot
from harvest_report.draw import drawn

SPANS = {
    "minutes": timedelta(minutes=20),
    "a day": timedelta(days=1),
    "a week": timedelta(days=8),
    "a month": timedelta(days=31),
    "a year": timedelta(days=365),
    "several years": timedelta(days=1500),
}
"""How far an axis of dates may reach."""


@contextlib.contextmanager
def laid_out(plot: Plot) -> Iterator[tuple[Any, list[str]]]:
    """The figure of a plot whose parts have their places, and its flaws.

    These are legends on data, labels over each other or cut off, axes without a unit.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # of the extra `report`

    with drawn(plot) as figure:
        renderer = FigureCanvasAgg(figure).get_renderer()
        figure.draw_without_rendering()
        yield figure, [*_of_legends(figure, renderer), *_of_ticks(figure, renderer)]


def flaws(plot: Plot) -> list[str]:
    """What is wrong with a plot."""
    with laid_out(plot) as (_, found):
        return found


def _of_legends(figure: Any, renderer: Any) -> Iterator[str]:
    legends = [*figure.legends, *(a.get_legend() for a in figure.axes if a.get_legend())]
    for legend, axes in itertools.product(legends, figure.axes):
        if _overlap(legend.get_window_extent(renderer), axes.get_window_extent(renderer)):
            yield f"a legend lies on the data of {axes.get_ylabel() or axes.get_title()!r}"
    for legend in legends:
        if not _within(legend.get_window_extent(renderer), figure.bbox):
            yield "a legend reaches out of the picture"


def _of_ticks(figure: Any, renderer: Any) -> Iterator[str]:
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            shown = [
                (tick.label1.get_text(), tick.label1.get_window_extent(renderer))
                for tick in axis.get_major_ticks()
                if tick.label1.get_visible() and tick.label1.get_text().strip()
                and low <= tick.get_loc() <= high and not tick.label1.get_rotation()
            ]  # fmt: skip
            for (one, box), (other, next_box) in itertools.pairwise(shown):
                if _overlap(box, next_box):
                    yield f"the labels {one!r} and {other!r} lie on each other"
            for text, box in shown:
                if not _within(box, figure.bbox):
                    yield f"the label {text!r} is cut off"


def _overlap(one: Any, other: Any) -> bool:
    """By more than a pixel or two, which rounding takes."""
    width = min(one.x1, other.x1) - max(one.x0, other.x0)
    height = min(one.y1, other.y1) - max(one.y0, other.y0)
    return bool(width > 2 and height > 2)


def _within(box: Any, around: Any) -> bool:
    return bool(
        box.x0 >= around.x0 - 2 and box.x1 <= around.x1 + 2
        and box.y0 >= around.y0 - 2 and box.y1 <= around.y1 + 2
    )  # fmt: skip
