"""Write a partition's piece of the consolidated file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import polars as pl

from harvest import PartWriter, RecordType

from .codecs import Output
from .event_lines import encode_event_lines
from .spools import Spool, merge

if TYPE_CHECKING:
    import pyarrow as pa


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
    _spools: dict[str, Spool] = attrs.field(factory=dict)

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
        self._spools[name] = Spool(name, path, codec)

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

    def _merge(self, spools: Sequence[Spool]) -> None:
        first = self._piece.replace(self._piece.with_name(".spool-0"))
        spools = [attrs.evolve(spools[0], path=first), *spools[1:]]
        output = self._outputs[""] = Output(self._piece, self._codec, self._level)
        for lines in merge(spools):
            output.write(lines)
        output.close()
        for spool in spools:
            spool.path.unlink()

    def abort(self) -> None:
        """Close all files, which will be deleted."""
        for output in self._outputs.values():
            output.drop()
