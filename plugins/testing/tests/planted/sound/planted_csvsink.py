"""The sink csvsink: a directory of CSV files, whose first line names columns and their types.

A value is JSON, so that null, an empty text and the text ``null`` are three things; whole numbers
and times are written in full.
"""

import base64
import csv
import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any

import polars as pl
import pyarrow as pa

import harvest
from harvest import PartFile, RecordType, conform
from harvest.model.frames import frame_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class CsvWriter(harvest.PartWriter):
    """Writes the rows of one partition."""

    def __init__(self, sink: harvest.DirectorySink, staging: Path, part: str) -> None:
        self.sink, self.staging, self.part = sink, staging, part
        self.open: dict[str, IO[str]] = {}
        self.rows: dict[str, int] = {}

    def write(self, record_type: RecordType, table: pa.Table) -> None:
        """Append rows to the file of their record type."""
        name = record_type.name
        if name not in self.open:
            path = self.staging / self.sink.place(name, self.part)
            path.parent.mkdir(parents=True)
            self.open[name] = path.open("w", encoding="utf-8", newline="")
            csv.writer(self.open[name]).writerow(table.column_names)
            self.rows[name] = 0
        lines = csv.writer(self.open[name])
        for batch in table.to_batches():
            columns = [told(column) for column in batch.columns]
            lines.writerows(zip(*columns, strict=True))
            self.rows[name] += batch.num_rows

    def close(self) -> Sequence[tuple[str, str, int]]:
        """Finish all files."""
        for file in self.open.values():
            file.close()
        return [(self.sink.place(n, self.part), n, rows) for n, rows in self.rows.items()]

    def abort(self) -> None:
        """Let go of open files."""
        for file in self.open.values():
            file.close()


class CsvSink(harvest.DirectorySink):
    """A directory of CSV files."""

    name = "planted-csvsink"
    suffix = ".csv"

    def writer(self, staging: Path, part: str) -> CsvWriter:
        """A writer of one partition."""
        return CsvWriter(self, staging, part)

    def scan(self, files: Sequence[PartFile], record_type: RecordType) -> pl.LazyFrame:
        """The rows of a record type."""
        tables = [record_type.arrow_schema.empty_table()]
        for path in self.paths(f for f in files if f.record_type == record_type.name):
            tables.append(conform(record_type, read(path, record_type)))
        return frame_of(record_type, pa.concat_tables(tables)).lazy()


def read(path: Path, record_type: RecordType) -> pa.Table:
    """The rows of a file, of columns that the record type has."""
    csv.field_size_limit(1 << 30)
    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.reader(file)
        names = next(lines)
        values: list[list[str]] = list(lines)
    schema = record_type.arrow_schema
    columns = {}
    for place, name in enumerate(names):
        if name in schema.names:
            kind = schema.field(name).type
            cells = [understood(json.loads(line[place]), plain(kind)) for line in values]
            columns[name] = pa.array(cells, plain(kind)).cast(kind)
    return pa.table(columns)


def plain(kind: pa.DataType) -> pa.DataType:
    """The type without a dictionary."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def told(column: pa.Array) -> list[str]:
    """Values as JSON."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return [
        json.dumps(simple(scalar, column.type), ensure_ascii=False) for scalar in column.to_pylist()
    ]


def simple(value: Any, kind: pa.DataType) -> Any:
    """A value as JSON has it: times in microseconds, bytes in base 64, odd floats as texts."""
    if value is None:
        return None
    if pa.types.is_timestamp(kind):
        return (value - EPOCH) // timedelta(microseconds=1)
    if pa.types.is_floating(kind):
        return value if math.isfinite(value) else repr(value)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return base64.b64encode(value).decode("ascii")
    if pa.types.is_map(kind):
        return [[simple(k, kind.key_type), simple(v, kind.item_type)] for k, v in value]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [simple(each, kind.value_type) for each in value]
    if pa.types.is_struct(kind):
        return {f.name: simple(value[f.name], f.type) for f in kind}
    return value


def understood(value: Any, kind: pa.DataType) -> Any:
    """What ``simple`` made it of."""
    if value is None:
        return None
    if pa.types.is_timestamp(kind):
        return EPOCH + timedelta(microseconds=value)
    if pa.types.is_floating(kind):
        return float(value)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return base64.b64decode(value)
    if pa.types.is_map(kind):
        return [(understood(k, kind.key_type), understood(v, kind.item_type)) for k, v in value]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [understood(each, kind.value_type) for each in value]
    if pa.types.is_struct(kind):
        return {f.name: understood(value[f.name], f.type) for f in kind}
    return value
