"""Job ids in all their spellings: job, array task or component, and step.

``123``, ``123_4`` (array task), ``123_[1-4%2]`` (pending array), ``123+0`` (component of a
heterogeneous job), each followed by ``.batch``, ``.extern``, ``.0`` ... in the row of a step. In
columns of fixed widths the name of a step may be cut (``.bat+``), and is completed.
"""

import re
from typing import Any, Final

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from ..read.columns import Column, series

_CUT: Final = {  # each begins with a letter of its own, so what is left names one of them
    name: "|".join(name[:length] for length in range(1, len(name)))
    for name in ("batch", "extern", "interactive")
}
PATTERN: Final = (
    r"^(\d{1,18})(?:_(\d{1,18})|_(\[[^\]|]*\]?)|\+(\d{1,9}))?"
    rf"(?:\.([A-Za-z0-9_]+(?:\+\d+)?|(?:{'|'.join(_CUT.values())})\+))?$"
)
"""Groups: number, task, pending tasks, component, step."""


_LIKE: Final = re.compile(PATTERN.encode())
_OF_ANY_SIZE: Final = re.compile(re.sub(r"\{1,\d+\}", "+", PATTERN))
_BEFORE_STEP: Final = r"^([^.\[]*(?:\[[^\]]*\]?)?)"
"""The id up to the first dot; dots of ``1_[1,3,5...]`` do not count."""


def is_id(column: Column) -> Any:
    """Return a mask of the texts that are job ids."""
    try:
        return pc.match_substring_regex(column.text, PATTERN).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:  # no text at all
        values = column.text.cast(pa.binary()).to_pylist()
        return np.array([bool(_LIKE.match(value)) for value in values])


def read_ids(column: Column, raw: Column | None = None) -> pl.DataFrame:
    """Parse ids of the field JobID, and of JobIDRaw if the dump has both, into columns.

    job_id: the text without the step. step_id: null for a job's own row. is_step: whether it is a
        step. error: why an id cannot be read, else null.
    """
    text = series(column.text).alias("text")
    parts = (
        text.str.extract_groups(PATTERN)
        .struct.rename_fields(["number", "task", "tasks", "offset", "step"])
        .struct.unnest()
        .with_columns(text, pl.col("number", "task", "offset").cast(pl.Int64, strict=False))
    )
    number, task, tasks, offset, step = (pl.col(name) for name in parts.columns[:5])
    # a task or a component has another number of its own
    own: pl.Expr = pl.when(task.is_null() & (offset.fill_null(0) == 0)).then(number)
    if raw is not None:
        parts = parts.with_columns(raw=series(raw.text))
        own = pl.col("raw").str.extract(r"^(\d{1,18})(?:\.|$)").cast(pl.Int64, strict=False)
    for name, begins in _CUT.items() if parts["step"].str.ends_with("+").any() else ():
        step = step.str.replace(rf"^(?:{begins})\+$", name)
    return parts.select(
        job_id=pl.col("text").str.extract(_BEFORE_STEP),
        step_id=step,
        job_id_raw=own,
        array_job_id=pl.when(task.is_not_null() | tasks.is_not_null()).then(number),
        array_task_id=task,
        array_tasks=tasks.str.strip_chars("[]"),
        het_job_id=pl.when(offset.is_not_null()).then(number),
        het_offset=offset,
        is_step=pl.col("text").str.replace(r"\[[^\]]*\]?", "").str.contains(".", literal=True),
        error=pl.when(number.is_null()).then("text").map_elements(why_no_id, pl.String),
    )


def why_no_id(text: str) -> str:
    """Say why a text cannot be read as a job id."""
    if _OF_ANY_SIZE.match(text):
        return "a job id whose number is larger than any that Slurm gives"
    return "no job id of a form that Slurm prints"
