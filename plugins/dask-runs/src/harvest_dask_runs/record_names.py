"""Names that views, reports and rules look for: of record types, and of an exception."""

from __future__ import annotations

from typing import Final

EXECUTED: Final = ("dask.task_transition", "dask.worker_transition", "dask.execution")
"""What says when which task ran."""
RECORDED: Final = (*EXECUTED, "dask.transfer", "dask.graph_task")
"""What says something of a task."""
JOINED: Final = (*RECORDED, "dask.worker", "dask.client", "dask.log_event")
"""What says something of a run, whoever recorded it."""
DASK_TYPES: Final = (
    *("dask.task_transition", "dask.worker_transition", "dask.transfer", "dask.worker"),
    *("dask.client", "dask.graph_task", "dask.log_event", "dask.process", "dask.execution"),
)
"""What makes a run."""
WAITED: Final = (*RECORDED, "dask.worker_sample")
"""What says what a task waited for."""
JOB_TYPES: Final = ("run.node", "run.directive")

JOB: Final = "darshan.job"
SEGMENT: Final = "darshan.dxt_segment"
"""Single operations, as Darshan traced them."""
COUNTED: Final = ("darshan.posix", "darshan.mpiio", "darshan.stdio")
"""Darshan's counters per file."""
KILLED: Final = "KilledWorker"
"""What a task has that raised nothing: Dask gave it up, for workers died that had it."""

CATEGORIES: Final = {
    "task": ("execution", "executions"),
    "transfer": ("transfer", "transfers"),
    "transfer.untold": ("other side of a transfer", "other sides of transfers"),
    "io": ("I/O segment", "I/O segments"),
    "path": ("execution on the critical path", "executions on the critical path"),
    "path.wait": ("wait between them", "waits between them"),
}
"""Categories of a trace's slices, and what one of them and several are called."""
