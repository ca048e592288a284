"""Real runs with the kit's own sink: undisturbed, and killed with SIGKILL at a chosen step."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, ClassVar

import polars as pl
import pyarrow as pa

import harvest
from harvest import DirectorySink, PartFile, PartWriter, Publication, Sink, Source
from harvest.model import RecordType, record_type
from harvest.model.arrow import conform
from harvest.model.frames import frame_of
from harvest.plugins import plugins_of

from .reading import rows_as_lines


class ArrowSink(DirectorySink):
    """A directory of Arrow IPC files: what the kit writes to, since it comes with no plugin.

    kill_at: ``write`` or ``publish``: the process kills itself after the first such step.
    """

    name: ClassVar[str] = "conformance"
    suffix: ClassVar[str] = ".arrow"
    kill_at: ClassVar[str | None] = None

    @classmethod
    def passed(cls, step: str) -> None:
        if step == cls.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def writer(self, staging: Path, part: str) -> PartWriter:
        return _ArrowWriter(self, staging, part)

    def publish(self, publication: Publication) -> Mapping[str, Sequence[PartFile]]:
        final = super().publish(publication)
        self.passed("publish")
        return final

    def scan(self, files: Sequence[PartFile], record_type: RecordType) -> pl.LazyFrame:
        paths = self.paths(f for f in files if f.record_type == record_type.name)
        tables = [conform(record_type, _rows_of(path)) for path in paths]
        empty = record_type.arrow_schema.empty_table()
        return frame_of(record_type, pa.concat_tables([empty, *tables])).lazy()


class _ArrowWriter(PartWriter):
    def __init__(self, sink: ArrowSink, staging: Path, part: str):
        self.sink, self.staging, self.part = sink, staging, part
        self.files: dict[str, tuple[IO[bytes], Any]] = {}
        self.rows: dict[str, int] = {}

    def write(self, record_type: RecordType, table: pa.Table) -> None:
        name = record_type.name
        # a file of IPC cannot replace a dictionary, and each batch of rows may bring another
        plain = table.set_column(
            table.schema.get_field_index("origin"), "origin", table["origin"].cast(pa.string())
        )
        if name not in self.files:
            path = self.staging / self.sink.place(name, self.part)
            path.parent.mkdir(parents=True)
            file = path.open("wb")  # not by its path, which may be no UTF-8
            self.files[name] = (file, pa.ipc.new_file(file, plain.schema))
        self.files[name][1].write_table(plain)
        self.rows[name] = self.rows.get(name, 0) + table.num_rows
        self.sink.passed("write")

    def close(self) -> Sequence[tuple[str, str, int]]:
        for file, writer in self.files.values():
            writer.close()
            file.close()
        return [(self.sink.place(n, self.part), n, rows) for n, rows in self.rows.items()]

    def abort(self) -> None:
        for file, _ in self.files.values():
            file.close()


def _rows_of(path: Path) -> pa.Table:
    with path.open("rb") as file, pa.ipc.open_file(file) as rows:
        return rows.read_all()


def harvest_into(
    sink: type[Sink],
    out: Path | str,
    source: type[Source],
    location: Path | str,
    settings: Mapping[str, Any],
    kill_at: str | None = None,
) -> None:
    """Harvest a location in this process, as ``harvest run`` does.

    settings: of each plugin by its name.  kill_at: of the kit's own sink.
    """
    ArrowSink.kill_at = kill_at
    harvest.run(
        f"{source.name}:{location}",
        f"{sink.name}:{out}",
        settings=settings,
        workers=1,
        plugins=plugins_of(source, sink),
    )


def contents(out: Path, source: type[Source]) -> list[str]:
    """Everything that a dataset of the kit's sink holds, as lines: rows, rejects and accounts."""
    dataset = harvest.open(out, plugins=plugins_of(source, ArrowSink))
    kinds = {record_type(cls).name for cls in source.record_types}
    lines = []
    for part in dataset.parts:
        account = (part.read, part.rows, part.filtered, part.folded, part.rejected, part.notes)
        lines.append(f"{part.origin} {part.partition}: {account!r}")
        for file in part.files:
            assert file.record_type in kinds
            lines += rows_as_lines(file.record_type, _rows_of(out / file.path))
    return lines + [f"reject {reject!r}" for reject in dataset.rejects()]
