"""Reader of state transitions of tasks, and of workers and clients that came or went."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from harvest import Partition, ReadContext, Record
from harvest_dask.records.key_columns import canonical_keys
from harvest_dask.records.kinds import stimulus_kinds
from harvest_dask.records.types import ClientEvent, TaskTransition, WorkerEvent, WorkerTransition

from .convert import converted
from .csv_tables import chunks

_TRANSITION: Final = {
    **{name: name for name in ("time", "key")},
    "start_state": "start",
    "finish_state": "finish",
}
_EXECUTION: Final = ("prefix", "group", "stimulus_id", "worker", "thread", "begins", "ends")
_KINDS: Final[Mapping[str, tuple[type[Record], Mapping[str, str]]]] = {
    "scheduler_transition": (
        TaskTransition,
        {
            **_TRANSITION,
            **{name: name for name in _EXECUTION},
            "stimulus": "stimulus_id",
            "scheduler": "called_from",
            "duration_s": "duration",
            "size_bytes": "size",
        },
    ),
    "worker_transition": (WorkerTransition, {**_TRANSITION, "worker": "called_from"}),
    "worker": (WorkerEvent, {n: n for n in ("time", "worker", "action", "stimulus_id")}),
    "client": (ClientEvent, {n: n for n in ("time", "client", "action")}),
}
"""Record type of each kind of CSV, and the CSV's name of each column.

A worker that ends reports only a time, without its address."""


# newer couplers write ``add_worker``
_ACTION: Final = r"^(add|remove)_(worker|client)$"


_SPELLINGS: Final[Mapping[str, Callable[[pa.Array], pa.Array]]] = {
    "key": canonical_keys,
    "start_state": pc.utf8_lower,
    "finish_state": pc.utf8_lower,
    "stimulus": stimulus_kinds,
    "action": lambda words: pc.replace_substring_regex(pc.utf8_lower(words), _ACTION, r"\1"),
}


def events(partition: Partition, ctx: ReadContext, _: Any) -> Iterator[Any]:
    """Read a CSV of transitions, workers or clients."""
    cls, names = _KINDS[partition.options["kind"]]
    for chunk in chunks(partition, ctx, cls):
        columns = converted(chunk, cls, names)
        columns |= {
            name: spelled(columns[name]) for name, spelled in _SPELLINGS.items() if name in columns
        }
        yield cls, chunk.rows(cls, columns, ctx)
