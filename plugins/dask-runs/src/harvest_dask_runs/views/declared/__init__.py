"""Declarations of the views of Dask runs; here are columns and settings that several have."""

from typing import Final

from harvest import Setting, UInt64
from harvest.columns import count, named, number, path, seconds, text

RUN_SETTING: Final = {"run": Setting("keep one run: its directory, or the directory's name", str)}

RUN: Final = path("run", "Directory of the run, which its files share.")
WORKER: Final = named("worker", "Address of the worker, or its name.")
KEY: Final = named("key", "Key of the task, in its canonical spelling.")
PREFIX: Final = text("prefix", "Kind of the task, the common part of keys: as the scheduler "
                     "recorded it, else derived from the key by Dask's rule.")  # fmt: skip
LOG: Final = path("log", "Darshan's log of the process.")
RECORD_ID: Final = number("record_id", "Darshan's hash of the file's name.", UInt64)

WHOLE: Final = "null where none is recorded and not every worker recorded its executions"
UNENDED: Final = count("unended", "Executions whose start or end is unknown; no time here "
                       f"includes them; {WHOLE}.")  # fmt: skip
REPEATS: Final = (
    count("repeated", f"Executions beyond the first of a task; {WHOLE}."),
    seconds("repeated_s", "Time of all but the last execution of repeated tasks; null where "
            "repeated is, or none of these was seen to end."),
    count("rescheduled", "The part of repeated after an execution that ended with Reschedule: a "
          "P2P shuffle or the task asked for another worker; null where repeated is."),
    seconds("rescheduled_s", "Time of the executions that ended so; null where rescheduled is, or "
            "none of these was seen to end."),
)  # fmt: skip
