"""Columns and settings that several views have."""

from __future__ import annotations

from typing import Final

from harvest import Column, Setting
from harvest.toolkit.settings import one_of
from harvest_toolkit.columns import number, path

ONE_RUN: Final = {
    "run": Setting("keep one run: the directory of its logs, or the directory's name", str)
}
ONE_JOB: Final = {**ONE_RUN, "job": Setting("keep one job, by its job or pid in io.jobs", int)}
PER: Final = {"per": Setting("what a row stands for", str, "job", one_of(("job", "log")))}

RUN: Final = path("run", "Directory of the logs, which those of one run share.")
JOB: Final = number("job", "The scheduler's job id; null where none gave one: see pid.")
PID: Final = number(
    "pid",
    "Where no scheduler gave a job id, the process id of the first log, by which Darshan names it; "
    "else null.",
)
BEGAN: Final = Column("began", doc="Start of the job's first log.")
PROGRAM: Final = Column(
    "program",
    doc="Name of the program that does the I/O, without its directory: in the command line of the "
    "log that moves most bytes, so that it is not mpiexec's; null where no log has a command line.",
)
LOG: Final = path("log", "The Darshan log.")
LOG_OF_JOB: Final = path(
    "log", "The Darshan log; null where a row stands for a whole job (per=job)."
)
OP: Final = Column("op", doc="read or write.")
RECORD_ID: Final = number("record_id", "Darshan's hash of the file's name.")
PARTIAL_MODULES: Final = Column(
    "partial_modules",
    doc="Modules whose records are incomplete, since Darshan ran out of memory for them: their "
    "numbers are lower bounds.",
)
LARGEST_LOG: Final = Column(
    "largest_log", doc="Processes of the log with the most; above 1 for an MPI program."
)
USES_POSIX: Final = Column("uses_posix", doc="Whether a log of the job has the module POSIX.")
USES_MPIIO: Final = Column("uses_mpiio", doc="Whether a log of the job has the module MPI-IO.")
CERTAINTY: Final = Column(
    "certainty",
    doc="What makes the numbers less than certain: lower_bound (a module that they come from was "
    "cut off or could not be read, a log was not finished, a time is below 0, as threads that "
    "overlap leave it, and counts as 0, or there is an impossible_value), impossible_value (a "
    "record has a number that cannot be, as bytes below 0 or an infinite time: it is left out), "
    "too_large (a sum is null, as no number of 64 bits holds it), "
    "coarse_clock (a log that lasts less than 100 s and whose version counts whole seconds, so "
    "that shares of its time are off by over 1 %), one_process (nothing is said of processes among "
    "each other). Empty where none of these is so.",
)
