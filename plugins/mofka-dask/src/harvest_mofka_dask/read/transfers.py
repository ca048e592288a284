"""Reader of transfers between workers, which merges repeated rows.

The coupler logs the last entry of a worker's transfer log again with each new one, so many rows
repeat an earlier one in all columns except ``time``.  A repeat may be anywhere later in the file,
so reading has two passes: the rows go to a spool, and their hashes of 128 bits stay in memory; when
all hashes are known, the first of equal rows is kept, with their number.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from harvest import Partition, ReadContext
from harvest_dask.records.captures.batches import TRANSFER
from harvest_dask.records.key_columns import key_sizes
from harvest_dask.records.types import Transfer

from .convert import converted
from .csv_tables import Chunk, chunks

MERGED = "repeated transfer"


def transfers(partition: Partition, ctx: ReadContext, _: Any) -> Iterator[Any]:
    """Read ``worker_transfer.csv``: one row per transfer and side, with number of ``copies``."""
    spool = ctx.scratch / "transfers.arrow"
    hashes = _write(spool, partition, ctx)
    if not hashes:
        return
    copies = _copies(np.concatenate(hashes))
    ctx.folded(int((copies == 0).sum()), MERGED)
    start = 0
    # not a memory map, whose pages would count as memory of this process
    with pa.OSFile(str(spool)) as file:
        reader = pa.ipc.open_file(file)
        for number in range(reader.num_record_batches):
            table = pa.Table.from_batches([reader.get_batch(number)])
            here = copies[start : start + table.num_rows]
            start += table.num_rows
            every = table.append_column("copies", pa.array(here))
            yield Transfer, every.filter(pa.array(here > 0))


def _write(spool: Path, partition: Partition, ctx: ReadContext) -> list[NDArray[np.uint64]]:
    """Write the good rows to a file of tables; return their hashes."""
    writer: Any = None
    hashes = []
    for chunk in chunks(partition, ctx, Transfer):
        table = chunk.rows(Transfer, _columns(chunk), ctx)
        if writer is None:
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            writer = pa.ipc.new_file(str(spool), table.schema, options=options)
        writer.write_table(table)
        hashes.append(_hashes(chunk)[chunk.good()])
    if writer is not None:
        writer.close()
    return hashes


def _hashes(chunk: Chunk) -> NDArray[np.uint64]:
    """Hash each row's texts except its time with 128 bits, as two columns."""
    names = [name for name in chunk.table.column_names if name != "time"]
    frame = pl.DataFrame({name: pl.Series(chunk.texts(name)) for name in names})
    backwards = frame.select(reversed(names))
    return np.column_stack(
        [frame.hash_rows(seed=17).to_numpy(), backwards.hash_rows(seed=4711).to_numpy()]
    )


def _copies(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Count the rows with each hash, at the first of them; 0 at the others."""
    order = np.lexsort((words[:, 1], words[:, 0]))  # stable: equal rows keep their order
    ordered = words[order]
    new = np.ones(len(order), bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    copies = np.zeros(len(order), np.int64)
    copies[order[new]] = np.diff(np.flatnonzero(np.append(new, True)))
    return copies


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
        **converted(chunk, Transfer, TRANSFER),
        "keys": keys,
        "direction": direction,
        "requestor": pc.if_else(incoming, reporter, pc.if_else(outgoing, who, nobody)),
        "fulfiller": pc.if_else(incoming, who, pc.if_else(outgoing, reporter, nobody)),
        "worker": reporter,
    }
