"""Kinds of columns, and columns that several views have."""

from __future__ import annotations

from functools import partial
from typing import Final

from harvest import Column

__all__ = [
    *("CERTAINTY", "LOG", "OF_JOB", "OP", "PARTIAL_MODULES", "RECORD_ID", "RUN"),
    *("number", "path", "seconds", "share", "size"),
]

seconds = partial(Column, unit="s", format="seconds")
size = partial(Column, unit="bytes", format="bytes")
share = partial(Column, unit="1", format="share")
path = partial(Column, format="path")
number = partial(Column, format="d")
"""A number that names something, as a process id: its digits are not grouped."""

RUN: Final = path("run", doc="Directory of the logs, which those of one run share.")
LOG: Final = path("log", doc="The Darshan log.")
OP: Final = Column("op", doc="read or write.")
RECORD_ID: Final = number("record_id", doc="Darshan's hash of the file's name.")
PARTIAL_MODULES: Final = Column(
    "partial_modules",
    doc="Modules whose records are incomplete, since Darshan ran out of memory for them: their "
    "numbers are lower bounds.",
)

CERTAINTY: Final = Column(
    "certainty",
    doc="What makes the numbers less than certain: lower_bound (a module that they come from was "
    "cut off or could not be read, or a time is below 0, as threads that overlap leave it), "
    "coarse_clock (a log that lasts less than 100 s and whose version counts whole seconds, so "
    "that shares of its time are off by over 1 %), one_process (nothing is said of processes among "
    "each other). Empty where none of these is so.",
)

OF_JOB: Final = {
    "run": RUN,
    "job": number(
        "job",
        doc="Job id of the job's first log: the scheduler's, or where no scheduler gave one, a "
        "process id.",
    ),
    "began": Column("began", doc="Start of the job's first log."),
    "log": path("log", doc="The Darshan log; null where a row stands for a whole job (per=job)."),
    "program": Column(
        "program",
        doc="Name of the program in the command line of the job's first log, without its "
        "directory; null where that log has no command line.",
    ),
}
"""What names a job, by name of column."""
