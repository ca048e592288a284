"""A source of very many rows, from files that only say how many."""

from collections.abc import Iterable
from typing import Any

import polars as pl

import harvest
from harvest import Partition, ReadContext, Record, field

ROWS = 10_000
"""Rows of one batch."""

TEXT = "x" * 90
"""A batch is about a megabyte."""


@harvest.record("plenty.row", layer="workflow", level="client")
class PlentyRow(Record):
    """One row of very many."""

    text: str = field(role="subject", doc="A hundred letters.")


class PlentySource(harvest.Source):
    """Megabytes of rows, as many as a file says, each batch made anew."""

    name = "plenty"
    record_types = (PlentyRow,)

    def read(self, partition: Partition, ctx: ReadContext) -> Iterable[Any]:
        batches = int(partition.path.read_text(encoding="ascii"))
        for number in range(batches):
            ctx.read(ROWS)
            rows = range(number * ROWS, (number + 1) * ROWS)
            text = [f"{row:010}{TEXT}" for row in rows]
            yield PlentyRow, pl.DataFrame({"text": text, "position": rows})
