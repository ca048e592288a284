"""How a timeline is drawn: kinds of slices, and the figure as Bokeh's models.

Of the figure these are axes, tools, and an empty glyph for each kind.  The page's script fills the
glyphs with what is visible.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs
import polars as pl

from harvest import HarvestError
from harvest.toolkit.texts import excerpt, printable_line

from ..critical.path import PARTS
from ..report.figures import COLOURS, OTHER
from .slices import Lane, Slices

TASKS, MOVES, FILES = range(3)
"""Layers: slices of a lane are never drawn as one with those of another layer."""

PALE: Final = 0.4

HUES: Final = (
    *COLOURS,
    *("#c2577e", "#2a9fb0", "#8f6b4e", "#7d9a20", "#6a74c9", "#d0783c"),
)
"""More than colour-blind readers can distinguish: a slice says its kind when it is pointed at."""


@attrs.frozen
class Kind:
    """Slices that are drawn the same.

    colour: the name of one of a report's plots, or a value; label: in the legend.
    """

    label: str
    colour: str
    alpha: float
    layer: int


TRANSFERS: Final = {
    "transfer": Kind("transfers", "transfer", 1.0, MOVES),
    "transfer.untold": Kind("transfers, by the other side", "transfer", PALE, MOVES),
}
READ: Final = Kind("I/O: read", "ink", 1.0, FILES)
WRITE: Final = Kind("I/O: write", "write", 1.0, FILES)
WAITS: Final = {
    part: Kind(f"critical path: {part}", colour, 1.0, TASKS)
    for part, colour in zip(PARTS[1:], ("transfer", "write", "ink", "#b8860b", "grid"), strict=True)
}
OTHER_IO: Final = Kind("I/O: other", "grid", 1.0, FILES)


def kinds_of(slices: Slices) -> tuple[list[Kind], list[int]]:
    """The kinds that a run has, and for each of its names the number of its kind.

    The prefixes with the most time have a colour of their own, as in the report ``dask.run``.
    """
    time = slices.rows.group_by("name").agg(time=pl.col("dur").sum())
    tasks = (
        slices.names.with_row_index("number")
        .filter(pl.col("cat") == "task")
        .join(time, left_on="number", right_on="name")
        .sort("time", "name", descending=[True, False])["name"]
        .to_list()
    )
    chosen = {
        name: Kind(name, _name(colour), 1.0, TASKS)
        for name, colour in zip(tasks, HUES, strict=False)
    }
    beyond = len(tasks) - len(chosen)
    others = Kind(f"{beyond} other kinds of tasks", _name(OTHER), 1.0, TASKS)

    def kind_of(row: Mapping[str, Any]) -> Kind:
        if row["cat"] in ("task", "path"):  # the path has the colours of its tasks
            return chosen.get(row["name"], others)
        if row["cat"] == "path.wait":
            return WAITS[row["name"]]
        if row["cat"] == "io":
            return {"read": READ, "write": WRITE}.get(row["name"], OTHER_IO)
        return TRANSFERS[row["cat"]]

    of_names = [kind_of(row) for row in slices.names.iter_rows(named=True)]
    order = [*chosen.values(), others, *TRANSFERS.values(), READ, WRITE, OTHER_IO, *WAITS.values()]
    present = set(of_names)
    numbers = {kind: i for i, kind in enumerate(k for k in order if k in present)}
    return list(numbers), [numbers[kind] for kind in of_names]


def _name(colour: str) -> str:
    """The name that a page has for a colour of matplotlib's cycle."""
    return f"series-{colour[1:]}" if colour.startswith("C") else colour


LABEL: Final = 44
"""Characters of a lane's name that are shown next to it."""
SIDES: Final = ("left", "right", "top", "bottom")
FINEST: Final = 20e-6
"""Seconds that are visible at the closest zoom."""


def need(module: str) -> Any:
    """Import a module of the extra ``timeline``; raises HarvestError saying what to install."""
    library = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if error.name is not None and error.name.partition(".")[0] != library:
            raise
        raise HarvestError(
            f"a timeline needs {library}, which is not installed",
            remedy="install hpc-harvest-dask-runs with the extra 'timeline'",
        ) from error


def rows_of(lanes: Sequence[Lane]) -> tuple[list[str], list[int]]:
    """The labels of all rows, and the row of each lane; a process has a row above its lanes."""
    labels: list[str] = []
    places: list[int] = []
    for process, threads in itertools.groupby(lanes, lambda lane: lane.process):
        labels.append(_brief(process))
        for lane in threads:
            places.append(len(labels))
            labels.append(_brief(lane.thread))
    return labels, places


def _brief(text: str) -> str:
    return excerpt(printable_line(text), LABEL)


def figure_item(
    labels: Sequence[str], row_of_lane: Sequence[int], kinds: Sequence[Kind], seconds: float
) -> Any:
    """The figure as the JSON that ``Bokeh.embed.embed_item`` takes.

    labels: of rows, from above.  Its models bear names by which the page's script finds them.
    """
    models = need("bokeh.models")
    margin = seconds / 100
    height = max(len(labels), 1)
    times = models.Range1d(
        name="times", start=-margin, end=seconds + margin, bounds=(-margin, seconds + margin),
        min_interval=min(FINEST, seconds),
    )  # fmt: skip
    rows = models.Range1d(name="rows", start=height, end=0, bounds=(0, height))
    figure = need("bokeh.plotting").figure(
        name="timeline", x_range=times, y_range=rows, sizing_mode="stretch_width", height=400,
        tools=[
            models.PanTool(),
            models.WheelZoomTool(name="zoom", dimensions="width"),
            models.WheelPanTool(dimension="height", modifiers={"shift": True}),
            models.BoxZoomTool(dimensions="width"),
            models.SaveTool(filename="timeline"),
        ],
        toolbar_location="above", min_border=0,
    )  # fmt: skip
    figure.toolbar.active_scroll = figure.select_one({"name": "zoom"})
    figure.toolbar.logo = None
    figure.xaxis.axis_label = "seconds since the first event of the run"
    figure.yaxis.ticker = models.FixedTicker(ticks=[row + 0.5 for row in range(len(labels))])
    figure.yaxis.major_label_overrides = {row + 0.5: text for row, text in enumerate(labels)}
    figure.ygrid.visible = False
    figure.yaxis.major_tick_line_color = None
    bands = sorted(set(range(len(labels))) - set(row_of_lane))
    figure.hstrip(y0=bands, y1=[row + 1 for row in bands], name="bands", line_color=None)
    for number in sorted(range(len(kinds)), key=lambda i: kinds[i].layer):
        figure.quad(
            **{side: side for side in SIDES}, name=f"kind-{number}",
            source=models.ColumnDataSource({side: [] for side in SIDES}),
            line_color=None, fill_alpha=kinds[number].alpha,
        )  # fmt: skip
    return need("bokeh.embed").json_item(figure, "plot")
