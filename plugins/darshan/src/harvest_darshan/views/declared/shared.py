"""Columns and settings that several views have."""

from __future__ import annotations

from typing import Final

from harvest import Setting, UInt64
from harvest.columns import count, flag, number, path, text, texts, time
from harvest.toolkit.settings import one_of

ONE_RUN: Final = {
    "run": Setting("keep one run: the directory of its logs, or the directory's name", str)
}
ONE_JOB: Final = {**ONE_RUN, "job": Setting("keep one job, by its job or pid in io.jobs", int)}
PER: Final = {"per": Setting("what a row stands for", str, "job", one_of(("job", "log")))}

RUN: Final = path("run", "Directory of the logs, which those of one run share.")
JOB: Final = number("job", "The scheduler's job id; null where none gave one: see pid.")
PID: Final = number("pid", "Where no scheduler gave a job id, the process id of the first log, by "
                    "which Darshan names it; else null.")  # fmt: skip
BEGAN: Final = time("began", "Start of the job's first log.")
PROGRAM: Final = text("program", "Name of the program that does the I/O, without its directory: in "
                      "the command line of the log that moves most bytes, so that it is not "
                      "mpiexec's; null where no log has a command line.")  # fmt: skip
LOG: Final = path("log", "The Darshan log.")
LOG_OF_JOB: Final = path("log", "The Darshan log; null where a row stands for a whole job "
                         "(per=job).")  # fmt: skip
OF_JOB: Final = (RUN, JOB, PID, BEGAN, LOG_OF_JOB, PROGRAM)
"""What rows on a job, or a log, begin with."""

OP: Final = text("op", "read or write.")
RECORD_ID: Final = number("record_id", "Darshan's hash of the file's name.", UInt64)
PARTIAL_MODULES: Final = texts("partial_modules", "Modules whose records are incomplete, since "
                               "Darshan ran out of memory for them: their numbers are lower "
                               "bounds.")  # fmt: skip
LARGEST_LOG: Final = count("largest_log", "Processes of the log with the most; above 1 for an MPI "
                           "program.")  # fmt: skip
USES_POSIX: Final = flag("uses_posix", "Whether a log of the job has the module POSIX.")
USES_MPIIO: Final = flag("uses_mpiio", "Whether a log of the job has the module MPI-IO.")
CERTAINTY: Final = texts("certainty", "What makes the numbers less than certain: lower_bound (a "
                         "module that they come from was cut off or could not be read, a log was "
                         "not finished, a time is below 0, as threads that overlap leave it, and "
                         "counts as 0, or there is an impossible_value), impossible_value (a "
                         "record has a number that cannot be, as bytes below 0 or an infinite "
                         "time: it is left out), too_large (a sum is null, as no number of 64 bits "
                         "holds it), coarse_clock (a log that lasts less than 100 s and whose "
                         "version counts whole seconds, so that shares of its time are off by over "
                         "1 %), one_process (nothing is said of processes among each other). Empty "
                         "where none of these is so.")  # fmt: skip
