"""The task stream and the occupancy of workers, as plots."""

import itertools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.layout import shorten
from harvest_report import INK, MOST_MARKS, Column, Marks, Notes, Plot, legend, seconds_axis
from harvest_report.over_time import Window, shades

COLOURS: Final = ("C0", "C1", "C2", "C3", "C4")
"""Colours of the most important prefixes: as many as colour-blind readers can distinguish."""

OTHER: Final = "C5"
"""Colour of all prefixes beyond those."""

LABELLED: Final = 36
DRAWN_AS_SHAPES = 2_500
IMAGE_COLUMNS = 1_500
OCCUPANCY_COLUMNS = 240
PALE = 0.35
GREY = "#8a8f99"
SINCE = "since the first event of the run"
SEE_TRACE = " To see single ones, open what `harvest dask-runs trace` writes in Perfetto."
LINE = ["worker", "thread", "lane"]
"""The columns that name a line: a thread, or if it is unknown, executions that overlap."""


def stream(tasks: pl.DataFrame, prefixes: Sequence[str | None]) -> Plot:
    """Draw executions as bars on the line of their worker and thread, coloured by prefix.

    tasks: worker, thread, lane, prefix, seconds (null: not seen to end), start and end in
        microseconds of the run.
    prefixes: all prefixes, the most important first; the first ones have their own colours.
    """
    # ``line`` numbers the lines, from 0 at the top
    lines = (
        tasks.select(LINE)
        .unique()
        .sort(LINE, nulls_last=True)
        .with_columns(line=pl.int_range(pl.len()))
    )
    colours = {name: COLOURS[i] if i < len(COLOURS) else OTHER for i, name in enumerate(prefixes)}
    placed = tasks.join(lines, on=LINE, how="left", nulls_equal=True)
    first, last = _range(placed)
    unended = int(tasks["seconds"].is_null().sum())
    height = min(1.1 + 0.16 * lines.height, 7.5) if lines.height > 6 else 2.2

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        if placed.height <= DRAWN_AS_SHAPES:
            _bars(axes, placed, colours)
        else:
            _image(axes, placed, colours, lines.height, Window(first, last - first, IMAGE_COLUMNS))
        axes.set_ylim(lines.height - 0.4, -0.6)
        margin = (last - first) / 100  # or a bar at an end would be cut in two
        axes.set_xlim((first - margin) / 1e6, (last + margin) / 1e6)
        seconds_axis(axes.xaxis, last / 1e6, SINCE)
        _blocks(axes, lines)
        axes.grid(visible=False, axis="y")
        _legend(figure, colours)

    return Plot(
        "stream",
        draw,
        "Task stream",
        f"{count_in_words(tasks.height, 'execution')} of {count_in_words(len(colours), 'kind')} of "
        f"tasks over time, on {_lines_sentence(lines)}."
        + (f" Pale: {unended:,} that were not seen to end." if unended else "")
        + (SEE_TRACE if placed.height > MOST_MARKS else ""),
        size=(7.5, height + 0.2 * -(-min(len(colours), len(COLOURS) + 1) // 4)),
        marks=lambda: _marks(placed, colours, lines),
    )


def _marks(placed: pl.DataFrame, colours: dict[str | None, str], lines: pl.DataFrame) -> Marks:
    """Make a mark for each execution with its task, time, worker and thread."""
    kinds = {
        name: "other" if colour == OTHER else _caption(name) for name, colour in colours.items()
    }
    rows = placed.select(
        *("key", "prefix", "seconds", "worker", "thread", "size_bytes"),
        colour=pl.col("prefix").replace_strict(colours, return_dtype=pl.String),
        kind=pl.col("prefix").replace_strict(kinds, return_dtype=pl.String),
        left=pl.col("start") / 1e6,
        right=pl.col("end") / 1e6,
        bottom=pl.col("line") + 0.41,
        top=pl.col("line") - 0.41,
    )
    tips = (
        *(Column("key", "task"), Column("prefix", "kind"), "worker", "thread"),
        Column("left", "start", "s", ",.6f", doc=SINCE),
        Column("seconds", "duration", "s"),
        Column("size_bytes", "result", "bytes"),
    )
    blocks = lines.group_by("worker", maintain_order=True).agg(place=pl.col("line").mean())
    names = {place: short(worker) for worker, place in blocks.iter_rows()}
    return Marks(rows, tips, f"seconds {SINCE}", names, "kind")


def _lines_sentence(lines: pl.DataFrame) -> str:
    workers = count_in_words(lines["worker"].n_unique(), "worker")
    known = lines.drop_nulls("thread").select("worker", "thread").n_unique()
    threads = f"{count_in_words(known, 'thread')} of {workers}"
    if known == lines.height:
        return threads
    others = "executions that overlap" if not lines["thread"].null_count() else "unknown threads"
    return f"{threads}, with {lines.height - known} more lines for {others}"


def occupancy(tasks: pl.DataFrame, workers: pl.DataFrame) -> Plot | Notes:
    """Draw how many threads of each worker were executing, over time.

    workers: rows of ``dask.workers``, with idle workers; workers that were not observed are
        hatched.  Executions that were not seen to end are left out.
    """
    unended = int(tasks["seconds"].is_null().sum())
    tasks = tasks.drop_nulls("seconds")
    if tasks.is_empty():
        return Notes("occupancy", ["No execution was seen to end."], title="Occupancy of workers")
    names = workers["worker"].to_list()
    silent = workers.select(pl.col("executed").is_null()).to_series().to_list()
    threads: int | None = workers["nthreads"].max()  # type: ignore[assignment]
    most = max(threads or 1, most_at_once(tasks))
    first, last = _range(tasks)
    window = Window(first, last - first, OCCUPANCY_COLUMNS)
    grid = mean_at_once(tasks, "worker", names, window)
    edges = np.linspace(first / 1e6, last / 1e6, OCCUPANCY_COLUMNS + 1)
    observed = f"the {silent.count(False)} workers observed" if any(silent) else "all workers"

    def draw(figure: Any) -> None:
        from matplotlib.patches import Patch  # optional: the extra "report"

        rooms = [1.0, max(0.17 * len(names), 0.9)]
        above, axes = figure.subplots(2, 1, sharex=True, height_ratios=rooms)
        above.stairs(grid.sum(axis=0), edges, color="C0", fill=True, alpha=0.35)
        above.stairs(grid.sum(axis=0), edges, color="C0", linewidth=1.0)
        above.set_ylabel("observed" if any(silent) else "all workers", fontsize=8)
        above.set_ylim(bottom=0)
        image = axes.pcolormesh(
            edges, np.arange(len(names) + 1) - 0.5, grid, cmap=shades(), vmin=0,
            vmax=most, rasterized=True,
        )  # fmt: skip
        rows = [row for row, unseen in enumerate(silent) if unseen]
        if rows:
            # matplotlib draws hatches in the colour of edges, which have no width here
            hatched = {"color": "none", "hatch": "////", "edgecolor": GREY, "linewidth": 0}
            axes.barh(rows, edges[-1] - edges[0], left=edges[0], height=1.0, **hatched)
            hatch = {"facecolor": "none", "hatch": "////", "edgecolor": GREY}
            legend(figure, [Patch(label="not observed", **hatch)])
        axes.set_ylim(len(names) - 0.5, -0.5)
        name_workers(axes, names, range(len(names)))
        axes.grid(visible=False)
        seconds_axis(axes.xaxis, float(edges[-1]), SINCE)
        bar = figure.colorbar(image, ax=axes, fraction=0.03, pad=0.01)
        bar.ax.yaxis.get_major_locator().set_params(integer=True)
        bar.set_label("threads executing", fontsize=8)
        bar.outline.set_visible(False)

    left_out = {
        f"{unended:,} executions that were not seen to end": unended,
        "executions on unknown workers": tasks["worker"].null_count(),
    }
    return Plot(
        "occupancy",
        draw,
        "Occupancy of workers",
        f"Threads that ran tasks: above of {observed}, below of each of "
        f"{count_in_words(len(names), 'worker')} ({_scale(workers)})."
        + "".join(f" Without {what}." for what, count in left_out.items() if count),
        size=(9.4, min(2.6 + 0.17 * len(names), 8.0) + (0.2 if any(silent) else 0)),
    )


def _scale(workers: pl.DataFrame) -> str:
    numbers = workers["nthreads"].drop_nulls().unique().sort().to_list()
    if not numbers:
        return "their numbers of threads are not recorded"
    if workers["nthreads"].null_count():
        return f"up to {numbers[-1]} threads each, not recorded of all"
    return f"{'' if len(numbers) == 1 else 'up to '}{numbers[-1]} threads each"


def most_at_once(tasks: pl.DataFrame) -> int:
    """Count the most executions that ran on one worker at the same time."""
    turns = pl.concat(
        [
            tasks.select("worker", at="start", more=pl.lit(1)),
            tasks.select("worker", at="end", more=pl.lit(-1)),
        ]
    ).sort("at", "more")
    return int(turns.select(pl.col("more").cum_sum().over("worker").max()).item() or 0)


def _range(tasks: pl.DataFrame) -> tuple[int, int]:
    first, last = int(tasks["start"].min() or 0), int(tasks["end"].max() or 0)  # type: ignore[arg-type]
    return first, max(last, first + 1)


def _bars(axes: Any, placed: pl.DataFrame, colours: dict[str | None, str]) -> None:
    ended = pl.col("seconds").is_not_null()
    for (name, colour), pale in itertools.product(colours.items(), (False, True)):
        of_kind = pl.col("prefix").eq_missing(pl.lit(name, pl.String))
        mine = placed.filter(of_kind & (ended ^ pale))
        axes.barh(
            mine["line"].to_numpy(),
            ((mine["end"] - mine["start"]) / 1e6).to_numpy(),
            left=(mine["start"] / 1e6).to_numpy(),
            height=0.82,
            color=colour,
            linewidth=0.4,
            alpha=PALE if pale else None,
            # so that the shortest stay visible
            edgecolor=colour,
        )


def _image(
    axes: Any, placed: pl.DataFrame, colours: dict[str | None, str], lines: int, window: Window
) -> None:
    """Draw cells in the colour of the kind that ran longest there; busy cells are more opaque."""
    numbers = {name: number for number, name in enumerate(colours)}
    pieces = placed.lazy().select(
        *("line", "start", "end"),
        kind=pl.col("prefix").replace_strict(numbers, return_dtype=pl.Int64),
        weight=pl.when(pl.col("seconds").is_null()).then(PALE).otherwise(1.0),
    )
    cells = (
        window.in_columns(pieces)
        .group_by("line", "kind", "weight", "column")
        .agg(pl.col("inside").sum() * pl.col("weight").first())
        .collect()
    )
    # short executions are faint but visible
    left = window.start_us / 1e6
    window.draw_longest(axes, cells, list(colours.values()), lines=lines, faint=0.25, left=left)


def _blocks(axes: Any, lines: pl.DataFrame) -> None:
    """Write names of workers next to their lines, and draw rules between workers."""
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
    from matplotlib.patches import Patch  # optional: the extra "report"

    named = list(colours)[: len(COLOURS)]
    handles = [Patch(color=colours[name], label=_caption(name)) for name in named]
    if len(colours) > len(named):
        others = len(colours) - len(named)
        handles.append(Patch(color=OTHER, label=f"{others} other" + ("s" if others > 1 else "")))
    legend(figure, handles)


def _caption(name: str | None) -> str:
    return "not recorded" if name is None else short(name)


def mean_at_once(
    frame: pl.DataFrame, by: str, groups: Sequence[str | None], window: Window
) -> NDArray[np.float64]:
    """Count how many rows of each group (rows) run in each part of the time (columns), on average.

    frame: has the column ``by``, and ``start`` and ``end`` in microseconds.
    """
    places = {name: number for number, name in enumerate(groups)}
    grid = np.zeros((max(len(groups), 1), window.columns))
    cells = window.in_columns(frame.lazy().select(by, "start", "end"))
    sums = cells.group_by(by, "column").agg(pl.col("inside").sum()).collect()
    for group, column, micros in sums.iter_rows():
        if group in places:
            grid[places[group], column] = micros
    return grid / window.width_us


def name_workers(axes: Any, workers: Sequence[str], places: Sequence[float]) -> None:
    """Write names on the vertical axis: all if there is room, else some of them."""
    step = -(-len(workers) // LABELLED) or 1
    axes.set_yticks(list(places)[::step], [short(name) for name in workers[::step]])
    axes.tick_params(axis="y", length=0)


def short(worker: str | None) -> str:
    """Return an address without its protocol, shortened to fit."""
    if worker is None:
        return "not recorded"
    return shorten(worker.rpartition("://")[2], 24, "id")
