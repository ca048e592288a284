"""From rows of text to batches of records, with every row accounted for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from harvest import ReadContext

from .columns import RawRows
from .convert import Context
from .ids import Ids, read_ids
from .lost import LostJobs
from .records import Job, Step
from .rows import Built, build
from .selection import Selection

__all__ = ["assemble"]

Batches: TypeAlias = "Iterator[tuple[type[Job] | type[Step], pa.Table]]"


def assemble(
    blocks: Iterable[RawRows],
    selection: Selection,
    convert: Context,
    ctx: ReadContext,
    *,
    delimiter: str = "|",
) -> Batches:
    """Typed batches of jobs and steps; rejects and filtered rows go to ``ctx``."""
    lost = LostJobs(ctx)
    for raw in blocks:
        ctx.read(len(raw.position))
        jobs, steps = _split(raw)
        job_rows = _build(Job, *jobs, convert, ctx, delimiter)
        step_rows = _build(Step, *steps, convert, ctx, delimiter)
        decided = selection.jobs(job_rows)
        if job_rows.num_rows:
            yield Job, job_rows.filter(decided.goes.is_null()) if selection.active else job_rows
        owned = selection.steps(step_rows, decided, lost.take(raw.names))
        if step_rows.num_rows:
            step_rows = step_rows.append_column("job_position", owned.position)
            step_rows = step_rows.append_column("job_submit_time", owned.submit)
            yield Step, step_rows if owned.keep is None else step_rows.filter(owned.keep)
    for reason, count in sorted(selection.filtered.items()):
        ctx.filtered(count, reason)


def _split(raw: RawRows) -> tuple[tuple[RawRows, Ids], tuple[RawRows, Ids]]:
    """Rows of jobs and rows of steps, with their ids."""
    found = [raw.column(name).id_parts() for name in ("JobID", "JobIDRaw") if name in raw.names]
    is_step = found[0].stepped
    jobs, steps = (
        (raw.pick(index), read_ids(*(parts.pick(index) for parts in found)))
        for index in (np.flatnonzero(~is_step), np.flatnonzero(is_step))
    )
    return jobs, steps


def _build(
    cls: type[Job] | type[Step],
    raw: RawRows,
    ids: Ids,
    convert: Context,
    ctx: ReadContext,
    delimiter: str,
) -> pa.Table:
    built: Built = build(cls is Step, raw, ids, convert)
    for bad in built.rejected:
        one = raw.pick(np.array([bad.index]))
        ctx.reject(
            delimiter.join(one.column(name).text[0].as_py() for name in raw.names),
            bad.reason,
            position=int(raw.position[bad.index]),
            record_type="slurm.step" if cls is Step else "slurm.job",
        )
    position = pa.array(raw.position)
    kept = position if built.kept is None else position.filter(built.kept)
    return built.table.append_column("position", kept)
