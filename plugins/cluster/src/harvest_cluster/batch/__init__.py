"""Batch jobs on Slurm: written, submitted, watched and cancelled, for any command line.

A :class:`Job` is one command line or an array of them, with what it asks of the cluster
(:class:`Options`).  A :class:`Batch` is a directory that all nodes see; it keeps the scripts, the
jobs' ids and how each command ended, so that another shell can show how far they are:

>>> from harvest_cluster.batch import Batch, Job, Options, python
>>> options = Options(partition="cpu", time="30:00", memory="4G")
>>> convert = Job(
...     name="convert",
...     commands=[python("harvest", "gpfs", "convert", f"piece-{n}") for n in range(3)],
...     options=options,
... )
>>> total = Job(
...     name="total",
...     commands=[python("harvest", "gpfs", "aggregate", "out")],
...     options=options,
...     after_ok=["convert"],
... )
>>> batch = Batch("out/_harvest/batch/today")
>>> for script in batch.scripts(convert, total):  # a dry run
...     print(script)  # doctest: +SKIP
>>> batch.submit(convert, total)  # doctest: +SKIP
>>> batch.wait()  # doctest: +SKIP

No shell ever sees a command line, a path or a name: scripts hold checked words alone, and each
array task takes its command from a JSON file by its number.
"""

from .batch import FIRST_PAUSE_S, LONGEST_PAUSE_S, PATIENCE_S, PAUSE_GROWS, Batch, Script
from .job import ARRAY_TASKS, Job, python
from .options import Options
from .slurm import SlurmError
from .status import CommandStatus, JobStatus

__all__ = [
    "ARRAY_TASKS", "FIRST_PAUSE_S", "LONGEST_PAUSE_S", "PATIENCE_S", "PAUSE_GROWS", "Batch",
    "CommandStatus", "Job", "JobStatus", "Options", "Script", "SlurmError", "python",
]  # fmt: skip
