"""Job ids in all their spellings: which job, which task or component, which step.

``123``, ``123_4`` (array task), ``123_[1-4%2]`` (pending array), ``123+0`` (component of a
heterogeneous job), each followed by ``.batch``, ``.extern``, ``.0`` ... where the row is a step.
"""

from __future__ import annotations

import re
from typing import Any, Final, cast

import attrs
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from .convert import series
from .digits import Spans, arrow, spans, unsigned
from .grid import Column, pieces

__all__ = ["PATTERN", "Ids", "is_id", "read_ids"]

PATTERN: Final = (
    r"^(\d{1,18})(?:_(\d{1,18})|_(\[[^\]|]*\]?)|\+(\d{1,9}))?(?:\.([A-Za-z0-9_]+(?:\+\d+)?))?$"
)
"""Groups: number, task, pending tasks, component, step."""


_LIKE: Final = re.compile(PATTERN.encode())


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


def is_id(text: Spans) -> Any:
    """Which texts are job ids, as a mask; the texts must lie in the order of the buffer."""
    dots = text.end.copy()
    for back in range(1, 8):  # .batch, .extern, or a number
        here = text.end - back
        np.copyto(dots, here, where=(here >= text.start) & (text.at(here) == ord(".")))
    good = unsigned(text, text.start, dots)[1] & ((dots == text.end) | _plain_step(text, dots))
    left = np.flatnonzero(~good)
    if len(left):
        rest = pieces(text.data, text.start[left], text.end[left])
        try:
            like = pc.match_substring_regex(rest, PATTERN).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid:  # no text at all
            like = [bool(_LIKE.match(value)) for value in rest.cast(pa.binary()).to_pylist()]
        good[left] = like
    return good


_COMMON_STEPS: Final = {len(name): int.from_bytes(name, "little") for name in (b"batch", b"extern")}


def _plain_step(text: Spans, dots: Any) -> Any:
    """Which texts end in a step that is a number, ``batch`` or ``extern``."""
    start = np.minimum(dots + 1, text.end)
    length = text.end - start
    found = unsigned(text, start, text.end)[1]
    word = text.words[start]
    for size, value in _COMMON_STEPS.items():
        found |= (length == size) & (word & np.uint64(2 ** (8 * size) - 1) == np.uint64(value))
    return found


def _first(text: Spans, mark: int, end: Any) -> Any:
    """Place of the first such byte of each text, or ``end``; the texts lie without gaps."""
    marks = np.flatnonzero(text.data == mark)
    if not len(marks):
        return end
    after = np.searchsorted(marks, text.start)
    place = marks[np.minimum(after, len(marks) - 1)]
    return np.where((after < len(marks)) & (place < end), place, end)


def read_ids(job_id: Column | None, raw: Column | None) -> Ids:
    """Read the fields JobID and JobIDRaw; one of them may be missing."""
    column = cast("Column", job_id if job_id is not None else raw).text
    text = spans(column)
    dots = _first(text, ord("."), text.end)
    is_step = dots < text.end
    job = pieces(text.data, text.start, dots)
    step = pieces(text.data, np.minimum(dots + 1, text.end), text.end)
    step = pc.if_else(pa.array(is_step), step, pa.scalar(None, pa.string()))
    # 123 and 123_4
    bars = _first(text, ord("_"), dots)
    number, good = unsigned(text, text.start, bars)
    good &= ~is_step | _plain_step(text, dots)
    task, in_array = unsigned(text, bars + 1, dots)
    in_array &= bars < dots
    good &= in_array | (bars == dots)
    columns: dict[str, Any] = {}
    own = number, good & ~in_array
    if in_array.any():
        columns["array_job_id"] = arrow(number, in_array & good, pa.int64())
        columns["array_task_id"] = arrow(task, in_array & good, pa.int64())
    others = np.flatnonzero(~good)
    if len(others):
        # all else, one by one: 123_[1-4], 123+0, odd names of steps, and what is no id
        parts = _parts(series(column.take(pa.array(others))))
        good[others] = parts["number"].is_not_null().to_numpy()
        mine = good[others] & ~_is_shared(parts).to_numpy()
        number[others] = parts["number"].fill_null(0).to_numpy()
        valid = own[1].copy()
        valid[others] = mine
        own = number, valid
        place = np.full(len(dots), -1)
        place[others] = np.arange(len(others))
        index = pa.array(place, mask=place < 0)
        for name in ("array_job_id", "array_task_id", "het_job_id", "het_offset", "array_tasks"):
            found = parts[name].to_arrow().take(index)
            columns[name] = pc.coalesce(columns[name], found) if name in columns else found
        columns["array_tasks"] = columns["array_tasks"].cast(pa.string())
    if raw is not None and job_id is not None:
        other = spans(raw.text)
        own = unsigned(other, other.start, _first(other, ord("."), other.end))
    columns["job_id_raw"] = arrow(own[0], own[1], pa.int64())
    errors = None
    if not good.all():
        errors = pc.if_else(
            pa.array(good), pa.scalar(None, pa.string()), "no job id of a form that Slurm prints"
        )
    return Ids(job, step, columns, errors)


def _is_shared(parts: pl.DataFrame) -> pl.Series:
    """Rows whose number is that of a whole array or heterogeneous job, not their own."""
    return parts["array_task_id"].is_not_null() | (parts["het_offset"].fill_null(0) > 0)


def _parts(text: pl.Series) -> pl.DataFrame:
    """Numbers of ids that are more than one number; null where the text is no id."""
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
