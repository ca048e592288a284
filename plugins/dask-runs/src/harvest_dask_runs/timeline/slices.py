"""The slices of a run's trace as columns, and the lanes on which they lie.

They are those of the view ``dask.trace``; nothing is computed twice.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Final

import attrs
import orjson
import polars as pl

from ..trace.tracks import EVENT
from ..trace.view import RunTrace

CATEGORIES: Final = {
    "task": ("execution", "executions"),
    "transfer": ("transfer", "transfers"),
    "transfer.untold": ("other side of a transfer", "other sides of transfers"),
    "io": ("I/O segment", "I/O segments"),
    "path": ("execution on the critical path", "executions on the critical path"),
    "path.wait": ("wait between them", "waits between them"),
}
"""Categories of slices, and what one of them and several are called."""


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
