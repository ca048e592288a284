"""Columns and settings that several views share."""

from typing import Final

from harvest import Setting, UInt64
from harvest.columns import count, flag, number, path, seconds, text, texts, time
from harvest.toolkit.settings import one_of

ONE_RUN: Final = {"run": Setting("keep one run: the directory of its logs, or its name", str)}
ONE_JOB: Final = {**ONE_RUN, "job": Setting("keep one job, by its job or pid in io.jobs", int)}
PER: Final = {"per": Setting("what a row stands for", str, "job", one_of(("job", "log")))}

RUN: Final = path("run", "Directory of the logs of one run.")
JOB: Final = number("job", "Job id of the scheduler; null without one: see pid.")
PID: Final = number("pid", "Process id of the first log, where no scheduler gave a job id; else "
                    "null.")  # fmt: skip
BEGAN: Final = time("began", "Start of the job's first log.")
PROGRAM: Final = text("program", "Name of the program, without its directory, from the log that "
                      "moves most bytes; null where no log has a command line.")  # fmt: skip
LOGS: Final = count("logs", "Logs of the job.")
WALL_S: Final = seconds("wall_s", "From the first start of a log to the last end; null where one "
                        "has no end. A log with a clock of whole seconds lasts to the end of its "
                        "last one.")  # fmt: skip
LOG: Final = path("log", "The Darshan log.")
LOG_OF_JOB: Final = path("log", "The Darshan log; null where a row is a job (per=job).")
OF_JOB: Final = (RUN, JOB, PID, BEGAN, LOG_OF_JOB, PROGRAM)
"""The first columns of views with a row per job or log."""

OP: Final = text("op", "read or write.")
RECORD_ID: Final = number("record_id", "Darshan's hash of the file's name.", UInt64)
PARTIAL_MODULES: Final = texts("partial_modules", "Modules that Darshan cut off because it ran out "
                               "of memory: their numbers are lower bounds.")  # fmt: skip
LARGEST_LOG: Final = count("largest_log", "Processes of the log with the most; above 1 for an MPI "
                           "program.")  # fmt: skip
USES_POSIX: Final = flag("uses_posix", "Whether a log of the job has the module POSIX.")
USES_MPIIO: Final = flag("uses_mpiio", "Whether a log of the job has the module MPI-IO.")
CERTAINTY: Final = texts("certainty", "What makes the numbers less than certain; empty if nothing. "
                         "lower_bound: a module was cut off or not read, a log was not finished, "
                         "or a time below 0 counts as 0. "
                         "impossible_value: a number below 0 or an infinite time is left out, "
                         "which also makes a lower_bound. "
                         "too_large: a sum does not fit into 64 bits and is null. "
                         "coarse_clock: a log of less than 100 s counts whole seconds, so shares "
                         "of its time are off by over 1 %. "
                         "one_process: processes cannot be compared.")  # fmt: skip
