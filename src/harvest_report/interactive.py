"""Interactive plots: the data of marks, and the scripts by which BokehJS draws them in a page."""

import base64
import gzip
import hashlib
import importlib.util
from pathlib import Path
from typing import Any, Final

import orjson
import polars as pl

from harvest.toolkit.texts import printable_line

from .draw import COLOURS
from .extra import need
from .model import Marks
from .values import texts_of

MOST_MARKS: Final = 100_000
"""Most marks that a browser opens in seconds; a plot with more stays a picture."""

_SIDES: Final = ("left", "right", "bottom", "top")


def digest(script: str) -> str:
    """Return the hash by which a page's content security policy allows a script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def as_data(value: Any) -> str:
    """Return JSON for a ``<script>`` element: nothing in it ends or begins an element."""
    return orjson.dumps(value).decode().replace("<", "\\u003c")


def scripts() -> list[str]:
    """Return the scripts of a page with interactive plots: BokehJS with its API, and ``marks.js``.

    Raises HarvestError without Bokeh, and ValueError when a script would end its ``<script>``.
    """
    static = need("bokeh.settings", "an interactive plot").settings.bokehjs_path()
    paths = [static / "js/bokeh.min.js", static / "js/bokeh-api.min.js"]
    found = [
        path.read_text(encoding="utf-8") for path in (*paths, Path(__file__).with_name("marks.js"))
    ]
    if any("</script" in each.lower() or "<!--" in each or "\r" in each for each in found):
        raise ValueError("a script that cannot stand in a page")
    return found


def item(marks: Marks, height: int) -> str:
    """Return the data that ``marks.js`` draws: JSON in gzip and base64.

    Empty when Bokeh is not installed, and for no marks or too many.
    height: of the plot, in pixels.
    """
    if importlib.util.find_spec("bokeh") is None or not 0 < marks.rows.height <= MOST_MARKS:
        return ""
    rows = marks.rows
    cycle = [light for name, (light, _) in COLOURS.items() if name.startswith("series-")]
    texts = {
        f"tip{number}": texts_of(rows[column.name].to_list(), column.format, scale=column.scale)
        for number, column in enumerate(marks.tips)
    }
    if marks.legend:
        texts["legend"] = [str(text) for text in rows[marks.legend]]
    plot = {
        "height": height,
        "x": marks.x,
        "ink": COLOURS["soft"][0],
        "grid": COLOURS["grid"][0],
        "sides": {side: _packed(rows[side]) for side in _SIDES},
        "colours": [
            cycle[int(colour[1:])] if colour.startswith("C") else colour
            for colour in rows["colour"]
        ],
        "texts": {name: list(map(printable_line, values)) for name, values in texts.items()},
        "tips": [
            (printable_line(column.heading), f"@tip{number}")
            for number, column in enumerate(marks.tips)
        ],
        "names": [(place, printable_line(name)) for place, name in marks.names.items()],
    }
    # without a timestamp, so that the same report gives the same page
    return base64.b64encode(gzip.compress(orjson.dumps(plot), mtime=0)).decode()


def _packed(numbers: pl.Series) -> str:
    """Return numbers as base64 of 64-bit floats, the lowest byte first."""
    return base64.b64encode(numbers.to_numpy().astype("<f8").tobytes()).decode()
