"""Conversion of each kind of rows to its record type and columns."""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import attrs
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from harvest import Record

from .. import types
from ..arrays import text_map
from ..kinds import FIELDS, KIND, WORKER, stimulus_kinds
from .batches import FLOAT, TEXT, TIME, Batch, as_text
from .dump import pickled_class
from .process import ProcessFacts

Columns: TypeAlias = dict[str, pa.Array]


def record_class(kind: str) -> type[Record]:
    """Return the record class for a kind of rows; ``Event`` for an unknown kind."""
    return TABLES[kind].cls if kind in TABLES else types.Event


def columns_of(batch: Batch, facts: ProcessFacts) -> Columns:
    """Return the columns of a batch's record class; faults are recorded in the batch."""
    if table := TABLES.get(batch.kind):
        return batch.complete(table.cls, table.make(batch, facts), table.renamed)
    # a kind without a table: all values as text
    columns = {"time": batch.column("time", TIME), "topic": _constant(batch, batch.kind)}
    fields = batch.fields(*batch.others())
    rest = {} if fields is None else {"fields": fields}
    return columns | _recorder(batch, facts) | rest


@attrs.frozen
class _Table:
    """A kind of rows: its record class, and the function for columns that are not in the rows.

    renamed: name in the rows by column of the record, for columns with another name there.
    """

    cls: type[Record]
    make: Callable[[Batch, ProcessFacts], Columns]
    renamed: Mapping[str, str] = attrs.field(factory=dict)


def _constant(batch: Batch, value: str | None) -> pa.Array:
    return pa.repeat(pa.scalar(value, pa.string()), batch.size)


def _address(batch: Batch, facts: ProcessFacts) -> pa.Array:
    return _constant(batch, facts.text("address"))


def _lasted(batch: Batch) -> pa.Array:
    begins, ends = batch.column("begins", FLOAT), batch.column("ends", FLOAT)
    return pc.subtract(ends, begins)


def _stimulus(batch: Batch) -> Columns:
    found = batch.column("stimulus_id", TEXT)
    return {"stimulus": stimulus_kinds(found), "stimulus_id": found}


def _scheduler_transitions(batch: Batch, facts: ProcessFacts) -> Columns:
    # a task that Dask gave up has only the pickled exception
    pickled = batch.values("exception_pickle")
    named = [pickled_class(each) if isinstance(each, bytes) else None for each in pickled]
    return {
        "duration_s": _lasted(batch),
        "scheduler": _address(batch, facts),
        "exception": pc.coalesce(batch.column("exception", TEXT), pa.array(named, TEXT)),
        **_stimulus(batch),
    }


def _transfers(batch: Batch, facts: ProcessFacts) -> Columns:
    peer, reporter = batch.column("peer", TEXT), _address(batch, facts)
    direction = pc.utf8_lower(batch.column("direction", TEXT, required=True))
    incoming, outgoing = pc.equal(direction, "incoming"), pc.equal(direction, "outgoing")
    nobody = pa.nulls(batch.size, pa.string())
    neither = pc.fill_null(pc.invert(pc.or_(incoming, outgoing)), fill_value=False)
    batch.refuse_where(neither, "direction", "incoming or outgoing")
    return {
        "direction": direction,
        "requestor": pc.if_else(incoming, reporter, pc.if_else(outgoing, peer, nobody)),
        "fulfiller": pc.if_else(incoming, peer, pc.if_else(outgoing, reporter, nobody)),
        "worker": reporter,
        "copies": pa.repeat(pa.scalar(1, pa.int64()), batch.size),
    }


def _log_events(batch: Batch, facts: ProcessFacts) -> Columns:
    message = batch.column("message", TEXT, required=True)
    frame = pl.DataFrame(
        {
            "level": pl.Series(batch.column("level", TEXT)).str.to_lowercase(),
            "logger": pl.Series(batch.column("logger", TEXT)),
            "named": pl.Series(batch.column("worker", TEXT)),
            # the kind is read from the first line, as in the logs that Dask writes
            "said": pl.Series(message).str.extract(r"^([^\n]*)").str.strip_chars(),
        },
        schema=dict.fromkeys(("level", "logger", "named", "said"), pl.String),
    )
    named = pl.coalesce("named", WORKER)
    found = frame.select("level", kind=KIND, worker=named, **FIELDS)
    fields = {name: found[name].to_arrow().cast(pa.string()) for name in FIELDS}
    return {
        "time": batch.column("time", TIME),
        "source": pc.fill_null(batch.column("source", TEXT), facts.text("role") or "unknown"),
        "message": message,
        **{name: found[name].to_arrow() for name in ("level", "kind", "worker")},
        "fields": text_map(fields),
    }


def _events(batch: Batch, facts: ProcessFacts) -> Columns:
    return {"message": as_text(batch.values("message")), **_recorder(batch, facts)}


def _spans(batch: Batch, facts: ProcessFacts) -> Columns:
    return {
        "topic": _constant(batch, "span"),
        "message": as_text(batch.values("name")),
        **_recorder(batch, facts),
        "fields": batch.fields("id", "tags", "annotations"),
    }


def _recorder(batch: Batch, facts: ProcessFacts) -> Columns:
    return {"role": _constant(batch, facts.text("role")), "address": _address(batch, facts)}


TABLES: Final[Mapping[str, _Table]] = {
    "scheduler_transition": _Table(
        types.TaskTransition, _scheduler_transitions, {"result_type": "type"}
    ),
    "worker_transition": _Table(
        types.WorkerTransition,
        lambda batch, facts: {"worker": _address(batch, facts), **_stimulus(batch)},
    ),
    "transfer": _Table(types.Transfer, _transfers),
    "worker_event": _Table(
        types.WorkerEvent,
        lambda batch, _: {"resources": as_text(batch.values("resources"))},
        {"memory_limit_bytes": "memory_limit"},
    ),
    "client_event": _Table(types.ClientEvent, lambda *_: {}),
    "log": _Table(types.LogEvent, _log_events),
    "execution": _Table(
        types.Execution,
        lambda batch, facts: {"duration_s": _lasted(batch), "worker": _address(batch, facts)},
    ),
    "sample": _Table(
        types.WorkerSample,
        _recorder,
        {"disk_read_bytes": "read_bytes_disk", "disk_write_bytes": "write_bytes_disk"},
    ),
    "event": _Table(types.Event, _events),
    "span": _Table(types.Event, _spans, {"time": "start"}),
}
"""Kinds of rows that have columns of their own; others become events, with all values as text."""
