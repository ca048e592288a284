"""``sacct --json`` of all generations, as records.

21.08 and 22.05 print plain numbers; 23.02 prints ``{"set", "infinite", "number"}``; 23.11 prints
lists for states and exit status; later versions do so in the times of steps too.  Every accessor
here takes any of them.

Two things in the JSON of 22.05 and before are wrong, and are left empty: exit codes of jobs and
steps that did not complete but read SUCCESS, and CPU times of jobs (the sum of the steps' is
taken, as sacct does in its tables).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any, Final

import orjson
import pyarrow as pa

import harvest
from harvest import ReadContext

from .jsonjob import job_row, step_rows
from .jsonsplit import Broken, split_jobs
from .records import Job, Step
from .selection import Selection

__all__ = ["read_json"]

GATHER: Final = 2_000
"""Jobs that make a batch."""


def read_json(
    stream: IO[bytes], selection: Selection, ctx: ReadContext, origin: str
) -> Iterator[Any]:
    """Batches of jobs and steps.

    Positions number jobs and steps together, in their order in the file.  A job that cannot be
    read is one reject, with its steps.
    """
    jobs: list[dict[str, Any]] = []
    steps: list[dict[str, Any]] = []
    position = 0
    doubtful = 0
    for item in split_jobs(stream):
        position += 1
        if isinstance(item, Broken):
            ctx.read(1)
            ctx.reject(item.raw, item.reason, position=position)
            continue
        ctx.advance(len(item))
        try:
            data = orjson.loads(item)
            job = job_row(data)
            inner = list(step_rows(data, job))
        except (
            ValueError,
            TypeError,
            KeyError,
            AttributeError,
            IndexError,
            OverflowError,
            RecursionError,
        ) as error:
            ctx.read(1)
            ctx.reject(item, _reason(error), position=position, record_type="slurm.job")
            continue
        job["position"] = position
        for step in inner:
            position += 1
            step["position"] = position
        doubtful += sum(row.pop("doubtful_exit", False) for row in (job, *inner))
        jobs.append(job)
        steps += inner
        if len(jobs) >= GATHER:
            yield from _batches(jobs, steps, selection, ctx)
            jobs, steps = [], []
    yield from _batches(jobs, steps, selection, ctx)
    for reason, count in sorted(selection.filtered.items()):
        ctx.filtered(count, reason)
    if doubtful:
        ctx.note(
            f"{doubtful} exit codes read SUCCESS although the state says otherwise, as JSON of "
            "Slurm 22.05 and before does; they are left empty"
        )


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"no {error.args[0]!r} in this job; is it the JSON of sacct?"
    return f"not a job as sacct --json prints it: {error}"


def _batches(
    jobs: list[dict[str, Any]], steps: list[dict[str, Any]], selection: Selection, ctx: ReadContext
) -> Iterator[Any]:
    if not jobs:
        return
    ctx.read(len(jobs) + len(steps))
    table = _table(Job, jobs)
    decided = selection.jobs(table)
    yield Job, table.filter(decided.goes.is_null())
    inner = _table(Step, steps)
    owned = selection.steps(inner, decided)
    for name, values in (("job_position", owned.position), ("job_submit_time", owned.submit)):
        inner = inner.set_column(inner.column_names.index(name), name, values)
    if steps:
        yield Step, inner if owned.keep is None else inner.filter(owned.keep)


def _table(cls: type[harvest.Record], rows: list[dict[str, Any]]) -> pa.Table:
    schema = harvest.record_type(cls).arrow_schema
    place = schema.get_field_index("origin")
    return pa.Table.from_pylist(rows, schema=schema.remove(place))
