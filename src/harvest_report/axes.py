"""Helpers of plots: legends next to the data, and axes in units that fit the data."""

from collections.abc import Sequence
from typing import Any, Final

from harvest.toolkit.amounts import BINARY_UNITS

from .extra import need

_SECONDS: Final = ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"),
                   (1e-3, "milliseconds"), (1e-6, "microseconds"))  # fmt: skip
_BYTES: Final = tuple((1024.0**power, unit) for power, unit in reversed([*enumerate(BINARY_UNITS)]))


def legend(figure: Any, handles: Sequence[Any] | None = None) -> None:
    """Add a legend above the axes, not over the data, in as many columns as fit.

    handles: the artists to name; by default all that have a label.
    """
    if handles is None:
        handles = [handle for axes in figure.axes for handle in axes.get_legend_handles_labels()[0]]
    paths = need("matplotlib.textpath", "drawing a plot")
    fonts = need("matplotlib.font_manager", "drawing a plot")
    named = need("matplotlib", "drawing a plot").rcParams["legend.fontsize"]  # or as "medium"
    points = fonts.FontProperties(size=named).get_size_in_points()
    widths = [
        paths.TextPath((0, 0), str(handle.get_label()), size=points).get_extents().width
        for handle in handles
    ]
    # matplotlib's spaces before a handle, between it and its text, and between columns are in em
    room = (figure.get_figwidth() * 72 - points) / (max(widths) + 4.5 * points)
    figure.legend(
        handles=handles,
        loc="outside upper left",
        ncols=max(1, min(len(handles), int(room))),
        handlelength=1.2,
        handleheight=0.9,
    )


def legend_below(axes: Any) -> None:
    """Add a legend below the axes, for one of several axes side by side."""
    axes.legend(loc="upper left", bbox_to_anchor=(0.0, -0.22), borderaxespad=0.0)


def name_bars(axes: Any, names: Sequence[str]) -> None:
    """Name the horizontal bars at 0, 1, 2 and so on; the first is on top."""
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)


def seconds_axis(axis: Any, longest: float, since: str) -> None:
    """Label an axis of seconds in a fitting unit: ``minutes since the job began``.

    longest: largest value in seconds.
    """
    size, unit = _fitting(_SECONDS, longest, at_least=2.0)
    _in_units(axis, size)
    axis.set_label_text(f"{unit} {since}".strip())


def bytes_axis(axis: Any, most: float, what: str = "", per: str = "") -> None:
    """Label an axis of bytes in a fitting unit: ``read (MiB/s)``.

    most: largest value in bytes; per: ``/s`` for a rate.
    """
    size, unit = _fitting(_BYTES, most, at_least=1.0)
    _in_units(axis, size)
    axis.set_label_text(f"{what} ({unit}{per})" if what else f"{unit}{per}")


def _fitting(
    units: Sequence[tuple[float, str]], most: float, *, at_least: float
) -> tuple[float, str]:
    """Return the largest unit in which ``most`` is at least ``at_least``."""
    for size, unit in units:
        if most >= at_least * size:
            return size, unit
    return next(each for each in units if each[0] == 1.0) if most <= 0 else units[-1]


def _in_units(axis: Any, size: float) -> None:
    """Put ticks at round numbers of a unit, and label them with these numbers."""
    ticker = need("matplotlib.ticker", "drawing a plot")

    class Rounded(ticker.MaxNLocator):  # type: ignore[misc, name-defined]
        def tick_values(self, vmin: float, vmax: float) -> Any:
            return super().tick_values(vmin / size, vmax / size) * size

    axis.set_major_locator(Rounded(nbins="auto", steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(lambda value, _: f"{value / size:,.6g}")
