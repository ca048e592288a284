"""Draw plots as SVG and PNG: the same bytes for the same data, without global state.

Colours of text, axes and series come from a small palette.  A page replaces them by variables, so
that its plots follow the reader's choice of a light or dark page.
"""

import contextlib
import io
import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from typing import Any, Final
from weakref import WeakKeyDictionary

from harvest.toolkit.steps import step

from .axes import format_ticks, part_labels
from .extra import need
from .model import Plot

COLOURS: Final[Mapping[str, tuple[str, str]]] = {
    "ink": ("#1f2430", "#e6e9ef"),
    "soft": ("#5c6470", "#a7afbd"),
    "grid": ("#dde1e7", "#363c48"),
    # after Okabe and Ito; tests/test_report_plots.py measures that colour-blind readers can
    # distinguish any two of them, and the contrast of each with the background
    "series-0": ("#0072b2", "#56b4e9"),
    "series-1": ("#d55e00", "#d9642a"),
    "series-2": ("#0aa574", "#8fe3c4"),
    "series-3": ("#c04fd0", "#b45cd8"),
    "series-4": ("#604400", "#f5d742"),
    "series-5": ("#4d5a6a", "#808b9b"),
}
"""Colours by name: the value on a light page and on a dark page."""

INK: Final = COLOURS["ink"][0]
"""Colour of text and of lines over the data, which a dark page replaces."""

SVG_NAMESPACE = "http://www.w3.org/2000/svg"
LINK = "{http://www.w3.org/1999/xlink}href"
PNG_DPI = 144
# a user's matplotlibrc must not change a report; these settings do not affect its style
_NOT_STYLE = frozenset(
    ("backend", "backend_fallback", "interactive", "toolbar", "timezone", "tk.window_focus")
)


def to_svg(plot: Plot) -> bytes:
    """Draw the plot as an SVG file on a white background."""
    return draw(plot, "svg")["svg"]


def to_png(plot: Plot) -> bytes:
    """Draw the plot as a PNG file on a white background, 144 dots per inch."""
    return draw(plot, "png")["png"]


def to_inline_svg(plot: Plot, caption: str) -> str:
    """Draw the plot as an ``<svg>`` element for a page.

    Its ids begin with the plot's name, its background is transparent, its colours are the
    variables ``--plot-ink``, ``--plot-series-0`` and so on.

    caption: id of the element that describes the plot.
    """
    root = ET.fromstring(to_svg(plot).decode())  # noqa: S314 - matplotlib's own output
    parents = {child: parent for parent in root.iter() for child in parent}
    for element in list(parents):
        ground = element.get("id") == "patch_1" and parents[element].get("id") == "figure_1"
        if ground or element.tag == f"{{{SVG_NAMESPACE}}}metadata":
            parents[element].remove(element)
    prefix = f"{plot.name}-"
    for element in root.iter():
        for key, value in list(element.attrib.items()):
            del element.attrib[key]
            if key == "id":
                element.set("id", prefix + value)
            elif key == LINK:
                element.set("href", f"#{prefix}{value[1:]}" if value.startswith("#") else value)
            else:
                element.set(key, _URL.sub(rf"url(#{prefix}\1)", _HEX.sub(_variable, value)))
    root.attrib.pop("version", None)
    # the page sets the width; the height follows
    root.attrib.pop("height", None)
    root.set("width", f"{plot.size[0] * 96:.0f}")
    root.set("role", "img")
    root.set("aria-labelledby", caption)
    ET.register_namespace("", SVG_NAMESPACE)
    return ET.tostring(root, encoding="unicode")


_COMMENT = re.compile(rb"<!--.*?-->\s*", re.DOTALL)
_NO_SVG_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}
_URL = re.compile(r"url\(#([^)]*)\)")
_HEX = re.compile("#[0-9a-fA-F]{6}")
_NAMES = {light: name for name, (light, _) in COLOURS.items()}


def _variable(found: re.Match[str]) -> str:
    colour = found[0].lower()
    return f"var(--plot-{_NAMES[colour]}, {colour})" if colour in _NAMES else found[0]


def draw(plot: Plot, *formats: str) -> Mapping[str, bytes]:
    """Return the plot's files by format, ``svg`` or ``png``; each file is drawn once and cached.

    Formats of one call share a figure, because its layout is most of the work.
    """
    files = _FILES.setdefault(plot, {})
    missing = [file_format for file_format in formats if file_format not in files]
    if missing:
        step(f"drawing {plot.title}")
        with drawn(plot) as figure:
            figure.get_layout_engine().execute(figure)
            figure.set_layout_engine("none")  # otherwise each file repeats the layout
            files.update({name: _saved(figure, name) for name in missing})
    return files


_FILES: WeakKeyDictionary[Plot, dict[str, bytes]] = WeakKeyDictionary()


def _saved(figure: Any, file_format: str) -> bytes:
    # savefig would draw the figure again; without dates and versions, same data give same bytes
    buffer = io.BytesIO()
    figure.set_dpi(PNG_DPI)  # writing SVG changes it
    if file_format == "png":
        agg = need("matplotlib.backends.backend_agg", "drawing a plot")
        agg.FigureCanvasAgg(figure).print_png(buffer, metadata={"Software": None})
        return buffer.getvalue()
    svg = need("matplotlib.backends.backend_svg", "drawing a plot")
    svg.FigureCanvasSVG(figure).print_svg(buffer, metadata=_NO_SVG_METADATA)
    # matplotlib repeats texts in comments with their control characters, which is invalid XML
    return _COMMENT.sub(b"", buffer.getvalue())


@contextlib.contextmanager
def drawn(plot: Plot) -> Iterator[Any]:
    """Yield the figure of a plot, to be saved or measured while its style is active."""
    matplotlib = need("matplotlib", "drawing a plot")
    figure_class = need("matplotlib.figure", "drawing a plot").Figure
    with matplotlib.rc_context(_style(matplotlib)), warnings.catch_warnings():
        # a character that the font lacks is drawn as a box, which readers of the plot see
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure = figure_class(figsize=plot.size, layout="constrained", facecolor="white")
        plot.draw(figure)
        format_ticks(figure)
        part_labels(figure)
        yield figure


def _style(matplotlib: Any) -> dict[str, Any]:
    light = {name: value for name, (value, _) in COLOURS.items()}
    series = [value for name, value in light.items() if name.startswith("series-")]
    defaults = {k: v for k, v in matplotlib.rcParamsDefault.items() if k not in _NOT_STYLE}
    return {
        **defaults,
        "font.family": "DejaVu Sans",
        "font.size": 9.0,
        "text.color": light["ink"],
        # a dollar sign in a name of the data does not begin a formula
        "text.parse_math": False,
        "axes.prop_cycle": matplotlib.rcsetup.cycler(color=series),
        "axes.facecolor": "none",
        "axes.edgecolor": light["soft"],
        "axes.labelcolor": light["ink"],
        "axes.titlecolor": light["ink"],
        "axes.titlelocation": "left",
        "axes.titlesize": 9.5,
        "axes.titleweight": "bold",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.unicode_minus": True,
        "grid.color": light["grid"],
        "grid.linewidth": 0.8,
        "xtick.color": light["soft"],
        "ytick.color": light["soft"],
        "xtick.labelcolor": light["ink"],
        "ytick.labelcolor": light["ink"],
        "legend.frameon": False,
        "legend.fontsize": 8.5,
        "date.converter": "concise",
        "svg.fonttype": "path",
        "svg.hashsalt": "harvest",
    }
