"""Merge the events of a partition's record types into one order.

The lines of each record type are in a spool file, in the shape of the events model. They are
merged by position, then by record type. If the source yielded its rows in order of position, as
usual, only a few blocks of each spool are in memory at a time.
"""

from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path

import attrs
import polars as pl

from harvest.model.json import lines_of

from .codecs import blocks, open_range

# the first match is the member itself: in a text value, the quotes would be escaped
_POSITION = r'"position":(-?[0-9]+),"data":'


@attrs.define
class Spool:
    """The file with the lines of one record type.

    in_order: whether positions never decrease. last: the last position written.
    """

    record_type: str
    path: Path
    codec: str
    rows: int = 0
    in_order: bool = True
    last: int | None = None

    def note(self, positions: pl.Series) -> None:
        """Update number of rows and order for the positions of rows that were written."""
        if not len(positions):
            return
        self.rows += len(positions)
        follows = self.last is None or positions[0] >= self.last
        self.in_order = self.in_order and follows and positions.is_sorted()
        self.last = positions[-1]

    def frames(self, order: int) -> Iterator[pl.DataFrame]:
        """Yield frames with columns position, order and line, sorted by position."""
        size = self.path.stat().st_size
        with open_range(self.path, 0, size, self.codec) as stream:
            frames = (_parse(block, order) for block in blocks(stream))
            if self.in_order:
                yield from frames
            else:
                found = list(frames)
                yield pl.concat(found).sort("position", maintain_order=True)


def merge(spools: Sequence[Spool]) -> Iterator[memoryview]:
    """Yield the lines of all spools, sorted by position, then record type, ready to be written."""
    ordered = sorted(spools, key=lambda spool: spool.record_type)
    unread = {order: spool.frames(order) for order, spool in enumerate(ordered) if spool.rows}
    reached = dict.fromkeys(unread, -(2**63))
    held = pl.DataFrame(schema={"position": pl.Int64, "order": pl.Int32, "line": pl.String})
    while unread:
        # no spool has further lines below this position
        order, bound = min(reached.items(), key=itemgetter(1))
        below = pl.col("position") < bound
        yield _sorted(held.filter(below))
        held = held.filter(~below)
        more = next(unread[order], None)
        if more is None:
            del unread[order], reached[order]
        else:
            held = pl.concat([held, more])
            reached[order] = more["position"][-1]
    yield _sorted(held)


def _sorted(rows: pl.DataFrame) -> memoryview:
    rows = rows.sort("position", "order", maintain_order=True)
    return lines_of(rows.select(pl.col("line") + pl.lit("\n")).to_series())


def _parse(block: bytes, order: int) -> pl.DataFrame:
    # JSON text has no control characters, so each line is one field
    lines = pl.read_csv(
        block, has_header=False, separator="\x01", quote_char=None, schema={"line": pl.String}
    )
    position = pl.col("line").str.extract(_POSITION).cast(pl.Int64)
    return lines.select(position.alias("position"), pl.lit(order).alias("order"), "line")
