"""From rows of text to batches of records, with every row accounted for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from harvest import ReadContext

from .convert import Context
from .ids import Ids, read_ids
from .records import Job, Step
from .rows import Built, build
from .select import Selection
from .text import RawRows

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
    for raw in blocks:
        ctx.read(raw.batch.num_rows)
        jobs, steps = _split(raw)
        job_rows = _build(Job, *jobs, convert, ctx, delimiter)
        step_rows = _build(Step, *steps, convert, ctx, delimiter)
        decided = selection.jobs(job_rows)
        if job_rows.num_rows:
            stays = decided["goes"].is_null()
            yield Job, job_rows if stays.all() else job_rows.filter(stays.to_arrow())
        owned = selection.steps(step_rows, decided)
        if step_rows.num_rows:
            links = owned.select("job_position", job_submit_time="submit")
            for name in links.columns:
                step_rows = step_rows.append_column(name, links[name].to_arrow())
            keep = owned["keep"]
            yield Step, step_rows if keep.all() else step_rows.filter(keep.to_arrow())
    for reason, count in sorted(selection.filtered.items()):
        ctx.filtered(count, reason)


def _split(raw: RawRows) -> tuple[tuple[RawRows, Ids], tuple[RawRows, Ids]]:
    """Rows of jobs and rows of steps, with their ids."""
    names = raw.batch.schema.names
    ids = read_ids(*(raw.batch.column(n) if n in names else None for n in ("JobID", "JobIDRaw")))
    is_step = pc.is_valid(ids.step)
    jobs, steps = (
        (RawRows(raw.batch.filter(mask), raw.position.filter(mask)), ids.filter(mask))
        for mask in (pc.invert(is_step), is_step)
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
    built: Built = build(cls, cls is Step, raw.batch, ids, convert)
    for bad in built.rejected:
        ctx.reject(
            raw.raw(bad.index, delimiter),
            bad.reason,
            position=raw.position[bad.index].as_py(),
            record_type="slurm.step" if cls is Step else "slurm.job",
        )
    position: Any = raw.position if built.kept is None else raw.position.filter(built.kept)
    return built.table.append_column("position", position)
