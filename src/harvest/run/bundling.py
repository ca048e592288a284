"""Reading small partitions one after the other, and staging those of few rows together.

For them, making and describing a directory each would cost as much as reading.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import attrs

from harvest.plugins.sink import PartFile, Sink
from harvest.toolkit import fault
from harvest.toolkit.files import flush

from .manifest import Part, write_parts
from .reading import Reading, Small, make_attempt, put_in_place, result_of
from .staged import BUNDLED, STAGING, bundle_name
from .work import ATTEMPTS, Progress, Task, TaskResult

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["read_bundle"]


def read_bundle(
    tasks: Sequence[Task], report: Callable[[Progress], None] | None
) -> tuple[TaskResult, ...]:
    """Read partitions in their order; those of few rows are staged together.

    Raises as ``harvest_partition``.
    """
    if len(tasks) == 1:
        return (Reading(tasks[0], report).run(),)
    read = [Reading(task, report).run_in_bundle() for task in tasks]
    small = [each for each in read if isinstance(each, Small)]
    if not small:
        return tuple(each for each in read if isinstance(each, TaskResult))
    name = bundle_name(each.parts[0].stem for each in small)
    staged = [
        _stage_bundle(sink, name, [(each.parts[number], each.tables[number]) for each in small])
        for number, (sink, _) in enumerate(tasks[0].targets)
    ]
    together = iter(zip(*staged, strict=True))
    return tuple(
        result_of(each.task, next(together), name) if isinstance(each, Small) else each
        for each in read
    )


def _stage_bundle(
    sink: Sink, name: str, members: Sequence[tuple[Part, Mapping[str, pa.Table]]]
) -> tuple[Part, ...]:
    """Stage the rows of several partitions for one sink."""
    place = sink.state / STAGING / name
    attempt = place.parent / ATTEMPTS / f"{name}-{secrets.token_hex(6)}"
    tables: dict[str, list[pa.Table]] = {}
    for _, rows in members:
        for record_type, table in rows.items():
            tables.setdefault(record_type, []).append(table)
    make_attempt(attempt)
    try:
        whole = {}
        if tables:
            path = sink.write_bundle(attempt, tables)
            size, digest = flush(attempt / path)
            for record_type, pieces in tables.items():
                whole[record_type] = PartFile(
                    path=path,
                    record_type=record_type,
                    rows=sum(piece.num_rows for piece in pieces),
                    size_bytes=size,
                    sha256=digest,
                )
        parts = _rows_of_each(members, whole)
        fault.point("partition.staged")
        write_parts(attempt / BUNDLED, parts)
        fault.point("partition.done")
        return put_in_place(parts, attempt, place)
    except BaseException:
        shutil.rmtree(attempt, ignore_errors=True)
        raise


def _rows_of_each(
    members: Sequence[tuple[Part, Mapping[str, pa.Table]]], whole: Mapping[str, PartFile]
) -> list[Part]:
    """The parts with their rows in the file that holds those of all."""
    first = dict.fromkeys(whole, 0)
    parts = []
    for part, rows in members:
        files = []
        for record_type, table in rows.items():
            file = whole[record_type]
            files.append(
                attrs.evolve(
                    file,
                    rows=table.num_rows,
                    first_row=first[record_type],
                    file_rows=file.rows,
                )
            )
            first[record_type] += table.num_rows
        parts.append(attrs.evolve(part, files=tuple(files)))
    return parts
