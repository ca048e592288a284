"""The view ``slurm.usage``: what groups of jobs were given, used and wasted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from harvest import DatasetReader, UsageError

from .declared.common import KEYS
from .declared.resources import RESOURCES
from .measures import (
    costs,
    count_of,
    how_they_ended,
    shares,
    started,
    use,
    waits,
    why_they_failed,
)
from .period import selection_of
from .why import why_failed


def usage(
    data: DatasetReader,
    by: str | Iterable[str] = ("user",),
    cpu_hour_cost: float | None = None,
    gpu_hour_cost: float | None = None,
    **choice: str | None,
) -> pl.LazyFrame:
    """What groups of jobs were given, used and wasted, how they ended and waited, why they failed.

    by: names out of KEYS.  choice: which jobs; see ``period.selection_of``.
    Most wasted CPU hours come first, within each month where there are months.
    """
    names = groups_of(by)
    chosen = why_failed(data, selection_of(data, choice).jobs(data))
    grouped = chosen.with_columns(month=pl.col("at").dt.strftime("%Y-%m")).group_by(names)
    columns = {"jobs": pl.len().cast(pl.Int64), "started": count_of(started())}
    for resource in RESOURCES:
        columns |= use(resource)
    summed = grouped.agg(**columns, **how_they_ended(), **why_they_failed(), **waits())
    for resource in RESOURCES:
        summed = summed.with_columns(**shares(resource))
    summed = summed.with_columns(**costs(cpu_hour_cost, gpu_hour_cost))
    months = [name for name in names if name == "month"]
    most_first = ["cpu_wasted_hours", "cpu_hours", "jobs"]
    order = [*months, *most_first, *(name for name in names if name != "month")]
    return summed.sort(order, descending=[name in most_first for name in order], nulls_last=True)


def groups_of(by: str | Iterable[str], keys: Sequence[str] = KEYS) -> list[str]:
    """The columns that a setting ``by`` names; raises UsageError for a wrong one."""
    names = [n.strip() for n in by.split(",")] if isinstance(by, str) else list(by)
    if not names or not set(names) <= set(keys) or len(set(names)) < len(names):
        raise UsageError(
            f"by={','.join(names)!r} does not name what jobs can be grouped by",
            remedy=f"write one or several of {', '.join(keys)}, with commas, each once",
        )
    return names
