"""Why runs failed: the reason, the first failed step and its nodes; the view ``reasons``."""

from collections.abc import Iterable, Sequence
from functools import partial
from pkgutil import resolve_name
from typing import Final

import polars as pl

from harvest_toolkit.frames import first_text, fraction
from harvest_toolkit.hosts import expanded

from ..frame import OF_STEP, OWNER, owner
from ..job_runs import ENDED, ENDS, FAILED, Jobs
from ..period import kept_if_few, selection_of
from .declared.common import FAILURE_KEYS, groups_of
from .measures import COUNTS, UNKNOWN_CPU_HOURS, hours_of

_MEMORY: Final = ENDS["out_of_memory"]

_LISTED: Final = (
    "HUP:1 INT:2 QUIT:3 ILL:4 ABRT:6 BUS:7 FPE:8 KILL:9 SEGV:11 PIPE:13 TERM:15 XCPU:24 XFSZ:25"
)
_SIGNALS: Final = {int(n): f"SIG{name}" for name, n in (p.split(":") for p in _LISTED.split())}
"""The signals that end programs on Linux, by number."""


def why_failed(data: Jobs, runs: pl.LazyFrame) -> pl.LazyFrame:
    """Add to runs the columns ``reason``, ``failed_step``, ``in_first`` and ``on_nodes``.

    All are null for a run that did not fail. ``reason`` is why the scheduler ended the run, else
    the signal or exit code of the first failed step, else of the run. A batch script that ends with
    1 does not show that a step ran out of memory.
    ``in_first``: whether no step began before the failed one; null without known steps.
    ``on_nodes``: the nodes of that step, else of the run, as a host list.
    """
    failed = pl.col("state").is_in(FAILED)
    joined = _with_steps(data, runs)
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
        ran_on=_known(data, pl.col("node_list")),
        on_nodes=pl.when(failed).then(_known(data, pl.coalesce("step_nodes", "node_list"))),
    ).drop(*OWNER[2:], *(name for name in OF_STEP if name.startswith("step_")), strict=False)


def _named(number: pl.Expr, first: int = 0) -> pl.Expr:
    """Return the name of a signal, `` (SIGSEGV)`` for 11; empty if it has none.

    first: is added to signals: shells end with 128 plus the signal that ended a program.
    """
    names = {first + signal: f" ({name})" for signal, name in _SIGNALS.items()}
    return number.replace_strict(names, default="", return_dtype=pl.String)


def _with_steps(data: Jobs, runs: pl.LazyFrame) -> pl.LazyFrame:
    found = []
    for each in data.schedulers:
        if each.failed_steps is not None:
            build = partial(resolve_name(each.failed_steps), data.data)
            steps = kept_if_few(data.data, each, "failed steps", build)
            found.append(steps.with_columns(pl.lit(each.scheduler).alias(n) for n in data.by))
    if not found:
        return runs.with_columns(pl.lit(None, kind).alias(name) for name, kind in OF_STEP.items())
    keyed = runs.with_columns(owner("submit_time", "position"))
    return keyed.join(pl.concat(found), on=[*data.by, *OWNER], how="left", nulls_equal=True)


def _known(data: Jobs, nodes: pl.Expr) -> pl.Expr:
    """Set the nodes of a run that did not start to null."""
    without = [runs.without_nodes for runs in data.schedulers if runs.without_nodes is not None]
    return pl.when(~nodes.is_in(without)).then(nodes)


def reasons(
    data: Jobs, by: str | Iterable[str] = ("account",), **choice: str | None
) -> pl.LazyFrame:
    """Count failed runs by group and reason, the main reason of each group first.

    by: names out of FAILURE_KEYS. choice: the jobs; see ``selection_of``.
    """
    names = groups_of(by, (*FAILURE_KEYS, *data.by))
    return by_reason(why_failed(data, selection_of(data, choice, None).parts(data, names)), names)


def by_reason(runs: pl.LazyFrame, names: Sequence[str]) -> pl.LazyFrame:
    """Return the rows of ``reasons``.

    runs: the rows of ``why_failed``. names: the columns to group by; empty for all together.
    """
    if "node" in names:
        runs = runs.with_columns(node=expanded(pl.col("ran_on"))).explode("node")
    has_ended = COUNTS & pl.col("state").is_in(ENDED)
    marked = runs.with_columns(ended_jobs=_in_group(has_ended.sum().cast(pl.Int64), names))
    failed = marked.filter(pl.col("reason").is_not_null())
    failed = failed.with_columns(nodes=expanded(pl.col("on_nodes")))
    keys, always = [*names, "reason"], pl.lit(value=True)
    user, step, first, on_nodes, job, at, nodes = (
        pl.col(name).filter(COUNTS)
        for name in ("user", "failed_step", "in_first", "on_nodes", "job_id", "at", "nodes")
    )
    each_node = nodes.explode()
    most, top = (values.drop_nulls().mode().min() for values in (step, each_node))
    summed = failed.group_by(keys).agg(
        jobs=COUNTS.sum().cast(pl.Int64),
        cpu_hours=hours_of(pl.col("cpu_time_s"), always),
        gpu_hours=hours_of(pl.col("elapsed_s") * pl.col("alloc_gpus"), always),
        cpu_unknown_jobs=UNKNOWN_CPU_HOURS,
        users=user.drop_nulls().n_unique().cast(pl.Int64),
        failed_step=most,
        failed_step_jobs=pl.when(step.count() > 0).then((step == most).sum()).cast(pl.Int64),
        step_known_jobs=step.count().cast(pl.Int64),
        first_step_jobs=pl.when(step.count() > 0).then(first.sum()).cast(pl.Int64),
        node_known_jobs=on_nodes.count().cast(pl.Int64),
        last_job=job.sort_by(at, job).last(),
        last_time=at.max(),
        top_node=top,
        top_node_jobs=pl.when(each_node.count() > 0).then((each_node == top).sum()).cast(pl.Int64),
        ended_jobs=pl.col("ended_jobs").first(),
    )
    order = ["group_jobs", *names, "jobs", "reason"]
    return (
        summed.with_columns(
            failed_share=fraction("jobs", "ended_jobs"),
            group_jobs=_in_group(pl.col("jobs").sum(), names),
        )
        .sort(order, descending=[name.endswith("jobs") for name in order], nulls_last=True)
        .drop("group_jobs")
    )


def _in_group(total: pl.Expr, names: Sequence[str]) -> pl.Expr:
    """Return a sum over the rows of each group; over all rows without names."""
    # polars divides by a literal through its reciprocal, which may change the last digit
    return total.over(names or pl.lit(0))
