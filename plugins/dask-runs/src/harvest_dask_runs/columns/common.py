"""Kinds of columns, and columns that several views have."""

from __future__ import annotations

from functools import partial
from typing import Final

from harvest import Column

__all__ = [
    *("KEY", "LOG", "PREFIX", "RECORD_ID", "RUN", "WORKER"),
    *("name", "number", "path", "seconds", "share", "size"),
]

seconds = partial(Column, unit="s", format="seconds")
size = partial(Column, unit="bytes", format="bytes")
share = partial(Column, unit="1", format="share")
path = partial(Column, format="path")
name = partial(Column, format="id")
"""A key, or the address of a worker."""
number = partial(Column, format="d")
"""A number that names something, as a process id: its digits are not grouped."""

RUN: Final = path("run", doc="Directory of the run, which its files share.")
WORKER: Final = name("worker", doc="Address of the worker, or the name that it goes by.")
KEY: Final = name("key", doc="Key of the task, in its canonical spelling.")
PREFIX: Final = Column(
    "prefix",
    doc="Kind of the task: what tasks of one kind share in their keys, as the scheduler recorded "
    "it, else by Dask's rule from the key.",
)
LOG: Final = path("log", doc="Darshan's log of the process.")
RECORD_ID: Final = number("record_id", doc="Darshan's hash of the file's name.")
