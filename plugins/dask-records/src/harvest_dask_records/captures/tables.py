"""What each kind of rows becomes: the record type, and its columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from harvest import Record

from ..arrays import text_map
from ..log_kinds import FIELDS, KIND, WORKER
from ..stimuli import stimulus_kinds
from ..types import (
    ClientEvent,
    Event,
    Execution,
    LogEvent,
    TaskTransition,
    Transfer,
    WorkerEvent,
    WorkerSample,
    WorkerTransition,
)
from .batches import Batch
from .process import ProcessFacts

__all__ = ["TABLES", "columns_of", "record_class"]

Columns: TypeAlias = dict[str, pa.Array]
Maker: TypeAlias = Callable[[Batch, ProcessFacts], Columns]


def record_class(kind: str) -> type[Record]:
    """The record class that rows of a kind become; a kind that is not known becomes events."""
    return TABLES[kind][0] if kind in TABLES else Event


def columns_of(batch: Batch, facts: ProcessFacts) -> Columns:
    """The columns of a batch's record class; faults stay with the batch."""
    make = TABLES[batch.kind][1] if batch.kind in TABLES else _unknown
    return make(batch, facts)


def _constant(batch: Batch, value: str | None) -> pa.Array:
    return pa.repeat(pa.scalar(value, pa.string()), batch.size)


def _scheduler_transitions(batch: Batch, facts: ProcessFacts) -> Columns:
    begins, ends = batch.floats("begins"), batch.floats("ends")
    stimulus_id = batch.texts("stimulus_id")
    return {
        "time": batch.times("time", required=True),
        "key": batch.texts("key", required=True),
        "prefix": batch.texts("prefix"),
        "group": batch.texts("group"),
        "start_state": batch.states("start_state"),
        "finish_state": batch.states("finish_state"),
        "stimulus": stimulus_kinds(stimulus_id),
        "stimulus_id": stimulus_id,
        "scheduler": _constant(batch, facts.address),
        "worker": batch.texts("worker"),
        "thread": batch.integers("thread"),
        "begins": batch.times("begins"),
        "ends": batch.times("ends"),
        "duration_s": pc.subtract(ends, begins),
        "size_bytes": batch.integers("size_bytes"),
        "result_type": batch.texts("type"),
        "run_id": batch.integers("run_id"),
        "exception": batch.texts("exception"),
        "cause": batch.texts("cause"),
    }


def _worker_transitions(batch: Batch, facts: ProcessFacts) -> Columns:
    stimulus_id = batch.texts("stimulus_id")
    return {
        "time": batch.times("time", required=True),
        "key": batch.texts("key", required=True),
        "start_state": batch.states("start_state"),
        "finish_state": batch.states("finish_state"),
        "worker": _constant(batch, facts.address),
        "stimulus": stimulus_kinds(stimulus_id),
        "stimulus_id": stimulus_id,
    }


def _transfers(batch: Batch, facts: ProcessFacts) -> Columns:
    peer, reporter = batch.texts("peer"), _constant(batch, facts.address)
    direction = batch.states("direction")
    incoming, outgoing = pc.equal(direction, "incoming"), pc.equal(direction, "outgoing")
    nobody = pa.nulls(batch.size, pa.string())
    neither = pc.fill_null(pc.invert(pc.or_(incoming, outgoing)), fill_value=False)
    batch.refuse_where(neither, "direction", "incoming or outgoing")
    return {
        "start_time": batch.times("start_time"),
        "end_time": batch.times("end_time"),
        "duration_s": batch.floats("duration_s"),
        "keys": batch.key_sizes("keys"),
        "total_bytes": batch.integers("total_bytes"),
        "compressed_bytes": batch.integers("compressed_bytes"),
        "bandwidth": batch.floats("bandwidth"),
        "direction": direction,
        "requestor": pc.if_else(incoming, reporter, pc.if_else(outgoing, peer, nobody)),
        "fulfiller": pc.if_else(incoming, peer, pc.if_else(outgoing, reporter, nobody)),
        "worker": reporter,
        "time": batch.times("time"),
        "copies": pa.repeat(pa.scalar(1, pa.int64()), batch.size),
        "middle": batch.times("middle"),
    }


def _worker_events(batch: Batch, _: ProcessFacts) -> Columns:
    return {
        "time": batch.times("time"),
        "worker": batch.texts("worker"),
        "action": batch.texts("action"),
        "stimulus_id": batch.texts("stimulus_id"),
        "name": batch.texts("name"),
        "host": batch.texts("host"),
        "nthreads": batch.integers("nthreads"),
        "memory_limit_bytes": batch.integers("memory_limit"),
        "resources": batch.any_texts("resources"),
        "reason": batch.texts("reason"),
    }


