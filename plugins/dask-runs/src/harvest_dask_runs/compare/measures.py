"""What is compared: the parts of a run, and their measures in the order in which they are shown."""

from __future__ import annotations

from typing import Final

import polars as pl

from harvest_toolkit.frames import first_text

OF_RUN: Final = {
    "span_s": "span of executions",
    "wall_s": "span of recorded events",
    "busy_s": "time of executions",
    "used_share": "threads' time that was used",
    "tasks": "tasks",
    "executions": "executions",
    "unended": "executions not seen to end",
    "failed": "failed executions",
    "erred_tasks": "tasks that erred",
    "unfinished_tasks": "tasks left unfinished",
    "repeated": "repeated executions",
    "repeated_s": "time of repeats",
    "median_s": "median execution",
    "workers": "workers",
    "threads": "threads",
    "observed_workers": "observed workers",
    "silent_workers": "silent workers",
    "lost_workers": "lost workers",
    "idle_workers": "idle workers",
    "peak_threads": "most executions at once",
    "imbalance_s": "busiest worker beyond the mean",
    "movements": "transfers",
    "moved_bytes": "bytes transferred",
    "moving_s": "time of transfers",
    "memory_peak_share": "highest share of a worker's memory",
    "spilled_bytes": "bytes spilled to disk",
    "pauses": "pauses for memory",
    "memory_restarts": "restarts for memory",
    "unmanaged_warnings": "warnings of unmanaged memory",
    "gc_warnings": "warnings of garbage collection",
    "loop_warnings": "spells of an event loop without response",
    "loop_s": "time of these spells",
    "counted_bytes": "bytes of files, counted",
    "io_s": "time in I/O of tasks",
    "graphs": "graphs",
    "graph_tasks": "tasks in graphs",
}
"""The whole run: columns of ``dask.run_summary`` and ``dask.indicators``, and their labels."""

OF_PREFIX: Final = {
    "executions": "executions",
    "total_s": "time of executions",
    "mean_s": "mean execution",
    "median_s": "median execution",
    "max_s": "longest execution",
    "unended": "executions not seen to end",
    "failed": "failed executions",
    "repeated": "repeated executions",
    "size_bytes": "memory of results",
    "bytes_received": "bytes received",
    "bytes_sent": "bytes sent",
    "io_read_bytes": "bytes read from files",
    "io_write_bytes": "bytes written to files",
    "io_s": "time in I/O of tasks",
}
"""A kind of task: columns of ``dask.prefixes``, and bytes moved by ``dask.tasks``."""

ADDED_UP: Final = tuple(m for m in OF_PREFIX if m not in ("mean_s", "median_s", "max_s"))
"""Of a kind of task that a run did not have, these are 0; its durations are none at all."""

REPORTED: Final = frozenset(
    ("movements", "moved_bytes", "moving_s", "transfer_share", "bytes_received", "bytes_sent")
)
"""What workers report themselves: of a run with silent ones it is known in part alone."""

OF_GRAPH: Final = {
    "tasks": "tasks",
    "span_s": "span of executions",
    "total_s": "time of executions",
}
OF_WORKER: Final = {
    "executed": "executions",
    "busy_s": "time of executions",
    "bytes_received": "bytes received",
    "bytes_sent": "bytes sent",
    "memory_peak_bytes": "most memory",
}
DONE: Final = ("executed", "busy_s", "bytes_received", "bytes_sent")
"""Of a worker that a run did not have, these are 0."""

OF_PHASE: Final = {"elapsed_s": "time"}
PARTS: Final = {
    "run": OF_RUN,
    "phase": OF_PHASE,
    "path": OF_PHASE,
    "graph": OF_GRAPH,
    "prefix": OF_PREFIX,
    "worker": OF_WORKER,
}
"""The parts of a run in the order in which they are shown, each with its measures."""
ORDER: Final = [f"{part} {measure}" for part, measures in PARTS.items() for measure in measures]

_UNITS: Final = (("_s", "s"), ("_bytes", "bytes"), ("_share", "1"))


def unit_of(measure: str) -> pl.Expr:
    """The unit that the name of a column of measures promises; null of counts."""
    name = pl.col(measure)
    moved = (name.str.starts_with("bytes_"), "bytes")
    return first_text(*((name.str.ends_with(end), unit) for end, unit in _UNITS), moved)
