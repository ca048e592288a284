"""Write a partition's piece of the consolidated file: rows in the shape of the events model.

The lines of each record type are spooled to a file. They are merged by position, then by record
type. If the source yielded its rows in order of position, as usual, only a few blocks of each spool
are in memory at a time.
"""

from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path

import attrs
import polars as pl
import pyarrow as pa

from harvest import PartWriter, RecordType
from harvest.model.events import event_columns
from harvest.model.frames import frame_of
from harvest.model.json import TIME_FORMAT, lines_of

from .codecs import Output, blocks, open_range

# the first match is the member itself: in a text value, the quotes would be escaped
_POSITION = r'"position":(-?[0-9]+),"data":'


def encode_event_lines(record_type: RecordType, table: pa.Table) -> memoryview:
    """Encode a table's rows in the shape of the events model; return the bytes to write.

    Each line begins with ``{"record_type":"<name>",`` and ends with ``data``, an object.
    Raises RecordTypeError if a column's type does not fit its role.
    """
    rows = frame_of(record_type, table).select(event_columns(record_type))
    times = {name: pl.col(name).dt.strftime(TIME_FORMAT) for name in ("time", "end_time")}
    start = pl.struct(times.get(name, pl.col(name)) for name in rows.columns if name != "data")
    line = pl.concat_str(
        start.struct.json_encode().str.strip_suffix("}"),
        pl.lit(',"data":'),
        pl.col("data"),
        pl.lit("}\n"),
    )
    return lines_of(rows.select(line.alias("line")).to_series())


@attrs.define
class _Spool:
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


@attrs.define(eq=False)
class PieceWriter(PartWriter):
    """Writes the events of one partition, all record types together in order of position.

    The first record type is written directly to the piece. ``close`` merges all lines only if there
    is a second record type, whose lines are spooled, or if positions are out of order.
    """

    _piece: Path
    _codec: str
    _level: int | None
    _outputs: dict[str, Output] = attrs.field(factory=dict)
    _spools: dict[str, _Spool] = attrs.field(factory=dict)

    def write(self, record_type: RecordType, table: pa.Table) -> None:
        """Write rows of one record type."""
        name = record_type.name
        if name not in self._spools:
            self._open(name)
        self._outputs[name].write(encode_event_lines(record_type, table))
        positions: pl.Series = pl.from_arrow(table.column("position"))  # type: ignore[assignment]
        self._spools[name].note(positions)

    def _open(self, name: str) -> None:
        number = len(self._spools)
        path = self._piece.with_name(f".spool-{number}") if number else self._piece
        codec, level = ("plain", None) if number else (self._codec, self._level)
        self._outputs[name] = Output(path, codec, level)
        self._spools[name] = _Spool(name, path, codec)

    def close(self) -> Sequence[tuple[str, str, int]]:
        """Finish the piece; return its name, record type and rows, or nothing without rows."""
        for output in self._outputs.values():
            output.close()
        spools = list(self._spools.values())
        if not spools:
            return []
        if len(spools) > 1 or not spools[0].in_order:
            self._merge(spools)
        kind = spools[0].record_type if len(spools) == 1 else "events"
        return [(self._piece.name, kind, sum(spool.rows for spool in spools))]

    def _merge(self, spools: Sequence[_Spool]) -> None:
        first = self._piece.replace(self._piece.with_name(".spool-0"))
        spools = [attrs.evolve(spools[0], path=first), *spools[1:]]
        output = self._outputs[""] = Output(self._piece, self._codec, self._level)
        for lines in _merged(spools):
            output.write(lines)
        output.close()
        for spool in spools:
            spool.path.unlink()

    def abort(self) -> None:
        """Close all files, which will be deleted."""
        for output in self._outputs.values():
            output.drop()


def _merged(spools: Sequence[_Spool]) -> Iterator[memoryview]:
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
