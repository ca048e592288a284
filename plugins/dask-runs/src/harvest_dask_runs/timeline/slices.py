"""The slices of a run's trace as columns, the lanes on which they lie, and levels of detail.

Slices are those of the view ``dask.trace``; nothing is computed twice.  A level has bins of a
certain width, a quarter of that of the level above.  On a lane, slices that are shorter than a bin
and begin in the same one are drawn as one mark.  What is longer, or alone in its bin, is drawn as
itself, at this level and at all that are finer.  So each slice is kept once, at the first level
that draws it as itself, and every level shows every slice once: as itself, or counted in a mark.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

import attrs
import orjson
import polars as pl

from ..trace.tracks import EVENT
from ..trace.view import RunTrace


@attrs.frozen
class Lane:
    """A line of the picture: a thread, or the transfers of a worker.

    process: the worker or process that it belongs to; label: what else is known of that.
    """

    process: str
    label: str
    thread: str


@attrs.frozen
class Slices:
    """All slices of a run.

    rows: ``lane`` and ``name`` (numbers of ``lanes`` and ``names``), ``start`` and ``dur`` in
    microseconds, ``args`` as JSON text; by start, longest first.
    names: ``cat`` and ``name`` of each kind of slice.
    start: of the run, in microseconds of the epoch.
    events: the rows of ``dask.trace`` by their ``ph``.
    left_out: how many executions, transfers and segments have no time, and are left out.
    """

    run: str
    start: int
    rows: pl.DataFrame
    names: pl.DataFrame
    lanes: list[Lane]
    events: Counter[str]
    left_out: dict[str, int]

    @property
    def span(self) -> int:
        """Microseconds from the start of the run to the end of its last slice."""
        last = self.rows.select((pl.col("start") + pl.col("dur")).max()).item()
        return max(last or 0, 1)


def collect(made: RunTrace) -> Slices:
    """The slices that a trace makes, with their lanes in the trace's order."""
    parts = [pl.DataFrame(schema=EVENT)]
    tracks = [pl.DataFrame(schema=EVENT)]
    events: Counter[str] = Counter()
    for batch in made.events():
        events.update(dict(batch.group_by("ph").len().iter_rows()))
        parts.append(batch.filter(pl.col("ph") == "X"))
        tracks.append(batch.filter(pl.col("ph") == "M"))
    slices = pl.concat(parts)
    order, lanes = _lanes(pl.concat(tracks))
    names = slices.select("cat", "name").unique().sort("cat", "name")
    rows = (
        slices.join(order, on="tid", how="left", maintain_order="left")
        .join(names.with_row_index("kind"), on=["cat", "name"], how="left", maintain_order="left")
        .select("lane", pl.col("kind").alias("name"), start="ts", dur="dur", args="args")
        .sort("start", "dur", "lane", descending=[False, True, False], maintain_order=True)
    )
    left_out = {what: count for what, count in sorted(made.left_out.items()) if count}
    return Slices(made.run, made.start, rows, names, lanes, events, left_out)


def count_categories(slices: Slices) -> Counter[str]:
    """How many slices there are of each category."""
    names = slices.rows.group_by("name").len()
    found = names.with_columns(cat=slices.names["cat"].gather(names["name"]))
    return Counter(dict(found.group_by("cat").agg(pl.col("len").sum()).iter_rows()))


def _lanes(tracks: pl.DataFrame) -> tuple[pl.DataFrame, list[Lane]]:
    """The number of the lane of each ``tid``, and the lanes, ordered as the trace wants it."""
    known: defaultdict[tuple[int, int | None], dict[str, str]] = defaultdict(dict)
    for what, pid, tid, args in tracks.select("name", "pid", "tid", "args").iter_rows():
        (value,) = orjson.loads(args).values()
        known[pid, tid][what] = value

    def place(track: tuple[int, int | None]) -> tuple[str | int, ...]:
        pid, tid = track
        return (known[pid, None]["process_sort_index"], pid,
                known[track]["thread_sort_index"], tid or 0)  # fmt: skip

    threads = sorted((track for track in known if track[1] is not None), key=place)
    lanes = [
        Lane(
            known[pid, None]["process_name"],
            known[pid, None].get("process_labels", ""),
            known[pid, tid]["thread_name"],
        )
        for pid, tid in threads
    ]
    order = pl.DataFrame(
        {"tid": [tid for _, tid in threads], "lane": range(len(threads))},
        schema={"tid": pl.Int64, "lane": pl.UInt32},
    )
    return order, lanes


