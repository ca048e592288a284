"""Readers of state transitions of tasks, and of workers and clients that came or went."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from harvest import Partition, ReadContext
from harvest_dask.records.key_columns import canonical_keys
from harvest_dask.records.stimuli import stimulus_kinds
from harvest_dask.records.types import ClientEvent, TaskTransition, WorkerEvent, WorkerTransition

from .convert import floats, integers, states, times
from .csv_tables import Chunk, chunks


def scheduler_transitions(partition: Partition, ctx: ReadContext, _: Any) -> Iterator[Any]:
    """Read ``scheduler_transition.csv``."""
    for chunk in chunks(partition, ctx, TaskTransition):
        stimulus_id = chunk.texts("stimulus_id")
        columns = {
            "time": times(chunk, "time", required=True),
            "key": canonical_keys(chunk.require("key")),
            "prefix": chunk.texts("prefix"),
            "group": chunk.texts("group"),
            "start_state": states(chunk, "start"),
            "finish_state": states(chunk, "finish"),
            "stimulus": stimulus_kinds(stimulus_id),
            "stimulus_id": stimulus_id,
            "scheduler": chunk.texts("called_from"),
            "worker": chunk.texts("worker"),
            "thread": integers(chunk, "thread"),
            "begins": times(chunk, "begins"),
            "ends": times(chunk, "ends"),
            "duration_s": floats(chunk, "duration"),
            "size_bytes": integers(chunk, "size"),
        }
        yield TaskTransition, chunk.rows(TaskTransition, columns, ctx)


def worker_transitions(partition: Partition, ctx: ReadContext, _: Any) -> Iterator[Any]:
    """Read ``worker_transition.csv``."""
    for chunk in chunks(partition, ctx, WorkerTransition):
        columns = {
            "time": times(chunk, "time", required=True),
            "key": canonical_keys(chunk.require("key")),
            "start_state": states(chunk, "start"),
            "finish_state": states(chunk, "finish"),
            "worker": chunk.texts("called_from"),
        }
        yield WorkerTransition, chunk.rows(WorkerTransition, columns, ctx)


def workers(partition: Partition, ctx: ReadContext, _: Any) -> Iterator[Any]:
    """Read ``worker.csv``; a worker that ends reports only a time, without its address."""
    for chunk in chunks(partition, ctx, WorkerEvent):
        columns = {
            "time": times(chunk, "time"),
            "worker": chunk.texts("worker"),
            "action": _actions(chunk),
            "stimulus_id": chunk.texts("stimulus_id"),
        }
        yield WorkerEvent, chunk.rows(WorkerEvent, columns, ctx)


def clients(partition: Partition, ctx: ReadContext, _: Any) -> Iterator[Any]:
    """Read ``client.csv``."""
    for chunk in chunks(partition, ctx, ClientEvent):
        columns = {
            "time": times(chunk, "time"),
            "client": chunk.texts("client"),
            "action": _actions(chunk),
        }
        yield ClientEvent, chunk.rows(ClientEvent, columns, ctx)


def _actions(chunk: Chunk) -> pa.Array:
    """Convert actions to ``add`` or ``remove``; newer couplers write ``add_worker``."""
    words = pc.utf8_lower(chunk.texts("action"))
    return pc.replace_substring_regex(words, r"^(add|remove)_(worker|client)$", r"\1")
