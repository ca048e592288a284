"""Graphs that clients sent: one row per task.

A row of ``graph.csv`` prints a whole graph, as a set of the keys asked for and a dict from each
key to the set of keys it needs; either may be megabytes long.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import polars as pl
import pyarrow as pa

from harvest import Partition, ReadContext
from harvest_dask_records.arrays import list_array
from harvest_dask_records.key_columns import ANY_KEY, KEY, odd_texts, spelled_keys
from harvest_dask_records.literals import LiteralFault, dict_items, key_of_literal, set_items
from harvest_dask_records.types import GraphTask

from .convert import times
from .csv_tables import Chunk, chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["graph_tasks"]


@attrs.frozen(eq=False)
class _Tasks:
    """Tasks of some graphs: the row each is of, its key, and the keys it needs."""

    row: NDArray[np.int64]
    key: pl.Series
    needs: pl.Series

    @classmethod
    def of(cls, rows: list[int], keys: list[str], needs: list[list[str]]) -> _Tasks:
        """From plain lists."""
        return cls(
            np.array(rows, np.int64),
            pl.Series("key", keys, pl.String),
            pl.Series("needs", needs, pl.List(pl.String)),
        )


def graph_tasks(partition: Partition, ctx: ReadContext, _: Any) -> Iterator[Any]:
    """``graph.csv``; ``position`` numbers the tasks of the file, ``graph`` its records."""
    position = 1
    for chunk in chunks(partition, ctx, GraphTask, count=False):
        moments = times(chunk, "time")
        tasks = _tasks(chunk)
        chunk.reject_faults(ctx, GraphTask)
        ctx.read(len(chunk.faults))
        table = _table(chunk, tasks, moments)
        ctx.read(table.num_rows)
        positions = np.arange(position, position + table.num_rows)
        position += table.num_rows
        yield GraphTask, table.append_column("position", pa.array(positions))


def _tasks(chunk: Chunk) -> pl.DataFrame:
    """The tasks of the chunk's graphs without a fault: row, key, needs, requested."""
    graphs = pl.Series(chunk.require("dependencies"))
    asked = pl.Series(chunk.texts("keys"))
    left = np.flatnonzero(graphs.is_not_null().to_numpy())
    parts = []
    for pattern in (KEY, ANY_KEY):
        these, those = graphs.gather(left), asked.gather(left)
        odd = odd_texts(these, _graph_of(pattern)) | odd_texts(those, f"^{_set_of(pattern)}$")
        usual = ~odd
        try:
            part = _usual_graphs(
                these.filter(usual), those.filter(usual), left[usual.to_numpy()], pattern
            )
        except LiteralFault:  # some key of these; below they are read one by one
            break
        parts.append(_frame(*part))
        left = left[odd.to_numpy()]
    if len(left):
        parts.append(_frame(*_odd_graphs(chunk, graphs, asked, left)))
    every = pl.concat(parts)
    if chunk.faults:
        every = every.filter(pl.Series(chunk.good()[every["row"].to_numpy()]))
    return every.sort("row", maintain_order=True)


def _set_of(pattern: str) -> str:
    return rf"(?:set\(\)|\{{{pattern}(?:, {pattern})*\}})"


def _needs_of(pattern: str) -> str:
    return rf"{pattern}: {_set_of(pattern)}"


def _graph_of(pattern: str) -> str:
    needs = _needs_of(pattern)
    return rf"^\{{(?:{needs}(?:, {needs})*)?\}}$"


