"""Reading partitions one after the other, and staging those of few rows together."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Sequence

import attrs

from harvest import fault
from harvest.api.sink import Sink
from harvest.storage.manifest import Part, write_parts
from harvest.storage.small import write_small_parts
from harvest.storage.staging import ATTEMPTS, BUNDLED, STAGING, bundle_name
from harvest.toolkit.texts import printable

from .reading import Reading, Small, make_attempt, put_in_place
from .task import Progress, Task, TaskResult

__all__ = ["read_and_stage"]


def read_and_stage(
    tasks: Sequence[Task], report: Callable[[Progress], None] | None
) -> tuple[TaskResult, ...]:
    """Read partitions in their order and stage them; raises as ``harvest_partitions``."""
    read = [Reading(task, report).run() for task in tasks]
    staged = [
        _stage(sink, [each[number] for each in read])
        for number, (sink, _) in enumerate(tasks[0].targets)
    ]
    return tuple(
        TaskResult(
            source=task.source.name,
            origin=printable(task.partition.origin),
            parts=tuple(part for part, _ in places),
            directories=tuple(name for _, name in places),
        )
        for task, *places in zip(tasks, *staged, strict=True)
    )


def _stage(sink: Sink, read: Sequence[Part | Small]) -> list[tuple[Part, str]]:
    """The parts of partitions for one sink, with the names of their staging directories."""
    small = [each for each in read if isinstance(each, Small)]
    name = bundle_name(each.part.stem for each in small)
    together = iter(_stage_small(sink, name, small) if small else ())
    return [
        (next(together), name) if isinstance(each, Small) else (each, each.stem) for each in read
    ]


def _stage_small(sink: Sink, name: str, small: Sequence[Small]) -> tuple[Part, ...]:
    """Stage the rows of several partitions in one directory."""
    place = sink.state / STAGING / name
    attempt = place.parent / ATTEMPTS / f"{name}-{secrets.token_hex(6)}"
    make_attempt(attempt)
    try:
        files = write_small_parts(attempt, [each.tables for each in small])
        parts = [
            attrs.evolve(each.part, files=tuple(mine))
            for each, mine in zip(small, files, strict=True)
        ]
        for each, part in zip(small, parts, strict=True):
            if each.rejects is not None and part.rejects is not None:
                each.rejects.rename(attempt / part.rejects.path)
                each.rejects.parent.rmdir()
        fault.point("partition.staged")
        write_parts(attempt / BUNDLED, parts)
        fault.point("partition.done")
        return put_in_place(parts, attempt, place)
    except BaseException:
        shutil.rmtree(attempt, ignore_errors=True)
        raise
