"""What engines run: the reading of one partition, and what its work in staging is called.

``harvest_partition`` is a plain function of a picklable task, so that it can run in this process,
in another one, or on another machine that sees the same files.  When it returns, the partition's
directory in staging is complete and holds ``_part.json``; a directory without that file is
unfinished work, whatever else it holds.

A run that leaves the reading to workers needs no more than this of it; what reads (``reading``)
comes with Arrow, which takes its time to import.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Callable, Collection
from pathlib import Path

import attrs

from harvest.errors import HarvestError
from harvest.plugins.sink import Sink
from harvest.plugins.source import Partition, Source

from .manifest import Part

__all__ = [
    "ATTEMPTS",
    "DONE",
    "REJECTS",
    "STAGING",
    "Progress",
    "SourceRejected",
    "Task",
    "TaskResult",
    "clear_places",
    "harvest_partition",
    "remove_tree",
]

STAGING = "staging"
ATTEMPTS = "attempts"
DONE = "_part.json"
REJECTS = "_rejects.parquet"

_REMOVALS = 20


@attrs.frozen(kw_only=True)
class Task:
    """One partition to read, and the sinks that need it.

    targets: each sink with its part description, in which counts and files are still empty.
    limit: rows at most, None for all.
    """

    source: Source
    partition: Partition
    targets: tuple[tuple[Sink, Part], ...]
    on_error: str = "reject"
    max_rejects: int | None = None
    limit: int | None = None


@attrs.frozen(kw_only=True)
class TaskResult:
    """What became of a task: for each sink, the staged part."""

    source: str
    origin: str
    parts: tuple[Part, ...]


@attrs.frozen
class Progress:
    """Rows and input bytes that a running task got further."""

    rows: int
    size_bytes: int


def harvest_partition(task: Task, report: Callable[[Progress], None] | None = None) -> TaskResult:
    """Read a partition and stage it for each of its sinks.

    Raises SourceError for the first reject when ``on_error`` is ``fail``; TooManyRejects when it
    alone has more than allowed; PluginError when the source breaks its contract; OSError when a
    sink cannot write.
    """
    from .reading import Reading

    return Reading(task, report).run()


class SourceRejected(HarvestError):
    """A reject met while ``--on-error fail`` is in force."""


def clear_places(state: Path, stems: Collection[str]) -> None:
    """Remove what is staged of partitions that are to be read again; before any is attempted."""
    with os.scandir(state / STAGING) as entries:
        for entry in entries:
            if entry.name in stems:
                remove_tree(Path(entry.path))


def remove_tree(directory: Path) -> None:
    """Remove a directory, though a worker that was given up for lost may still write in it."""
    for left in reversed(range(_REMOVALS)):
        try:
            shutil.rmtree(directory)
        except FileNotFoundError:
            if not directory.exists():
                return
            if not left:
                raise
        except OSError as error:
            if not left or error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            # the worker does not know it by another name
            directory = directory.rename(directory.with_name(f".gone-{secrets.token_hex(6)}"))
        else:
            return