FACTOR: Final = 4
"""How many bins of a level lie in one of the level above: bins never cross."""
BINS: Final = 1024
"""The whole run has at least so many bins at the first level, where it has as many microseconds."""

MARK: Final[dict[str, pl.DataType]] = {
    "lane": pl.UInt32(),
    "name": pl.UInt32(),
    "start": pl.Int64(),
    "dur": pl.Int64(),
    "count": pl.UInt32(),
    "busy": pl.Int64(),
}
"""Columns of a mark: ``dur`` is from its first start to its last end, ``busy`` how much of that is
covered by slices, ``name`` the kind of slice with the most time in it."""

_CELL = ["lane", "layer", "bin"]


@attrs.frozen
class Level:
    """What one level adds.

    width: of a bin, in microseconds; 0 for the last level, which draws everything as itself.
    alone: slices that are drawn as themselves from this level on.
    merged: marks of this level, each for two slices or more.
    """

    width: int
    alone: pl.DataFrame
    merged: pl.DataFrame


def widths(span: int) -> list[int]:
    """The widths of bins for a run of ``span`` microseconds, widest first, down to 1."""
    found = [1]
    while found[-1] * FACTOR * BINS <= span:
        found.append(found[-1] * FACTOR)
    return found[::-1]


def levels(slices: pl.DataFrame, layer_of_name: Sequence[int], span: int) -> list[Level]:
    """The levels of a timeline, coarsest first; the last draws each slice as itself.

    slices: has lane, name, start and dur, all from 0.
    layer_of_name: by name, which slices of a lane may be drawn as one: those of the same layer.
    """
    layers = pl.Series("layer", layer_of_name, dtype=pl.UInt8)
    rest = slices.with_row_index("row").with_columns(layer=layers.gather(slices["name"]))
    found: list[Level] = []
    for width in widths(span):
        if rest.is_empty():
            break
        short = rest.filter(pl.col("dur") < width).with_columns(bin=pl.col("start") // width)
        crowd = short.filter(pl.len().over(_CELL) > 1)
        alone = rest.join(crowd.select("row"), on="row", how="anti", maintain_order="left")
        found.append(Level(width, alone.drop("row", "layer"), _merge(crowd)))
        rest = crowd.drop("bin")
    if not rest.is_empty() or not found:
        found.append(Level(0, rest.drop("row", "layer"), pl.DataFrame(schema=MARK)))
    return found


def _merge(crowd: pl.DataFrame) -> pl.DataFrame:
    """One mark for each lane, layer and bin."""
    end = pl.col("start") + pl.col("dur")
    ordered = crowd.sort("start", "dur").with_columns(end=end)
    reached = pl.col("end").cum_max().shift(1).over(_CELL)
    marks = (
        ordered.with_columns(
            busy=(pl.col("end") - pl.max_horizontal("start", reached)).clip(lower_bound=0)
        )
        .group_by(_CELL)
        .agg(
            pl.col("start").min(),
            pl.col("end").max(),
            pl.col("busy").sum(),
            count=pl.len(),
        )
    )
    most = (
        crowd.group_by(*_CELL, "name")
        .agg(time=pl.col("dur").sum(), number=pl.len())
        .sort("time", "number", "name", descending=[True, True, False])
        .unique(_CELL, keep="first", maintain_order=True)
        .select(*_CELL, "name")
    )
    return (
        marks.join(most, on=_CELL, how="left")
        .with_columns(dur=pl.col("end") - pl.col("start"))
        .sort("start", "lane", "layer")
        .select(pl.col(name).cast(kind) for name, kind in MARK.items())
    )
