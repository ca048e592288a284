"""Axes of plots: legends next to the data, units that fit it, and labels that do not overlap.

Labels are numbers with all digits, and dates with their years.
"""

import itertools
from collections.abc import Sequence
from datetime import datetime
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
    loc = "outside upper left"
    ncols = max(1, min(len(handles), int(room)))
    figure.legend(handles=handles, loc=loc, ncols=ncols, handlelength=1.2, handleheight=0.9)


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


def date_formatter() -> Any:
    """Return a formatter that names the day and year at the first date and where they change.

    matplotlib's own names only the year of the last date, which may differ from the others.
    """
    dates = need("matplotlib.dates", "drawing a plot")
    ticker = need("matplotlib.ticker", "drawing a plot")

    class Dates(ticker.Formatter):  # type: ignore[misc, name-defined]
        def __call__(self, value: float, position: int | None = None) -> str:
            return f"{dates.num2date(value):%Y-%m-%d %H:%M:%S}"

        def format_ticks(self, values: Sequence[float]) -> list[str]:
            return dates_in_words([dates.num2date(value) for value in values])

    return Dates()


def dates_in_words(moments: Sequence[datetime]) -> list[str]:
    """Label ticks by the distance between them, with the day and the year below the label at the
    first tick and where they change.
    """
    gaps = [(b - a).total_seconds() for a, b in itertools.pairwise(moments)]
    gap = min(gaps, default=0.0)
    labels = []
    before: datetime | None = None
    for moment in moments:
        new_year = before is None or before.year != moment.year
        new_day = before is None or before.date() != moment.date()
        day = f"{moment.day} {moment:%b}"
        if gap >= 360 * 86400:
            labels.append(f"{moment.year}")
            continue
        if gap >= 0.9 * 86400:
            month = moment.day == 1 and gap >= 27 * 86400
            text = f"{moment:%b}" if month else day
        else:
            text = f"{moment:%H:%M:%S}" if gap < 60 else f"{moment:%H:%M}"
            text += f"\n{day}" if new_day else ""
        text += f"\n{moment.year}" if new_year else ""
        if 0 < gap < 1:
            text = text.replace(f"{moment:%H:%M:%S}", f"{moment:%H:%M:%S}.{moment:%f}"[:-3], 1)
        labels.append(text)
        before = moment
    return labels


SMALLEST = 5.0
"""Font size in points of the smallest label of an axis."""


def format_ticks(figure: Any) -> None:
    """Replace matplotlib's formatters of dates, and those that write powers of 10 as formulas."""
    from matplotlib import dates, ticker  # of the extra

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            formatter = axis.get_major_formatter()
            if isinstance(formatter, (dates.AutoDateFormatter, dates.ConciseDateFormatter)):
                axis.set_major_formatter(date_formatter())
            elif isinstance(formatter, ticker.LogFormatter):
                axis.set_major_formatter(ticker.FuncFormatter(_number))


def _number(value: float, _: int | None = None) -> str:
    """Format a number with all its digits: 1,000,000."""
    return f"{value:,.10f}".rstrip("0").rstrip(".") if 1e-6 < abs(value) < 1e15 else f"{value:g}"


def part_labels(figure: Any) -> None:
    """Separate labels that overlap: turn or shrink names, and show fewer numbers and dates.

    Labels are measured before the layout, which takes as long as drawing.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # of the extra

    canvas: Any = FigureCanvasAgg(figure)
    renderer = canvas.get_renderer()
    for axes in figure.axes:
        for axis, across in ((axes.xaxis, True), (axes.yaxis, False)):
            axis.get_majorticklabels()  # has the side effect that labels get their places
            low, high = sorted(axis.get_view_interval())
            visible = (tick for tick in axis.get_major_ticks() if tick.label1.get_visible())
            named = (tick for tick in visible if tick.label1.get_text().strip())
            ticks = [tick for tick in named if low <= tick.get_loc() <= high]
            every = _crowd([tick.label1 for tick in ticks], renderer, across=across)
            if every > 1:
                _thin(axis, ticks, every, across=across)


def _crowd(labels: Sequence[Any], renderer: Any, *, across: bool) -> int:
    """Return n such that every n-th label fits; 1 when no labels overlap."""
    if any(label.get_rotation() for label in labels):
        return 1
    boxes = [label.get_window_extent(renderer) for label in labels]
    ends = sorted((b.x0, b.x1) if across else (b.y0, b.y1) for b in boxes)
    gap = renderer.points_to_pixels(1.0) * (4.0 if across else 0.0)
    every = 1
    while every < len(ends) and any(
        one[1] + gap > other[0] for one, other in itertools.pairwise(ends[::every])
    ):
        every += 1
    return every


def _thin(axis: Any, ticks: Sequence[Any], every: int, *, across: bool) -> None:
    from matplotlib import category, ticker  # of the extra

    named = (ticker.FixedFormatter, category.StrCategoryFormatter)
    names = isinstance(axis.get_major_formatter(), named)
    labels = [tick.label1 for tick in ticks]
    if not names:
        axis.set_ticks([tick.get_loc() for tick in ticks][::every])
    elif across:
        axis.set_tick_params(labelrotation=30)
        for label in labels:
            label.set(ha="right", rotation_mode="anchor")
    else:
        axis.set_tick_params(labelsize=max(SMALLEST, labels[0].get_size() / every))
