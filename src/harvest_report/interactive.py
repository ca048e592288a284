"""Interactive plots, which Bokeh draws by a script inside the page."""

from __future__ import annotations

import base64
import gzip
import hashlib
import importlib.util
from typing import TYPE_CHECKING, Any, Final

import orjson

from harvest.toolkit.texts import printable_line

from .draw import COLOURS
from .extra import need
from .values import texts_of

if TYPE_CHECKING:
    from .model import Marks

MOST_MARKS: Final = 100_000
"""Most marks that a browser opens in seconds; a plot with more stays a picture."""

_SIDES: Final = ("left", "right", "bottom", "top")
_START: Final = """
const dark = matchMedia("(prefers-color-scheme: dark)").matches;
async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}
for (const data of document.querySelectorAll("script[data-plot]")) {
  const colours = JSON.parse(data.dataset.colours);
  const shown = (colour) => dark ? colours[colour] ?? colour : colour;
  unpacked(data.textContent).then((text) => {
    const target = document.getElementById(data.dataset.plot);
    target.hidden = false;
    return Bokeh.embed.embed_item(JSON.parse(text.replace(/#[0-9a-f]{6}/g, shown)), target.id)
      .then(() => { target.previousElementSibling.style.display = "none"; });
  });
}
"""


def digest(script: str) -> str:
    """Return the hash by which a page's content security policy allows a script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def as_data(value: Any) -> str:
    """Return JSON for a ``<script>`` element, in which no ``<`` begins or ends an element."""
    return orjson.dumps(value).decode().replace("<", "\\u003c")


def scripts() -> list[str]:
    """Return the scripts of a page with interactive plots, of which Bokeh's needs no network.

    Raises HarvestError without Bokeh, and ValueError when a script would end its ``<script>``.
    """
    resources = need("bokeh.resources", "an interactive plot").Resources(
        mode="inline", components=["bokeh"], log_level="warn"
    )
    found = ["\n".join(resources.js_raw), _START]
    if any("</script" in each.lower() or "<!--" in each or "\r" in each for each in found):
        raise ValueError("a script that cannot stand in a page")
    return found


def item(marks: Marks, target: str, height: int) -> str:
    """Return a figure as the data of ``Bokeh.embed.embed_item``, in gzip and base64.

    Empty when Bokeh is not installed, and for no marks or too many.
    target: id of the element that the figure fills; height: in pixels.
    """
    if importlib.util.find_spec("bokeh") is None or not 0 < marks.rows.height <= MOST_MARKS:
        return ""
    models = need("bokeh.models", "an interactive plot")
    data, tips = _texts_and_places(marks)
    zoom = models.BoxZoomTool()  # not the wheel, which scrolls the page
    others = [models.PanTool(), models.WheelZoomTool(dimensions="width"), models.ResetTool()]
    figure = need("bokeh.plotting", "an interactive plot").figure(
        sizing_mode="stretch_width",
        height=height,
        tools=[zoom, *others, models.HoverTool(tooltips=tips)],
        active_drag=zoom,
        active_scroll=None,
        toolbar_location="above",
        background_fill_color=None,
        border_fill_color=None,
        outline_line_color=None,
    )
    figure.toolbar.logo = None
    drawn = {side: side for side in _SIDES} | ({"legend_field": "legend"} if marks.legend else {})
    source = models.ColumnDataSource(data)
    figure.quad(**drawn, source=source, fill_color="colour", line_color="colour", line_width=0.5)
    _style(figure, marks, models)
    made = need("bokeh.embed", "an interactive plot").json_item(figure, target)
    # without a timestamp, so that the same report gives the same page
    return base64.b64encode(gzip.compress(orjson.dumps(made), mtime=0)).decode()


def _texts_and_places(marks: Marks) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Return the columns of Bokeh's source, and the label and column of each tip."""
    rows = marks.rows
    cycle = [light for name, (light, _) in COLOURS.items() if name.startswith("series-")]
    data: dict[str, Any] = {side: rows[side].to_numpy() for side in _SIDES}
    data["colour"] = [
        cycle[int(colour[1:])] if colour.startswith("C") else colour for colour in rows["colour"]
    ]
    if marks.legend:
        data["legend"] = [printable_line(str(text)) for text in rows[marks.legend]]
    tips = []
    for number, column in enumerate(marks.tips):
        texts = texts_of(rows[column.name].to_list(), column.format, scale=column.scale)
        data[f"tip{number}"] = [printable_line(text) for text in texts]
        tips.append((printable_line(column.heading), f"@tip{number}"))
    return data, tips


def _style(figure: Any, marks: Marks, models: Any) -> None:
    """Place the legend, and set labels and colours."""
    ink, grid = COLOURS["soft"][0], COLOURS["grid"][0]
    if marks.legend:
        figure.add_layout(figure.legend[0], "above")
        figure.legend.update(
            location="left",
            orientation="horizontal",
            ncols=3,
            background_fill_color=None,
            border_line_color=None,
            label_text_color=ink,
            padding=0,
        )
    figure.xaxis.axis_label = marks.x
    for axis in figure.axis:
        axis.axis_label_text_color = axis.major_label_text_color = ink
        axis.axis_line_color = axis.major_tick_line_color = axis.minor_tick_line_color = grid
    figure.xgrid.grid_line_color = grid
    figure.ygrid.grid_line_color = None
    if marks.names:
        figure.y_range.flipped = True
        figure.yaxis.ticker = models.FixedTicker(ticks=list(marks.names))
        figure.yaxis.major_label_overrides = {
            place: printable_line(name) for place, name in marks.names.items()
        }
