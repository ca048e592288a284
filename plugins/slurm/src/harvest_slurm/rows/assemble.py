"""From rows of text to rows of ``slurm.job`` and ``slurm.step``, with each accounted for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from harvest import ReadContext
from harvest.toolkit.amounts import count_in_words
from harvest_toolkit.clocks import named_in

from ..read.columns import RawRows
from ..records import Job, Step
from ..values.convert import Context
from ..values.ids import read_ids
from .columns import Columns
from .selection import LostJobs, Selection

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
        job_rows = _typed(Job, *jobs, convert, ctx, delimiter)
        step_rows = _typed(Step, *steps, convert, ctx, delimiter)
        decided = selection.jobs(job_rows)
        mine = selection.steps(step_rows, decided, lost.take(raw.names))
        for table in (decided.kept, mine):
            if "undecided_times" in table.column_names:
                convert.undecided += named_in(table["undecided_times"])
        if job_rows.num_rows:
            yield Job, decided.kept
        if step_rows.num_rows:
            yield Step, mine
    selection.account(ctx)
    for (first, second), (count, shown) in convert.contradictions.items():
        ctx.note(
            f"{first} and {second} contradict each other in {count_in_words(count, 'row')}, the "
            f"first is {shown}; {first} counts"
        )


def _split(raw: RawRows) -> tuple[tuple[RawRows, pl.DataFrame], tuple[RawRows, pl.DataFrame]]:
    """Rows of jobs and rows of steps, with their ids."""
    found = read_ids(*(raw.column(name) for name in ("JobID", "JobIDRaw") if name in raw.names))
    is_step = found["is_step"].to_numpy()
    jobs, steps = (
        (raw.pick(index), found[index])
        for index in (np.flatnonzero(~is_step), np.flatnonzero(is_step))
    )
    return jobs, steps


def _typed(
    cls: type[Job] | type[Step],
    raw: RawRows,
    ids: pl.DataFrame,
    convert: Context,
    ctx: ReadContext,
    delimiter: str,
) -> pa.Table:
    """The rows of one record type; those that cannot be read are rejects.

    ids: of the same rows.
    """
    columns = Columns(cls, raw, ids, convert)
    table = columns.table().append_column("position", pa.array(raw.position))
    if not columns.errors:
        return table
    bad = reduce(pc.or_, (reasons.is_valid() for _, _, reasons in columns.errors))
    for index in pc.indices_nonzero(bad).to_pylist():
        row = raw.pick(np.array([index]))
        name, field, reasons = next(error for error in columns.errors if error[2][index].is_valid)
        text = field.some(np.array([index]))[0].as_py()
        ctx.reject(
            delimiter.join(row.column(name).text[0].as_py() for name in raw.names),
            f"{name}: {text!r}: {reasons[index].as_py()}",
            position=int(row.position[0]),
            record_type="slurm.step" if cls is Step else "slurm.job",
        )
    return table.filter(pc.invert(bad))