def _usual_graphs(
    graphs: pl.Series, asked: pl.Series, rows: NDArray[np.int64], pattern: str
) -> tuple[_Tasks, pl.DataFrame]:
    """Tasks, and keys asked for, of graphs that a regular expression describes in full."""
    entries = graphs.str.extract_all(_needs_of(pattern))
    per_graph = entries.list.len().to_numpy().astype(np.int64)
    # the first key of an entry is the task, the others are what it needs
    keys = entries.explode().drop_nulls().str.extract_all(pattern)
    lengths = keys.list.len().to_numpy().astype(np.int64)
    spelled = spelled_keys(keys.explode().drop_nulls(), pattern)
    heads = np.concatenate([[0], np.cumsum(lengths)])[:-1].astype(np.int64)
    others = np.ones(len(spelled), bool)
    others[heads] = False
    needs = list_array(lengths - 1, spelled.filter(pl.Series(others)).to_arrow().cast(pa.string()))
    tasks = _Tasks(
        np.repeat(rows, per_graph),
        spelled.gather(heads),
        pl.Series(needs).list.unique().list.sort(),
    )
    wanted = asked.str.extract_all(pattern)
    counts = wanted.list.len().fill_null(0).to_numpy().astype(np.int64)
    keys_wanted = spelled_keys(wanted.explode().drop_nulls(), pattern)
    return tasks, _requests(np.repeat(rows, counts), keys_wanted)


def _odd_graphs(
    chunk: Chunk, graphs: pl.Series, asked: pl.Series, odd: NDArray[np.int64]
) -> tuple[_Tasks, pl.DataFrame]:
    """The same of graphs with odd keys, item by item; faults go to the chunk."""
    rows: list[int] = []
    keys: list[str] = []
    needs: list[list[str]] = []
    wanted_rows: list[int] = []
    wanted_keys: list[str] = []
    for row in odd.tolist():
        column = "keys"
        try:
            text = asked[row]
            wanted = [key_of_literal(item) for item in set_items(text)] if text else []
            column = "dependencies"
            own = [
                (key_of_literal(key), sorted({key_of_literal(item) for item in set_items(items)}))
                for key, items in dict_items(graphs[row])
            ]
        except LiteralFault as fault:
            chunk.fault(row, f"column {column!r}: {fault}")
            continue
        rows += [row] * len(own)
        keys += [key for key, _ in own]
        needs += [items for _, items in own]
        wanted_rows += [row] * len(wanted)
        wanted_keys += wanted
    tasks = _Tasks.of(rows, keys, needs)
    return tasks, _requests(
        np.array(wanted_rows, np.int64), pl.Series(wanted_keys, dtype=pl.String)
    )


def _requests(rows: NDArray[np.int64], keys: pl.Series) -> pl.DataFrame:
    return pl.DataFrame({"row": rows, "key": keys}).unique()


def _frame(tasks: _Tasks, asked: pl.DataFrame) -> pl.DataFrame:
    """All tasks of some graphs in order, those that only the client named last, by key."""
    frame = pl.DataFrame({"row": tasks.row, "key": tasks.key, "needs": tasks.needs})
    frame = frame.join(
        asked.with_columns(requested=pl.lit(value=True)),
        on=["row", "key"],
        how="left",
        maintain_order="left",
    ).with_columns(pl.col("requested").fill_null(value=False))
    missing = asked.join(frame, on=["row", "key"], how="anti").sort("row", "key")
    if not missing.height:
        return frame
    more = missing.select(
        "row",
        "key",
        needs=pl.lit([], pl.List(pl.String)),
        requested=pl.lit(value=True),
    )
    return pl.concat([frame, more]).sort("row", maintain_order=True)


def _table(chunk: Chunk, tasks: pl.DataFrame, moments: pa.Array) -> pa.Table:
    rows = pa.array(tasks["row"].to_numpy())
    columns: dict[str, Any] = {
        "time": moments.take(rows),
        "client": chunk.texts("client").take(rows),
        "key": tasks["key"].to_arrow(),
        "dependencies": tasks["needs"].to_arrow(),
        "requested": tasks["requested"].to_arrow(),
        "graph": pa.array(chunk.block.numbers).take(rows),
    }
    extra = chunk.extra()
    if extra is not None:
        columns["extra"] = extra.take(rows)
    return pa.table(columns)
