"""Rows as bytes of CSV, JSON Lines, Parquet or Arrow, batch by batch."""

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

import attrs
import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from harvest import UsageError
from harvest.model.frames import without_maps
from harvest.model.json import encode_frame
from harvest_report.table_files import CSV_TIME, csv_columns

from .questions import Question
from .sql import query as sql_query
from .state import Snapshot
from .tables import describe, opened, query

TIME_S: Final = 900.0
"""Seconds that a download may take."""


@attrs.frozen
class Form:
    """A file format: its name in addresses, file suffix, and media type."""

    name: str
    suffix: str
    media_type: str
    write: Callable[[Iterable[pa.RecordBatch]], Iterator[bytes]]


def frame_of(table: pa.Table | pa.RecordBatch) -> pl.DataFrame:
    """Convert rows to a polars frame; maps become lists of keys and values."""
    arrays = [without_maps(column) for column in table.columns]
    frame = pl.from_arrow(pa.table(arrays, names=table.schema.names))
    assert isinstance(frame, pl.DataFrame)
    return frame


def _csv(batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    for number, batch in enumerate(batches):
        frame = csv_columns(frame_of(batch))
        yield frame.write_csv(datetime_format=CSV_TIME, include_header=number == 0).encode()


def _json_lines(batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    for batch in batches:
        if batch.num_rows:
            yield "".join(f"{line}\n" for line in encode_frame(frame_of(batch))).encode()


def _written(
    writer_of: Callable[[Any, pa.Schema], Any], batches: Iterable[pa.RecordBatch]
) -> Iterator[bytes]:
    """Encode batches with a writer of pyarrow."""
    file, writer = io.BytesIO(), None
    for batch in batches:
        writer = writer or writer_of(file, batch.schema)
        if batch.num_rows:
            writer.write_batch(batch)
        yield file.getvalue()
        file.seek(0)
        file.truncate()
    if writer is not None:
        writer.close()
    yield file.getvalue()


_parquet: Final = partial(_written, partial(pq.ParquetWriter, compression="zstd"))
_arrow: Final = partial(_written, pa.ipc.new_stream)

FORMS: Final[Mapping[str, Form]] = {
    form.name: form
    for form in (
        Form("csv", ".csv", "text/csv; charset=utf-8", _csv),
        Form("jsonl", ".jsonl", "application/jsonl", _json_lines),
        Form("parquet", ".parquet", "application/vnd.apache.parquet", _parquet),
        Form("arrow", ".arrows", "application/vnd.apache.arrow.stream", _arrow),
    )
}
"""By name."""


def form_of(name: str) -> Form:
    """Return the format of a name; raises UsageError for an unknown name."""
    if name not in FORMS:
        raise UsageError(f"no form is named {name!r}", remedy=f"use {', '.join(FORMS)}")
    return FORMS[name]


def stream(snapshot: Snapshot, table: str, form: Form, asked: Question) -> Iterator[bytes]:
    """Yield all matching rows, up to the question's limit, as bytes of a file format.

    Rows are read as the bytes are consumed. Raises as ``tables.rows``, before the first bytes.
    """
    types = describe(snapshot, table, asked.settings).types
    with opened(snapshot, table, asked, whole=bool(asked.sort)) as (files, engine):
        sql, values = query(types, files, asked)
        cut = "" if asked.limit is None else f" LIMIT {asked.limit}"
        yield from form.write(engine.batches(sql + cut, values, time_s=TIME_S))


def stream_sql(
    snapshot: Snapshot,
    text: str,
    form: Form,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
) -> Iterator[bytes]:
    """Yield the whole result of a query as bytes of a file format; raises as ``sql.ask``."""
    with sql_query(snapshot, text, settings, time_s=TIME_S) as batches:
        yield from form.write(batches)
