"""Job ids in all their spellings: which job, which task or component, which step.

``123``, ``123_4`` (array task), ``123_[1-4%2]`` (pending array), ``123+0`` (component of a
heterogeneous job), each followed by ``.batch``, ``.extern``, ``.0`` ... where the row is a step.
In columns of fixed widths the name of a step may be cut (``.bat+``), and is completed.
"""

from __future__ import annotations

import re
from typing import Any, Final

import attrs
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from ..read.columns import Column, series
from .compound import IdParts
from .digits import arrow

_NAMED_STEPS: Final = ("batch", "extern", "interactive")
_CUT: Final = {  # each begins with a letter of its own, so what is left names one of them
    name: "|".join(name[:length] for length in range(1, len(name))) for name in _NAMED_STEPS
}
PATTERN: Final = (
    r"^(\d{1,18})(?:_(\d{1,18})|_(\[[^\]|]*\]?)|\+(\d{1,9}))?"
    rf"(?:\.([A-Za-z0-9_]+(?:\+\d+)?|(?:{'|'.join(_CUT.values())})\+))?$"
)
"""Groups: number, task, pending tasks, component, step."""


_LIKE: Final = re.compile(PATTERN.encode())
_OF_ANY_SIZE: Final = re.compile(re.sub(r"\{1,\d+\}", "+", PATTERN))


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


def is_id(column: Column, certain: Any) -> Any:
    """Which texts are job ids, as a mask.  certain: those of which this is known."""
    good = certain.copy()
    left = np.flatnonzero(~good)
    if len(left):
        rest = column.some(left)
        try:
            like = pc.match_substring_regex(rest, PATTERN).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid:  # no text at all
            like = [bool(_LIKE.match(value)) for value in rest.cast(pa.binary()).to_pylist()]
        good[left] = like
    return good


def read_ids(parts: IdParts, raw: IdParts | None = None) -> Ids:
    """Ids by the field JobID, and by JobIDRaw where the dump has both."""
    good = parts.simple
    own = parts.number, good & ~parts.barred
    columns: dict[str, Any] = {}
    if parts.tasked.any():
        in_array = parts.tasked & good
        columns["array_job_id"] = arrow(parts.number, in_array, pa.int64())
        columns["array_task_id"] = arrow(parts.task, in_array, pa.int64())
    job, step = parts.jobs, parts.steps
    if not parts.stepped.all():
        step = pc.if_else(pa.array(parts.stepped), step, pa.scalar(None, pa.string()))
    others = np.flatnonzero(~good)
    if len(others):
        # all else, one by one: 123_[1-4], 123+0, odd names of steps, and what is not an id
        odd = parts.pick(others)
        found = _columns_of(series(odd.texts(odd.places[0], odd.places[2])))
        good[others] = found["number"].is_not_null().to_numpy()
        number, valid = own[0].copy(), own[1].copy()
        number[others] = found["number"].fill_null(0).to_numpy()
        valid[others] = good[others] & ~_is_shared(found).to_numpy()
        own = number, valid
        for name, begins in _CUT.items() if pc.any(pc.ends_with(step, "+")).as_py() else ():
            step = pc.replace_substring_regex(step, rf"^(?:{begins})\+$", name)
        place = np.full(len(good), -1)
        place[others] = np.arange(len(others))
        index = pa.array(place, mask=place < 0)
        for name in ("array_job_id", "array_task_id", "het_job_id", "het_offset", "array_tasks"):
            values = found[name].to_arrow().take(index)
            columns[name] = pc.coalesce(columns[name], values) if name in columns else values
        columns["array_tasks"] = columns["array_tasks"].cast(pa.string())
    if raw is not None:
        own = raw.number, raw.numbered & ~raw.barred
    columns["job_id_raw"] = arrow(*own, pa.int64())
    errors = None
    if not good.all():
        odd = parts.pick(np.flatnonzero(~good))
        reasons = np.full(len(good), None, object)
        reasons[~good] = [
            why_no_id(text) for text in series(odd.texts(odd.places[0], odd.places[2]))
        ]
        errors = pa.array(reasons, pa.string())
    return Ids(job, step, columns, errors)


def why_no_id(text: str) -> str:
    """Why a text is not read as the id of a job."""
    if _OF_ANY_SIZE.match(text):
        return "a job id whose number is larger than any that Slurm gives"
    return "no job id of a form that Slurm prints"


def _is_shared(parts: pl.DataFrame) -> pl.Series:
    """Rows whose number is that of a whole array or heterogeneous job, not their own."""
    return parts["array_task_id"].is_not_null() | (parts["het_offset"].fill_null(0) > 0)


def _columns_of(text: pl.Series) -> pl.DataFrame:
    """Numbers of ids that are more than one number; null where the text is not an id."""
    found = (
        text.str.extract_groups(PATTERN)
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
