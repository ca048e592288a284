"""Reader of transfers between workers, which merges repeated rows.

The coupler logs the last entry of a worker's transfer log again with each new one, so many rows
repeat an earlier one in all columns except ``time``.  A repeat may be anywhere later in the file,
so reading has two passes: the rows go to a spool, and their hashes of 128 bits stay in memory; when
all hashes are known, the first of equal rows is kept, with their number.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from harvest import Partition, ReadContext
from harvest_dask.records.key_columns import key_sizes
from harvest_dask.records.types import Transfer

from .convert import converted
from .csv_tables import Chunk, chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

MERGED = "repeated transfer"

_NAMES = {
    "start_time": "start",
    "end_time": "stop",
    "duration_s": "duration",
    "total_bytes": "total",
    "compressed_bytes": "compressed",
    "bandwidth": "bandwidth",
    "middle": "middle",
}
"""The CSV's name of each column of a transfer."""


def transfers(partition: Partition, ctx: ReadContext, _: Any) -> Iterator[Any]:
    """Read ``worker_transfer.csv``: one row per transfer and side, with number of ``copies``."""
    spool = _Spool(ctx.scratch / "transfers.arrow")
    hashes: list[NDArray[np.uint64]] = []
    for chunk in chunks(partition, ctx, Transfer):
        spool.add(chunk.rows(Transfer, _columns(chunk), ctx))
        hashes.append(_hashes(chunk)[chunk.good()])
    if not hashes:
        return
    first, copies = _first_of_each(np.concatenate(hashes))
    ctx.folded(int((~first).sum()), MERGED)
    start = 0
    for table in spool.tables():
        here = slice(start, start + table.num_rows)
        kept = table.filter(pa.array(first[here]))
        yield Transfer, kept.append_column("copies", pa.array(copies[here][first[here]]))
        start = here.stop


def _hashes(chunk: Chunk) -> NDArray[np.uint64]:
    """Hash each row's texts except its time with 128 bits, as two columns."""
    names = [name for name in chunk.table.column_names if name != "time"]
    frame = pl.DataFrame({name: pl.Series(chunk.texts(name)) for name in names})
    backwards = frame.select(reversed(names))
    return np.column_stack(
        [frame.hash_rows(seed=17).to_numpy(), backwards.hash_rows(seed=4711).to_numpy()]
    )


def _first_of_each(words: NDArray[np.uint64]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Mark the first row of each hash, and count the rows with that hash."""
    order = np.lexsort((words[:, 1], words[:, 0]))  # stable: equal rows keep their order
    ordered = words[order]
    new = np.ones(len(order), bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    leaders = order[new]
    first = np.zeros(len(order), bool)
    first[leaders] = True
    counts = np.zeros(len(order), np.int64)
    counts[leaders] = np.diff(np.flatnonzero(np.append(new, True)))
    return first, counts


def _columns(chunk: Chunk) -> dict[str, pa.Array]:
    moments = converted(chunk, Transfer, {"time": "time"})
    keys, faults = key_sizes(chunk.texts("keys"))
    for row, reason in faults.items():
        chunk.fault(row, reason)
    who, reporter = chunk.texts("who"), chunk.texts("called_from")
    kinds = pc.utf8_lower(chunk.require("type"))
    direction = pc.replace_substring_regex(kinds, "_transfer$", "")
    incoming, outgoing = pc.equal(direction, "incoming"), pc.equal(direction, "outgoing")
    nobody = pa.nulls(len(chunk), pa.string())
    # in all blocks, so that they have the same columns
    chunk.aside["who"] = pc.if_else(pc.or_(incoming, outgoing), nobody, who)
    return {
        **moments,
        **converted(chunk, Transfer, _NAMES),
        "keys": keys,
        "direction": direction,
        "requestor": pc.if_else(incoming, reporter, pc.if_else(outgoing, who, nobody)),
        "fulfiller": pc.if_else(incoming, who, pc.if_else(outgoing, reporter, nobody)),
        "worker": reporter,
    }


class _Spool:
    """A file of tables for a second pass."""

    def __init__(self, path: Path):
        self.path = path
        self.writer: Any = None

    def add(self, table: pa.Table) -> None:
        if self.writer is None:
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            self.writer = pa.ipc.new_file(str(self.path), table.schema, options=options)
        self.writer.write_table(table)

    def tables(self) -> Iterator[pa.Table]:
        """Yield the tables, one per record batch."""
        self.writer.close()
        # not a memory map, whose pages would count as memory of this process
        with pa.OSFile(str(self.path)) as file:
            reader = pa.ipc.open_file(file)
            for number in range(reader.num_record_batches):
                yield pa.Table.from_batches([reader.get_batch(number)])
