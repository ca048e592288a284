"""Columns and settings that several views have."""

from __future__ import annotations

from typing import Final

from harvest import Column, Setting
from harvest_toolkit.columns import named, number, path, seconds

RUN_SETTING: Final = {"run": Setting("keep one run: its directory, or the directory's name", str)}

RUN: Final = path("run", "Directory of the run, which its files share.")
WORKER: Final = named("worker", "Address of the worker, or the name that it goes by.")
KEY: Final = named("key", "Key of the task, in its canonical spelling.")
PREFIX: Final = Column(
    "prefix",
    doc="Kind of the task: what tasks of one kind share in their keys, as the scheduler recorded "
    "it, else by Dask's rule from the key.",
)
LOG: Final = path("log", "Darshan's log of the process.")
RECORD_ID: Final = number("record_id", "Darshan's hash of the file's name.")

WHOLE: Final = "null where none is recorded, and not every worker recorded what it executed"
UNENDED: Final = Column(
    "unended",
    doc=f"Executions that were not seen to end, which count in no time here; {WHOLE}.",
)
REPEATS: Final = (
    Column("repeated", doc=f"Executions beyond the first of a task; {WHOLE}."),
    seconds(
        "repeated_s",
        "Time of all but the last execution of the tasks that repeated; null where repeated is, or "
        "none of these was seen to end.",
    ),
    Column(
        "rescheduled",
        doc="Of repeated, those after an execution that ended with Reschedule: a P2P shuffle, or "
        "the task itself, asked for another worker; null where repeated is.",
    ),
    seconds(
        "rescheduled_s",
        "Time of the executions that ended so; null where rescheduled is, or none of these was "
        "seen to end.",
    ),
)
