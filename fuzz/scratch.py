"""A folder for the inputs of this process."""

import functools
import tempfile
from pathlib import Path

__all__ = ["folder"]

_KEPT: list[tempfile.TemporaryDirectory[str]] = []
"""Folders that are removed when the process ends."""


@functools.cache
def folder() -> Path:
    """A folder of our own, in memory where the system has such a place."""
    memory = Path("/dev/shm")  # noqa: S108 - the folder below it has a name that nobody knows
    made = tempfile.TemporaryDirectory(
        prefix="harvest-fuzz-", dir=memory if memory.is_dir() else None
    )
    _KEPT.append(made)
    return Path(made.name)
