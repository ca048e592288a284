"""Why runs failed: the reason, the step that failed first and its nodes; ``slurm.reasons``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import first_text, fraction
from harvest_toolkit.hosts import expand

from ..states import ENDED, ENDS, FAILED, SIGNALS
from .declared.common import FAILURE_KEYS, groups_of
from .measures import COUNTS, hours_of, unknown_cpu_hours
from .period import selection_of
from .steps import OWNER, owner, steps_once

_MEMORY: Final = ENDS["out_of_memory"]
_TOP, _ON = "top_node", "on_nodes"
_OF_STEP: Final = ("failed_step", "step_code", "step_signal", "step_nodes", "step_memory")


def why_failed(data: DatasetReader, runs: pl.LazyFrame) -> pl.LazyFrame:
    """The runs, those that failed with ``reason``, ``failed_step``, ``in_first`` and ``on_nodes``.

    All are null for a run that did not fail.  ``reason`` is why Slurm ended it, else the signal or
    exit code of the step that failed first, else of the run: a batch script that ends with 1 does
    not show that a step ran out of memory.
    ``in_first``: whether no step began before the failed one; null without known steps.
    ``on_nodes``: the nodes of that step, else of the run, as Slurm's host list.
    """
    failed = pl.col("state").is_in(FAILED)
    joined = runs.with_columns(owner("submit_time", "position")).join(
        _first_failed(data), on=OWNER, how="left", nulls_equal=True
    )
    code, signal = (
        pl.when((pl.col("step_code") > 0) | (pl.col("step_signal") > 0))
        .then(f"step_{name}")
        .otherwise(f"exit_{name}")
        for name in ("code", "signal")
    )
    reason = first_text(
        (pl.col("state").is_in(_MEMORY) | pl.col("step_memory"), "out of memory"),
        (pl.col("state") == "timeout", "time limit"),
        (pl.col("state") == "deadline", "deadline"),
        (pl.col("state").is_in(ENDS["node_fail"]), "node"),
        (signal > 0, pl.format("signal {}{}", signal, _named(signal))),
        (code > 0, pl.format("exit code {}{}", code, _named(code, 128))),
        (failed, "unknown"),
    )
    return joined.with_columns(
        reason=pl.when(failed).then(reason),
        failed_step=pl.when(failed).then("failed_step"),
        in_first=pl.when(failed).then("in_first"),
        on_nodes=pl.when(failed).then(_known(pl.coalesce("step_nodes", "node_list"))),
    ).drop(*(name for name in (*OWNER[2:], *_OF_STEP[1:])))


def _named(number: pl.Expr, first: int = 0) -> pl.Expr:
    """`` (SIGSEGV)`` for 11; empty for a signal without a name.

    first: added to signals: shells end with 128 plus the signal that ended a program.
    """
    names = {first + signal: f" ({name})" for signal, name in SIGNALS.items()}
    return number.replace_strict(names, default="", return_dtype=pl.String)


def _first_failed(data: DatasetReader) -> pl.LazyFrame:
    """The step of each run that failed first, with its code, signal and nodes.

    The batch script repeats the failure of a step within it, so it comes last; the external step,
    Slurm's own, repeats the state of the run.
    """
    steps = steps_once(data).filter(pl.col("step_id") != "extern")
    own = ~pl.col("step_id").is_in(["batch", "interactive"])
    bad = (
        (pl.col("exit_code") > 0) | (pl.col("exit_signal") > 0) | pl.col("state").is_in(FAILED)
    ).fill_null(value=False)
    # without an srun, the script itself is the first step
    first = pl.col("start_time").filter(own).min().over(OWNER)
    began_first = pl.when(own).then(pl.col("start_time") <= first).otherwise(first.is_null())
    return (
        steps.with_columns(in_first=began_first)
        .filter(bad)
        .sort(~own, "start_time", "step_id", nulls_last=True)
        .group_by(OWNER, maintain_order=True)
        .agg(
            failed_step=pl.col("step_id").first(),
            in_first=pl.col("in_first").first(),
            step_code=pl.col("exit_code").first(),
            step_signal=pl.col("exit_signal").first(),
            step_nodes=pl.col("node_list").first(),
            step_memory=pl.col("state").is_in(_MEMORY).any(),
        )
    )


def _known(nodes: pl.Expr) -> pl.Expr:
    """Null for a run that did not start: sacct prints ``None assigned``."""
    return pl.when(nodes != "None assigned").then(nodes)


def each_node(rows: pl.LazyFrame, nodes: str, name: str = "node") -> pl.LazyFrame:
    """A row for each node of a column of Slurm's host lists; null where unknown."""

    def hosts(texts: pl.Series) -> pl.Series:
        known = {text: expand(text) for text in texts.unique().drop_nulls()}
        schema = {"text": pl.String, "hosts": pl.List(pl.String)}
        table = pl.DataFrame({"text": list(known), "hosts": list(known.values())}, schema)
        given = texts.rename("text").to_frame()
        return given.join(table, on="text", how="left", maintain_order="left")["hosts"]

    listed = _known(pl.col(nodes)).map_batches(hosts, return_dtype=pl.List(pl.String))
    return rows.with_columns(listed.alias(name)).explode(name)


def reasons(
    data: DatasetReader, by: str | Iterable[str] = ("account",), **choice: str | None
) -> pl.LazyFrame:
    """Failed runs by group and reason, the main reason of each group first.

    by: names out of FAILURE_KEYS.  choice: which jobs; see ``selection_of``.
    """
    names = groups_of(by, FAILURE_KEYS)
    return by_reason(why_failed(data, selection_of(data, choice, None).parts(data, names)), names)


def by_reason(runs: pl.LazyFrame, names: Sequence[str]) -> pl.LazyFrame:
    """The rows of slurm.reasons.

    runs: from ``why_failed``.  names: what they are grouped by; empty for all together.
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
    """The node of each group and reason with most failed runs, and their number."""
    found = each_node(failed.select(*keys, _ON), _ON, _TOP).filter(pl.col(_TOP).is_not_null())
    counted = found.group_by(*keys, _TOP).agg(top_node_jobs=pl.len().cast(pl.Int64))
    ranked = counted.sort("top_node_jobs", _TOP, descending=[True, False])
    return ranked.unique(keys, keep="first", maintain_order=True)
