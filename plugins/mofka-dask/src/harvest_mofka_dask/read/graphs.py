"""Reader of graphs that clients sent: one row per task.

A row of ``graph.csv`` is a whole graph, printed as the set of requested keys and a dict from each
key to the set of keys that it needs; either may have megabytes.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from harvest import Partition, ReadContext
from harvest_dask.records.arrays import list_array
from harvest_dask.records.key_columns import (
    ANY_KEY,
    ASKED,
    TASKS,
    odd_texts,
    spelled_keys,
    with_requested,
)
from harvest_dask.records.literals import LiteralFault, dict_items, key_of_literal, set_items
from harvest_dask.records.types import GraphTask

from .convert import converted
from .csv_tables import Chunk, chunks

_SET = rf"(?:set\(\)|\{{{ANY_KEY}(?:, {ANY_KEY})*\}})"
_NEEDS = rf"{ANY_KEY}: {_SET}"
_GRAPH = rf"^\{{(?:{_NEEDS}(?:, {_NEEDS})*)?\}}$"


def graph_tasks(partition: Partition, ctx: ReadContext, _: Any) -> Iterator[Any]:
    """Read ``graph.csv``; ``position`` numbers the tasks of the file, ``graph`` its records."""
    position = 1
    for chunk in chunks(partition, ctx, GraphTask, count=False):
        columns = converted(chunk, GraphTask, {"time": "time", "client": "client"})
        tasks = _tasks(chunk)
        chunk.reject_faults(ctx, GraphTask)
        ctx.read(len(chunk.faults))
        table = _table(chunk, tasks, columns)
        ctx.read(table.num_rows)
        positions = np.arange(position, position + table.num_rows)
        position += table.num_rows
        yield GraphTask, table.append_column("position", pa.array(positions))


def _tasks(chunk: Chunk) -> pl.DataFrame:
    """Parse the tasks of the chunk's graphs without faults: row, key, needs, requested."""
    graphs = pl.Series(chunk.require("dependencies"))
    asked = pl.Series(chunk.texts("keys"))
    known = graphs.is_not_null()
    odd = known & (odd_texts(graphs, _GRAPH) | odd_texts(asked, f"^{_SET}$"))
    usual = known & ~odd
    try:
        rows = np.flatnonzero(usual.to_numpy())
        parts = [_usual_graphs(graphs.filter(usual), asked.filter(usual), rows)]
    except LiteralFault:  # one key is not a literal: all graphs are parsed one by one
        odd, parts = known, []
    if odd.any():
        parts.append(_odd_graphs(chunk, graphs, asked, odd.arg_true().to_list()))
    every = pl.concat(with_requested(*part) for part in parts)
    if chunk.faults:
        every = every.filter(pl.Series(chunk.good()[every["row"].to_numpy()]))
    return every.sort("row", maintain_order=True)


def _usual_graphs(
    graphs: pl.Series, asked: pl.Series, rows: NDArray[np.int64]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Parse tasks and requested keys of graphs that match the pattern completely."""
    entries = graphs.str.extract_all(_NEEDS)
    per_graph = entries.list.len().to_numpy().astype(np.int64)
    # the first key of an entry is the task, the others are what it needs
    keys = entries.explode().drop_nulls().str.extract_all(ANY_KEY)
    lengths = keys.list.len().to_numpy().astype(np.int64)
    spelled = spelled_keys(keys.explode().drop_nulls(), ANY_KEY)
    heads = np.concatenate([[0], np.cumsum(lengths)])[:-1].astype(np.int64)
    others = np.ones(len(spelled), bool)
    others[heads] = False
    needs = list_array(lengths - 1, spelled.filter(pl.Series(others)).to_arrow().cast(pa.string()))
    tasks = {
        "row": np.repeat(rows, per_graph),
        "key": spelled.gather(heads),
        "needs": pl.Series(needs).list.unique().list.sort(),
    }
    wanted = asked.str.extract_all(ANY_KEY)
    counts = wanted.list.len().fill_null(0).to_numpy().astype(np.int64)
    keys_wanted = spelled_keys(wanted.explode().drop_nulls(), ANY_KEY)
    requests = {"row": np.repeat(rows, counts), "key": keys_wanted}
    return pl.DataFrame(tasks, TASKS), pl.DataFrame(requests, ASKED)


def _odd_graphs(
    chunk: Chunk, graphs: pl.Series, asked: pl.Series, odd: list[int]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Parse graphs with odd keys, item by item; faults go to the chunk."""
    tasks: list[tuple[int, str, list[str]]] = []
    requests: list[tuple[int, str]] = []
    for row in odd:
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
        tasks += [(row, key, items) for key, items in own]
        requests += [(row, key) for key in wanted]
    return (pl.DataFrame(tasks, TASKS, orient="row"), pl.DataFrame(requests, ASKED, orient="row"))


def _table(chunk: Chunk, tasks: pl.DataFrame, columns: Mapping[str, pa.Array]) -> pa.Table:
    rows = pa.array(tasks["row"].to_numpy())
    every: dict[str, Any] = {
        **{name: column.take(rows) for name, column in columns.items()},
        "key": tasks["key"].to_arrow(),
        "dependencies": tasks["needs"].to_arrow(),
        "requested": tasks["requested"].to_arrow(),
        "graph": pa.array(chunk.block.numbers).take(rows),
    }
    extra = chunk.extra()
    if extra is not None:
        every["extra"] = extra.take(rows)
    return pa.table(every)
