"""The task stream and the occupancy of workers, as plots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from harvest.report import Plot

from .report_figures import COLOURS, INK, OTHER, covered, name_workers, shades, short

__all__ = ["lines_of", "occupancy", "stream"]

DRAWN_AS_SHAPES = 2_500
IMAGE_COLUMNS = 1_500
OCCUPANCY_COLUMNS = 240


def lines_of(tasks: pl.DataFrame) -> pl.DataFrame:
    """The lines of a task stream: worker, thread and ``line``, from 0 at the top."""
    return (
        tasks.select("worker", "thread")
        .unique()
        .sort("worker", "thread", nulls_last=True)
        .with_row_index("line")
        .with_columns(pl.col("line").cast(pl.Int64))
    )


def stream(tasks: pl.DataFrame, prefixes: Sequence[str | None]) -> Plot:
    """Executions as bars on the line of their worker and thread, coloured by prefix.

    tasks: worker, thread, prefix, start and end in microseconds of the run.
    prefixes: those that have a colour of their own come first, by importance.
    """
    lines = lines_of(tasks)
    colours = {name: COLOURS[i] if i < len(COLOURS) else OTHER for i, name in enumerate(prefixes)}
    placed = tasks.join(lines, on=["worker", "thread"], how="left", nulls_equal=True)
    first, last = _range(placed)
    height = min(1.1 + 0.16 * lines.height, 7.5) if lines.height > 6 else 2.2

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        if placed.height <= DRAWN_AS_SHAPES:
            _bars(axes, placed, colours)
        else:
            _image(axes, placed, colours, lines.height, first, last)
        axes.set_ylim(lines.height - 0.4, -0.6)
        margin = (last - first) / 100  # or a bar at an end would be cut in two
        axes.set_xlim((first - margin) / 1e6, (last + margin) / 1e6)
        axes.set_xlabel("seconds since the first event of the run")
        _blocks(axes, lines)
        axes.grid(visible=False, axis="y")
        _legend(figure, colours)

    return Plot(
        "stream",
        draw,
        "Task stream",
        f"{tasks.height:,} executions of {len(colours)} kinds of tasks over time, a line for each "
        f"of {lines.height} threads on {lines['worker'].n_unique()} workers, coloured by prefix.",
        size=(9.4, height + 0.2 * -(-min(len(colours), len(COLOURS) + 1) // 4)),
    )


def occupancy(tasks: pl.DataFrame, workers: Sequence[str], threads: int) -> Plot:
    """How many threads of each worker were executing, over time.

    workers: all that the run had, so that the idle ones show; threads: of a worker, at most.
    """
    first, last = _range(tasks)
    shifted = tasks.with_columns(pl.col("start", "end") - first)
    columns = OCCUPANCY_COLUMNS
    cells = covered(shifted, ["worker"], columns, last - first)
    width = max(last - first, 1) / columns

    def draw(figure: Any) -> None:
        import numpy as np

        places = {name: number for number, name in enumerate(workers)}
        grid = np.zeros((max(len(workers), 1), columns))
        for worker, column, micros in cells.iter_rows():
            if worker in places:
                grid[places[worker], column] = micros / width
        above, axes = figure.subplots(
            2, 1, sharex=True, height_ratios=[1.0, max(0.17 * len(workers), 0.9)]
        )
        edges = np.linspace(first / 1e6, last / 1e6, columns + 1)
        above.stairs(grid.sum(axis=0), edges, color="C0", fill=True, alpha=0.35)
        above.stairs(grid.sum(axis=0), edges, color="C0", linewidth=1.0)
        above.set_ylabel("all workers", fontsize=8)
        above.set_ylim(bottom=0)
        image = axes.pcolormesh(
            edges, np.arange(len(workers) + 1) - 0.5, grid, cmap=shades(), vmin=0,
            vmax=max(threads, 1), rasterized=True,
        )  # fmt: skip
        axes.set_ylim(len(workers) - 0.5, -0.5)
        name_workers(axes, workers, range(len(workers)))
        axes.grid(visible=False)
        axes.set_xlabel("seconds since the first event of the run")
        bar = figure.colorbar(image, ax=axes, fraction=0.03, pad=0.01)
        bar.ax.yaxis.get_major_locator().set_params(integer=True)
        bar.set_label("threads executing", fontsize=8)
        bar.outline.set_visible(False)

    busy = float(cells["covered"].sum()) / 1e6
    return Plot(
        "occupancy",
        draw,
        "Occupancy of workers",
        f"Above, how many threads of all workers were executing tasks over time; below, a row for "
        f"each of {len(workers)} workers, darker where more of its threads were. {busy:,.1f} "
        "thread-seconds in all.",
        size=(9.4, min(2.6 + 0.17 * len(workers), 8.0)),
    )


def _range(tasks: pl.DataFrame) -> tuple[int, int]:
    first, last = int(tasks["start"].min() or 0), int(tasks["end"].max() or 0)  # type: ignore[arg-type]
    return first, max(last, first + 1)


def _bars(axes: Any, placed: pl.DataFrame, colours: dict[str | None, str]) -> None:
    for name, colour in colours.items():
        mine = placed.filter(pl.col("prefix").eq_missing(pl.lit(name, pl.String)))
        axes.barh(
            mine["line"].to_numpy(),
            ((mine["end"] - mine["start"]) / 1e6).to_numpy(),
            left=(mine["start"] / 1e6).to_numpy(),
            height=0.82,
            color=colour,
            linewidth=0.4,
            # the shortest are still to be seen
            edgecolor=colour,
        )


def _image(
    axes: Any,
    placed: pl.DataFrame,
    colours: dict[str | None, str],
    lines: int,
    first: int,
    last: int,
) -> None:
    """A picture: each cell in the colour of what ran longest there, as dense as it was busy."""
    import numpy as np
    from matplotlib.colors import to_rgb

    number = {name: i for i, name in enumerate(colours)}
    kinds = pl.DataFrame(
        {"prefix": list(number), "kind": list(number.values())},
        schema={"prefix": pl.String, "kind": pl.Int64},
    )
    shifted = placed.join(kinds, on="prefix", how="left", nulls_equal=True).select(
        "line", "kind", pl.col("start", "end") - first
    )
    cells = (
        covered(shifted, ["line", "kind"], IMAGE_COLUMNS, last - first)
        .sort("covered", "kind", descending=[True, False])
        .group_by("line", "column", maintain_order=True)
        .agg(pl.col("kind").first(), pl.col("covered").sum())
    )
    share = (cells["covered"] / (max(last - first, 1) / IMAGE_COLUMNS)).clip(0, 1).to_numpy()
    picture = np.zeros((lines, IMAGE_COLUMNS, 4))
    palette = np.array([to_rgb(colour) for colour in colours.values()])
    place = (cells["line"].to_numpy(), cells["column"].to_numpy())
    picture[(*place, slice(0, 3))] = palette[cells["kind"].to_numpy()]
    # what is short is faint, but never gone
    picture[(*place, 3)] = 0.25 + 0.75 * share
    axes.imshow(
        picture,
        extent=(first / 1e6, last / 1e6, lines - 0.5, -0.5),
        aspect="auto",
        interpolation="nearest",
        rasterized=True,
    )


def _blocks(axes: Any, lines: pl.DataFrame) -> None:
    """Names of workers beside their lines, and rules between workers."""
    blocks = lines.group_by("worker", maintain_order=True).agg(
        first=pl.col("line").min(), last=pl.col("line").max()
    )
    name_workers(
        axes, blocks["worker"].to_list(), ((blocks["first"] + blocks["last"]) / 2).to_list()
    )
    if blocks.height <= 120:
        for edge in blocks["last"].to_list()[:-1]:
            axes.axhline(edge + 0.5, color=INK, linewidth=0.4, alpha=0.35)


def _legend(figure: Any, colours: dict[str | None, str]) -> None:
    from matplotlib.patches import Patch

    named = list(colours)[: len(COLOURS)]
    handles = [Patch(color=colours[name], label=_shown(name)) for name in named]
    if len(colours) > len(named):
        others = len(colours) - len(named)
        handles.append(Patch(color=OTHER, label=f"{others} other" + ("s" if others > 1 else "")))
    figure.legend(
        handles=handles, loc="outside upper left", ncols=4, handlelength=1.0, handleheight=0.9
    )


def _shown(name: str | None) -> str:
    return "not told" if name is None else short(name)
