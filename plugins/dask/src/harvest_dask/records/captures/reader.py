"""Reader of one capture file: frame by frame, with rows of one kind collected into batches.

Counted as read are rows of frames, settings, variables, packages, tasks of graphs, and each other
frame; also the process, its host, and a missing end.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgpack
import numpy as np
import pyarrow as pa

from harvest import Partition, ReadContext, Record, record_type
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.texts import excerpt, printable

from ..arrays import text_map
from ..types import LogEvent, Process, RunNode
from .batches import TIME, Batch, as_text
from .container import MapFault, Piece, dump_format, pieces
from .dump import frames_of, load
from .maps import MAPS, Made, event, one_row
from .process import VERSION, ProcessFacts
from .tables import columns_of, record_class

GATHERED_ROWS: Final = 16_384
"""Number of rows to collect before they become tables."""
GATHERED_BYTES: Final = 1 << 23
"""Bytes of payloads to collect before they become tables."""

LONGEST_LIST: Final = 1 << 20
"""Maximum number of values of a list or map in a payload."""

ROWS: Final = ("n", "columns")
"""Fields of a frame that hold its rows."""
_KEPT: Final = 1024
"""Bytes of an unreadable dump that are kept with its reject."""
CUT: Final = "frame cut off where the file ends, in its process's cut_bytes"
ABOUT: Final = "frame about the process, in its row of dask.process"
EMPTY: Final = "frame without rows"


def read_file(partition: Partition, ctx: ReadContext) -> Iterator[Any]:
    """Yield the tables of a capture file or of a cluster dump, each with its record class."""
    if dump_format(partition.path):
        yield from _read_dump(partition.path, ctx)
        return
    with partition.path.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        reader = _Reader(ctx, ProcessFacts(partition.path.name))
        for piece in pieces(stream, size):
            ctx.advance(piece.size)
            if piece.cut:
                reader.cut(piece)
            elif piece.flaw:
                reader.refuse(piece.index, piece.raw, piece.flaw)
            else:
                yield from reader.frame(piece.index, piece.raw)
        yield from reader.finish(size)


def _read_dump(path: Path, ctx: ReadContext) -> Iterator[Any]:
    reader = _Reader(ctx, ProcessFacts(path.name))
    try:
        dump = load(path)
    except MapFault as fault:
        with path.open("rb") as file:
            reader.refuse(1, file.read(_KEPT), str(fault))
        return
    for number, (known, parts) in enumerate(frames_of(dump), 1):
        reader.facts = ProcessFacts(path.name)
        reader.facts.add("start", known)
        for kind, fields in parts:
            if fields.get("n") != 0:
                yield from reader.take(number, kind, fields)
        yield from reader.tables()
    ctx.advance(path.stat().st_size)
    ctx.note(
        "a cluster dump: the state at one moment, with the last transitions, transfers and lines "
        "that Dask still held; workers and threads of executions come from workers' records"
    )


class _Reader:
    """Conversion of frames to tables; numbers the rows of each record type."""

    def __init__(self, ctx: ReadContext, facts: ProcessFacts):
        self.ctx = ctx
        self.facts = facts
        self.batches: dict[str, Batch] = {}
        self.gathered_rows = self.gathered_bytes = 0
        self.counts: Counter[str] = Counter()
        self.blind: list[int | None] = []
        self.cut_off: Piece | None = None

    def refuse(self, index: int, raw: bytes, reason: str) -> None:
        """Reject a frame."""
        self.ctx.read(1)
        self.ctx.reject(raw, reason, position=index)

    def cut(self, cut: Piece) -> None:
        """Record an incomplete frame at the end; reject it if the record has ended before."""
        if "end" in self.facts.seen:
            self.refuse(cut.index, cut.raw, f"{cut.size} bytes behind the record's end")
            return
        self.facts.cut_bytes = cut.size
        self._fold(CUT)
        self.cut_off = cut

    def frame(self, index: int, payload: bytes) -> Iterator[Any]:
        """Read a complete frame; its rows are yielded now or with later rows of their kind."""
        self.facts.frames += 1
        try:
            fields = _unpacked(payload)
            kind = fields.pop("kind", None)
            if not isinstance(kind, str):
                raise MapFault(f"its kind is {kind!r}, not a text")
        except MapFault as fault:
            self.refuse(index, payload, f"frame {index}: {fault}")
            return
        yield from self.take(index, kind, fields, payload)

    def take(
        self, index: int, kind: str, fields: dict[str, Any], payload: bytes = b""
    ) -> Iterator[Any]:
        """Read the fields of a frame; payload: the bytes from which they were unpacked."""
        try:
            if "columns" in fields:
                self._gather(kind, index, fields, len(payload))
            else:
                yield from self._map(kind, index, fields)
        except MapFault as fault:
            self.refuse(index, payload or excerpt(repr(fields)).encode(), f"frame {index}: {fault}")
        if self.gathered_rows >= GATHERED_ROWS or self.gathered_bytes >= GATHERED_BYTES:
            yield from self.tables()

    def finish(self, size: int) -> Iterator[Any]:
        """Yield the remaining rows and the row of the process; note missing parts of the record."""
        yield from self.tables()
        if not self.facts.frames and self.cut_off is None:
            if not self.ctx.units:
                self.ctx.note(f"{printable(self.facts.file)} is empty")
            return
        self.ctx.read(1)
        yield Process, self.facts.table(self.ctx)
        if self.facts.text("host") is not None:
            role = self.facts.text("role") or "unknown"
            yield from self._made((RunNode, one_row(role=role, host=self.facts.text("host"))))
        if self.blind:
            spells = count_in_words(len(self.blind), "spell")
            known = sum(count for count in self.blind if count is not None)
            lost = f"{'at least ' if None in self.blind else ''}{known:,} rows are lost"
            self.ctx.note(f"{spells} in which nothing could be recorded; {lost}")
        if self.facts.frames and "start" not in self.facts.seen:
            self.ctx.note("the frame that names its process is missing")
        if "start" in self.facts.seen and self.facts.version != VERSION:
            self.ctx.note(
                f"the file has version {self.facts.version!r} of the format, not {VERSION}; new "
                f"content is in the columns 'extra' and 'fields'"
            )
        if "end" not in self.facts.seen:
            yield from self._lost(size)

    def _lost(self, size: int) -> Iterator[Any]:
        """Report that the record has no end: in a note and in a row."""
        facts, cut = self.facts, self.cut_off
        writing = "" if cut is None else f", while frame {cut.index} was being written"
        named = " ".join(filter(None, (facts.text("role"), facts.text("address"))))
        who = named or printable(facts.file)
        last = "an unknown time" if facts.last is None else facts.last.as_py().isoformat(" ")
        said = (
            f"the record of {who} ends at byte {size}{writing} (last time: {last}), without an "
            "end: the process was killed or could not write, or it still runs"
        )
        self.ctx.note(said)
        row = one_row(
            source=facts.text("role"),
            level="warning",
            message=said,
            kind="lost",
            worker=facts.text("address") if facts.text("role") == "worker" else None,
        )
        row["time"] = pa.array([None if facts.last is None else facts.last.as_py()], TIME)
        yield from self._made((LogEvent, row))

    def _map(self, kind: str, index: int, fields: dict[str, Any]) -> Iterator[Any]:
        if kind in ("start", "script", "end"):
            if not self.facts.add(kind, fields):
                raise MapFault(f"is a second {kind!r} in the file")
            self._fold(ABOUT)
            return
        if kind == "clock":
            self.facts.add(kind, fields)
        lost = fields.get("lost")
        made = list(MAPS[kind](fields, self.facts)) if kind in MAPS else []
        if kind == "blind":
            self.blind.append(lost if isinstance(lost, int) else None)
        for each in made:
            yield from self._made(each, fields)
        if any(len(next(iter(columns.values()))) for _, columns in made):
            return
        if fields or kind not in MAPS:
            yield from self._made(event(kind, fields, self.facts))
        else:
            self._fold(EMPTY)

    def _made(self, made: Made, rest: Mapping[str, Any] | None = None) -> Iterator[Any]:
        """Yield rows made from a map, numbered; rest: values for ``extra`` of each row."""
        cls, columns = made
        rows = len(next(iter(columns.values())))
        first = self._number(cls, rows)
        columns["position"] = pa.array(np.arange(first, first + rows))
        if rest:
            constant = {name: pa.repeat(as_text([v])[0], rows) for name, v in rest.items()}
            columns["extra"] = text_map(constant)
        if "time" in columns:
            self.facts.saw(columns["time"])
        self.ctx.read(rows)
        yield cls, pa.table(columns)

    def _gather(self, kind: str, index: int, fields: dict[str, Any], size: int) -> None:
        """Add the rows of a frame to the batch of their kind."""
        columns = _columns(fields)
        rows = len(next(iter(columns.values()), ()))
        if not rows:
            self._fold(EMPTY)
            return
        if kind not in self.batches:
            self.batches[kind] = Batch(kind)
        first = self._number(record_class(kind), rows)
        self.batches[kind].add(index, columns, rows, first)
        self.gathered_rows += rows
        self.gathered_bytes += size
        self.ctx.read(rows)

    def tables(self) -> Iterator[Any]:
        """What was gathered, as tables."""
        batches, self.batches = self.batches, {}
        self.gathered_rows = self.gathered_bytes = 0
        for kind, batch in batches.items():
            cls = record_class(kind)
            table = batch.table(cls, columns_of(batch, self.facts), self.ctx)
            if "time" in table.column_names:
                self.facts.saw(table["time"])
            yield cls, table

    def _number(self, cls: type[Record], rows: int) -> int:
        """Reserve positions for more rows of a type; return the first one."""
        name = record_type(cls).name
        first = self.counts[name] + 1
        self.counts[name] += rows
        return first

    def _fold(self, what: str) -> None:
        self.ctx.read(1)
        self.ctx.folded(1, what)


def _unpacked(payload: bytes) -> dict[str, Any]:
    """Unpack the map in a payload, lists as tuples. Raises MapFault if it is not a map."""
    try:
        found = msgpack.unpackb(
            payload,
            use_list=False,
            ext_hook=_refuse_extension,
            max_array_len=LONGEST_LIST,
            max_map_len=LONGEST_LIST,
        )
    except (ValueError, msgpack.UnpackException) as error:
        raise MapFault(f"its payload is not msgpack ({error or type(error).__name__})") from error
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
        raise MapFault("its payload is not a map from texts")
    return found


def _refuse_extension(code: int, _: bytes) -> Any:
    raise ValueError(f"extension type {code}")


def _columns(fields: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """Return the columns of a frame of rows; other values are repeated for all rows."""
    columns = fields["columns"]
    if not isinstance(columns, dict) or not all(isinstance(name, str) for name in columns):
        raise MapFault("its columns are not a map from texts")
    for name, values in columns.items():
        if not isinstance(values, tuple):
            raise MapFault(f"its column {name!r} is not a list")
    rows = fields.get("n", len(next(iter(columns.values()), ())))
    if not isinstance(rows, int):
        raise MapFault(f"its number of rows is {rows!r}")
    for name, values in columns.items():
        if len(values) != rows:
            raise MapFault(f"its column {name!r} holds {len(values)} values for {rows} rows")
    if not columns and rows != 0:
        raise MapFault(f"it has {rows} rows and no column")
    beside = {name: (value,) * rows for name, value in fields.items() if name not in ROWS}
    return {**beside, **columns}
