"""Names that views, reports and rules look for: of record types, and of an exception."""

from typing import Final

EXECUTED: Final = ("dask.task_transition", "dask.worker_transition", "dask.execution")
"""Record types that say when each task ran."""
RECORDED: Final = (*EXECUTED, "dask.transfer", "dask.graph_task")
"""Record types about tasks."""
JOINED: Final = (*RECORDED, "dask.worker", "dask.client", "dask.log_event")
"""Record types about a run, of any recorder."""
DASK_TYPES: Final = (*JOINED, "dask.process")
"""Record types whose files make a directory a run."""
WAITED: Final = (*RECORDED, "dask.worker_sample")
"""Record types that say what a task waited for."""
JOB_TYPES: Final = ("run.node", "run.directive")

JOB: Final = "darshan.job"
SEGMENT: Final = "darshan.dxt_segment"
"""Single operations, traced by Darshan."""
COUNTED: Final = ("darshan.posix", "darshan.mpiio", "darshan.stdio")
"""Darshan's counters per file."""
KILLED: Final = "KilledWorker"
"""Exception of a task that Dask gave up because the workers that ran it died."""
