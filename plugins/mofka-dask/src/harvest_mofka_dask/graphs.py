"""Graphs that clients sent: one row per task.

A row of ``graph.csv`` prints a whole graph, as a set of the keys asked for and a dict from each
key to the set of keys it needs; either may be megabytes long.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import attrs
import numpy as np
import polars as pl
import pyarrow as pa

from harvest import Partition, ReadContext

from .arrays import list_array
from .convert import times
from .csv_tables import Chunk, chunks
from .key_columns import KEY, odd_texts, unquoted
from .literals import LiteralFault, dict_items, key_of_literal, set_items
from .records import GraphTask

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["graph_tasks"]

_SET: Final = rf"(?:set\(\)|\{{{KEY}(?:, {KEY})*\}})"
_NEEDS: Final = rf"{KEY}: {_SET}"
_GRAPH: Final = rf"^\{{(?:{_NEEDS}(?:, {_NEEDS})*)?\}}$"
_ASKED: Final = rf"^{_SET}$"


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
    """The tasks of all graphs of a chunk without fault: row, key, needs, requested, rank."""
    graphs = pl.Series(chunk.require("dependencies"))
    asked = pl.Series(chunk.texts("keys"))
    odd = (odd_texts(graphs, _GRAPH) | odd_texts(asked, _ASKED)).to_numpy()
    null = graphs.is_null().to_numpy()
    usual = np.flatnonzero(~odd & ~null)
    parts = [_frame(*_usual(graphs.gather(usual), asked.gather(usual), usual))]
    strange = _strange(chunk, graphs, asked, np.flatnonzero(odd & ~null))
    if strange is not None:
        parts.append(_frame(*strange))
    good = chunk.good()
    every = pl.concat(parts)
    if not good.all():
        every = every.filter(pl.Series(good[every["row"].to_numpy()]))
    return every.sort("row", maintain_order=True) if len(parts) > 1 else every


def _usual(
    graphs: pl.Series, asked: pl.Series, rows: NDArray[np.int64]
) -> tuple[_Tasks, pl.DataFrame]:
    """Tasks, and keys asked for, of graphs printed with ordinary keys."""
    entries = graphs.str.extract_all(_NEEDS)
    per_graph = entries.list.len().to_numpy().astype(np.int64)
    # the first key of an entry is the task, the others are what it needs
    keys = entries.explode().drop_nulls().str.extract_all(KEY)
    row = np.repeat(rows, per_graph)
    lengths = keys.list.len().to_numpy().astype(np.int64)
    plain = unquoted(keys.explode().drop_nulls())
    heads = np.concatenate([[0], np.cumsum(lengths)])[:-1].astype(np.int64)
    others = np.ones(len(plain), bool)
    others[heads] = False
    needs = list_array(lengths - 1, plain.filter(pl.Series(others)).to_arrow().cast(pa.string()))
    tasks = _Tasks(row, plain.gather(heads), pl.Series(needs).list.sort())
    wanted = asked.str.extract_all(KEY)
    counts = wanted.list.len().fill_null(0).to_numpy().astype(np.int64)
    return tasks, _asked(np.repeat(rows, counts), unquoted(wanted.explode().drop_nulls()))


def _strange(
    chunk: Chunk, graphs: pl.Series, asked: pl.Series, odd: NDArray[np.int64]
) -> tuple[_Tasks, pl.DataFrame] | None:
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
    if not len(odd):
        return None
    tasks = _Tasks.of(rows, keys, needs)
    return tasks, _asked(np.array(wanted_rows, np.int64), pl.Series(wanted_keys, dtype=pl.String))


def _asked(rows: NDArray[np.int64], keys: pl.Series) -> pl.DataFrame:
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
