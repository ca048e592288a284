"""Data and scripts of plots that a reader points at and zooms into.  BokehJS draws them."""

from __future__ import annotations

import base64
import gzip
import hashlib
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from harvest.toolkit.texts import printable_line

from .draw import COLOURS
from .extra import need
from .values import texts_of

if TYPE_CHECKING:
    import polars as pl

    from .model import Marks

MOST_MARKS: Final = 100_000
"""Marks of a plot that a browser opens in seconds; a plot of more stays a picture."""

_SIDES: Final = ("left", "right", "bottom", "top")


def _library() -> str:
    """BokehJS with its API for scripts; raises HarvestError where Bokeh is not installed."""
    static = need("bokeh.settings", "an interactive plot").settings.bokehjs_path()
    files = ("js/bokeh.min.js", "js/bokeh-api.min.js")
    return "\n".join((static / name).read_text(encoding="utf-8") for name in files)


def inline(script: str) -> str:
    """A script that can stand in a page; raises ValueError where it would end its element."""
    if "</script" in script.lower() or "<!--" in script or "\r" in script:
        raise ValueError("a script that cannot stand in a page")
    return script


def digest(script: str) -> str:
    """The hash by which a page's policy allows a script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def as_data(value: Any) -> str:
    """JSON for a ``<script>`` element: nothing in it ends or begins an element."""
    return orjson.dumps(value).decode().replace("<", "\\u003c")


def scripts() -> list[str]:
    """What a page with interactive plots runs."""
    own = Path(__file__).with_name("marks.js").read_text(encoding="utf-8")
    return [inline(_library()), inline(own)]


def item(marks: Marks, height: int) -> str:
    """What ``marks.js`` draws: JSON, packed by gzip, as base64.

    Empty where Bokeh is not installed, and where there are too many marks, or none.
    height: in pixels.
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
    # no time in it: the same report gives the same page
    return base64.b64encode(gzip.compress(orjson.dumps(plot), mtime=0)).decode()


def _packed(numbers: pl.Series) -> str:
    """Numbers as base64 of 64-bit floats, the lowest byte first."""
    return base64.b64encode(numbers.to_numpy().astype("<f8").tobytes()).decode()
