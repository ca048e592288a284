"""Job ids in all their spellings: which job, which task or component, which step.

``123``, ``123_4`` (array task), ``123_[1-4%2]`` (pending array), ``123+0`` (component of a
heterogeneous job), each followed by ``.batch``, ``.extern``, ``.0`` ... where the row is a step.
"""

from __future__ import annotations

from typing import Any, Final

import attrs
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from .convert import series

__all__ = ["PATTERN", "Ids", "read_ids"]

PATTERN: Final = (
    r"^(\d{1,18})(?:_(\d{1,18})|_(\[[^\]|]*\]?)|\+(\d{1,9}))?(?:\.([A-Za-z0-9_]+(?:\+\d+)?))?$"
)
"""Groups: number, task, pending tasks, component, step."""


@attrs.frozen
class Ids:
    """Ids of some rows.

    job: the text without the step.  step: the step's name, null for a job's own row.
    errors: why an id cannot be read, empty elsewhere; or None where all can.
    """

    job: Any
    step: Any
    columns: dict[str, Any]
    errors: Any | None = None

    def filter(self, mask: Any) -> Ids:
        """The ids of some of the rows."""
        return Ids(
            self.job.filter(mask),
            self.step.filter(mask),
            {name: values.filter(mask) for name, values in self.columns.items()},
            None if self.errors is None else self.errors.filter(mask),
        )


def read_ids(job_id: Any | None, raw: Any | None) -> Ids:
    """Read the fields JobID and JobIDRaw; one of them may be missing."""
    text = job_id if job_id is not None else raw
    frame = series(text).to_frame("id").select(pl.col("id").str.splitn(".", 2).alias("parts"))
    frame = frame.unnest("parts").rename({"field_0": "job", "field_1": "step"})
    frame = frame.with_columns(number=pl.col("job").cast(pl.UInt64, strict=False).cast(pl.Int64))
    simple = frame["number"].is_not_null() & (
        frame["step"].is_null() | frame["step"].str.contains("^[A-Za-z0-9_]+$")
    )
    simple &= ~frame["job"].str.starts_with("+")
    parts = _parts(series(text), simple)
    number = frame["number"]
    good = simple
    if parts is not None:
        number = number.set(~simple, None).fill_null(parts["number"])
        good = simple | parts["number"].is_not_null()
    if raw is not None and job_id is not None:
        number = series(raw).str.splitn(".", 2).struct[0].cast(pl.Int64, strict=False)
    elif parts is not None:
        number = number.set(_is_shared(parts), None)
    columns: dict[str, Any] = {"job_id_raw": number.to_arrow()}
    if parts is not None:
        for name in ("array_job_id", "array_task_id", "het_job_id", "het_offset"):
            columns[name] = parts[name].to_arrow()
        columns["array_tasks"] = parts["array_tasks"].to_arrow().cast(pa.string())
    errors = None
    if not good.all():
        errors = pc.if_else(
            good.to_arrow(), pa.scalar(None, pa.string()), "no job id of a form that Slurm prints"
        )
    return Ids(
        frame["job"].to_arrow().cast(pa.string()),
        frame["step"].to_arrow().cast(pa.string()),
        columns,
        errors,
    )


def _is_shared(parts: pl.DataFrame) -> pl.Series:
    """Rows whose number is that of a whole array or heterogeneous job, not their own."""
    return parts["array_task_id"].is_not_null() | (parts["het_offset"].fill_null(0) > 0)


def _parts(text: pl.Series, simple: pl.Series) -> pl.DataFrame | None:
    """Numbers of the ids that are not simple; rows of the others are null."""
    if simple.all():
        return None
    found = (
        text.set(simple, None)
        .str.extract_groups(PATTERN)
        .struct.rename_fields(["number", "task", "tasks", "offset", "step"])
        .struct.unnest()
    )
    number = pl.col("number").cast(pl.Int64, strict=False)
    in_array = pl.col("task").is_not_null() | pl.col("tasks").is_not_null()
    return found.select(
        number=number,
        array_job_id=pl.when(in_array).then(number),
        array_task_id=pl.col("task").cast(pl.Int64, strict=False),
        array_tasks=pl.col("tasks").str.strip_chars("[]"),
        het_job_id=pl.when(pl.col("offset").is_not_null()).then(number),
        het_offset=pl.col("offset").cast(pl.Int64, strict=False),
    )
