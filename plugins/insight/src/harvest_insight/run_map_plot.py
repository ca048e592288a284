"""The plot of the metadata map: levels by layers, and levels by steps."""

from collections.abc import Mapping
from typing import Any, Final

from harvest.model import LAYERS, LEVELS
from harvest_report import COLOURS, INK, Plot

Cells = Mapping[tuple[str, str | int], tuple[int, int, int]]
"""(level, layer or step) -> records, record types in the dataset, record types known."""

SOFT: Final = COLOURS["soft"][0]
GAP: Final = 0.06
BOX: Final = "round,pad=0,rounding_size=0.08"


def map_plot(cells: Cells, steps: Mapping[int, str]) -> Plot:
    """Plot a box per place: filled if it has records, dashed if only a source for it is known."""

    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=[len(LAYERS), len(steps)])
        _grid(left, cells, {layer: f"\n{layer}" for layer in LAYERS}, "layers")
        named = {step: f"{step} {name}" for step, name in steps.items()}
        _grid(right, cells, {k: v.replace(" ", "\n", 1) for k, v in named.items()}, "steps")
        left.set_yticks(range(len(LEVELS)), LEVELS)
        left.set_ylim(len(LEVELS) - 0.4, -0.6)

    held = [f"{level} × {column}" for (level, column), (rows, *_) in cells.items()
            if rows and column in LAYERS]  # fmt: skip
    return Plot(
        "map",
        draw,
        "The map",
        "Levels (rows) by layers and by steps of the run's life (columns). A filled box holds "
        "records: their number, and how many of the known record types of that place were "
        "harvested. A dashed box is empty, although an installed source declares types for it; "
        "where the box is missing, none does. "
        + (f"Filled: {', '.join(sorted(held))}." if held else "No box is filled."),
        size=(9.4, 4.6),
    )


def _grid(axes: Any, cells: Cells, columns: Mapping[Any, str], title: str) -> None:
    from matplotlib.patches import FancyBboxPatch  # from the extra `report`

    for x, column in enumerate(columns):
        for y, level in enumerate(LEVELS):
            if (level, column) not in cells:
                axes.plot([x], [y], marker=".", markersize=2, color=SOFT)
                continue
            rows, held, known = cells[level, column]
            corner, side = (x - 0.5 + GAP, y - 0.5 + GAP), 1 - 2 * GAP
            filling: dict[str, Any] = (
                {"facecolor": "C2", "alpha": 0.32} if rows else {"facecolor": "none"}
            )
            edge = {"edgecolor": "C2"} if rows else {"edgecolor": SOFT, "linestyle": (0, (3, 3))}
            for look in (
                {**filling, "edgecolor": "none"},
                {**edge, "facecolor": "none", "linewidth": 1.0},
            ):
                axes.add_patch(FancyBboxPatch(corner, side, side, boxstyle=BOX, **look))
            if rows:
                axes.text(x, y - 0.12, short(rows), ha="center", va="center", color=INK,
                          fontsize=9, fontweight="bold")  # fmt: skip
            axes.text(x, y + (0.24 if rows else 0.02), f"{held} of {known}", ha="center",
                      va="center", color=INK if rows else SOFT, fontsize=7)  # fmt: skip
    axes.set_xticks(range(len(columns)), columns.values())
    axes.set_xlim(-0.6, len(columns) - 0.4)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set_title(title, fontsize=9)
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)


def short(count: int) -> str:
    """Format a count in about four characters: 987, 5.2k, 123k, 4.5M."""
    value = float(count)
    for unit in ("", "k", "M", "G"):
        if value < 999.5 or unit == "G":
            break
        value /= 1000
    return f"{value:.0f}{unit}" if value >= 99.95 or not unit else f"{value:.1f}{unit}"
