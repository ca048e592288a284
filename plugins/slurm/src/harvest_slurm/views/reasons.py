"""The view ``slurm.reasons``: why runs failed, by groups, and where those of a reason did."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import fraction

from ..states import ENDED
from .declared.common import FAILURE_KEYS
from .groups import groups_of
from .measures import COUNTS, hours_of, unknown_cpu_hours
from .period import selection_of
from .why import each_node, why_failed

_TOP, _ON = "top_node", "on_nodes"


def reasons(
    data: DatasetReader, by: str | Iterable[str] = ("account",), **choice: str | None
) -> pl.LazyFrame:
    """Runs that failed by groups and reason, most of them first within each group.

    by: names out of FAILURE_KEYS.  choice: which jobs; see ``period.selection_of``.
    """
    names = groups_of(by, FAILURE_KEYS)
    return by_reason(why_failed(data, selection_of(data, choice, None).parts(data, names)), names)


def by_reason(runs: pl.LazyFrame, names: Sequence[str]) -> pl.LazyFrame:
    """The rows of slurm.reasons.

    runs: as ``why_failed`` gives them.  names: what they are grouped by; nothing for all together.
    """
    rows = each_node(runs, "node_list") if "node" in names else runs
    failed = rows.filter(pl.col("reason").is_not_null())
    keys, always = [*names, "reason"], pl.lit(value=True)
    user, step, first, on_nodes, job, at = (
        pl.col(name).filter(COUNTS)
        for name in ("user", "failed_step", "in_first", _ON, "job_id", "at")
    )
    most = step.drop_nulls().mode().min()
    summed = failed.group_by(keys).agg(
        jobs=COUNTS.sum().cast(pl.Int64),
        cpu_hours=hours_of(pl.col("cpu_time_s"), always),
        gpu_hours=hours_of(pl.col("elapsed_s") * pl.col("alloc_gpus"), always),
        cpu_unknown_jobs=unknown_cpu_hours(),
        users=user.drop_nulls().n_unique().cast(pl.Int64),
        failed_step=most,
        failed_step_jobs=(step == most).sum().cast(pl.Int64),
        step_known_jobs=step.count().cast(pl.Int64),
        first_step_jobs=first.sum().cast(pl.Int64),
        node_known_jobs=on_nodes.count().cast(pl.Int64),
        last_job=job.sort_by(at, job).last(),
        last_time=at.max(),
    )
    known, none = pl.col("step_known_jobs") > 0, pl.lit(None, pl.Int64)
    summed = summed.with_columns(
        pl.when(known).then(pl.col(name)).otherwise(none)
        for name in ("failed_step_jobs", "first_step_jobs")
    )
    top = _top_nodes(failed.filter(COUNTS), keys)
    joined = summed.join(top, on=keys, how="left", nulls_equal=True)
    ended = rows.filter(COUNTS & pl.col("state").is_in(ENDED))
    if names:
        joined = joined.join(
            ended.group_by(names).agg(ended_jobs=pl.len().cast(pl.Int64)),
            on=list(names), how="left", nulls_equal=True,
        )  # fmt: skip
    else:
        joined = joined.join(ended.select(ended_jobs=pl.len().cast(pl.Int64)), how="cross")
    group = pl.col("jobs").sum().over(names) if names else pl.col("jobs").sum()
    order = ["group_jobs", *names, "jobs", "reason"]
    return (
        joined.with_columns(pl.col("ended_jobs").fill_null(0), group_jobs=group)
        .with_columns(failed_share=fraction("jobs", "ended_jobs"))
        .sort(order, descending=[name.endswith("jobs") for name in order], nulls_last=True)
        .drop("group_jobs")
    )


def _top_nodes(failed: pl.LazyFrame, keys: list[str]) -> pl.LazyFrame:
    """Of each group and reason the node that most of the runs failed on, and how many did."""
    found = each_node(failed.select(*keys, _ON), _ON, _TOP).filter(pl.col(_TOP).is_not_null())
    counted = found.group_by(*keys, _TOP).agg(top_node_jobs=pl.len().cast(pl.Int64))
    ranked = counted.sort("top_node_jobs", _TOP, descending=[True, False])
    return ranked.unique(keys, keep="first", maintain_order=True)