def _client_events(batch: Batch, _: ProcessFacts) -> Columns:
    return {name: batch.texts(name) for name in ("client", "action")} | {
        "time": batch.times("time")
    }


def _log_events(batch: Batch, facts: ProcessFacts) -> Columns:
    message = batch.texts("message", required=True)
    frame = pl.DataFrame(
        {
            "level": pl.Series(batch.texts("level")).str.to_lowercase(),
            "logger": pl.Series(batch.texts("logger")),
            "named": pl.Series(batch.texts("worker")),
            # the kind is read from the first line, as in the logs that Dask writes
            "said": pl.Series(message).str.extract(r"^([^\n]*)").str.strip_chars(),
        },
        schema=dict.fromkeys(("level", "logger", "named", "said"), pl.String),
    )
    found = frame.select(
        "level",
        kind=KIND.fill_null("other"),
        worker=pl.coalesce("named", WORKER),
        **{f"field_{name}": value for name, value in FIELDS.items()},
    )
    fields = {name: found[f"field_{name}"].to_arrow().cast(pa.string()) for name in FIELDS}
    return {
        "time": batch.times("time"),
        "source": pc.fill_null(batch.texts("source"), facts.role or "unknown"),
        "level": found["level"].to_arrow(),
        "message": message,
        "kind": found["kind"].to_arrow(),
        "worker": found["worker"].to_arrow(),
        "fields": text_map(fields),
    }


def _executions(batch: Batch, facts: ProcessFacts) -> Columns:
    begins, ends = batch.floats("begins"), batch.floats("ends")
    return {
        "begins": batch.times("begins"),
        "ends": batch.times("ends"),
        "duration_s": pc.subtract(ends, begins),
        "key": batch.texts("key", required=True),
        "worker": _constant(batch, facts.address),
        "thread": batch.integers("thread"),
        "status": batch.states("status"),
    }


def _samples(batch: Batch, facts: ProcessFacts) -> Columns:
    integers = {
        **{name: name for name in ("memory_bytes", "managed_bytes", "spilled_bytes")},
        **{name: name for name in ("net_read_bytes", "net_write_bytes", "fds")},
        **{name: name for name in ("executing", "ready")},
        **{name: name for name in ("spills", "spill_bytes", "unspills", "unspill_bytes")},
        "disk_read_bytes": "read_bytes_disk",
        "disk_write_bytes": "write_bytes_disk",
    }
    return {
        "time": batch.times("time", required=True),
        "role": _constant(batch, facts.role),
        "address": _constant(batch, facts.address),
        **{name: batch.floats(name) for name in ("cpu_percent", "event_loop_s")},
        **{name: batch.integers(column) for name, column in integers.items()},
    }


def _events(batch: Batch, facts: ProcessFacts) -> Columns:
    return {
        "time": batch.times("time"),
        "topic": batch.texts("topic", required=True),
        "message": batch.any_texts("message"),
        **_recorder(batch, facts),
    }


def _spans(batch: Batch, facts: ProcessFacts) -> Columns:
    return {
        "time": batch.times("start"),
        "topic": _constant(batch, "span"),
        "message": batch.any_texts("name"),
        **_recorder(batch, facts),
        "fields": batch.fields("id", "tags", "annotations"),
    }


def _unknown(batch: Batch, facts: ProcessFacts) -> Columns:
    """Rows of a kind that has no table: all values as text."""
    columns = {
        "time": batch.times("time"),
        "topic": _constant(batch, batch.kind),
        **_recorder(batch, facts),
    }
    fields = batch.fields(*batch.others())
    return columns if fields is None else {**columns, "fields": fields}


def _recorder(batch: Batch, facts: ProcessFacts) -> Columns:
    return {"role": _constant(batch, facts.role), "address": _constant(batch, facts.address)}


TABLES: Final[Mapping[str, tuple[type[Record], Maker]]] = {
    "scheduler_transition": (TaskTransition, _scheduler_transitions),
    "worker_transition": (WorkerTransition, _worker_transitions),
    "transfer": (Transfer, _transfers),
    "worker_event": (WorkerEvent, _worker_events),
    "client_event": (ClientEvent, _client_events),
    "log": (LogEvent, _log_events),
    "execution": (Execution, _executions),
    "sample": (WorkerSample, _samples),
    "event": (Event, _events),
    "span": (Event, _spans),
}
"""Kinds of rows that have columns of their own; others become events, with all values as text."""
