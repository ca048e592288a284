"""Why runs failed: the reason, the step that failed first, and the nodes that it failed on."""

from __future__ import annotations

from typing import Final

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import first_text
from harvest_toolkit.hosts import expand

from ..states import ENDS, FAILED, SIGNALS
from .steps import OWNER, owner, steps_once

_MEMORY: Final = ENDS["out_of_memory"]
_OF_STEP: Final = ("failed_step", "step_code", "step_signal", "step_nodes", "step_memory")


def why_failed(data: DatasetReader, runs: pl.LazyFrame) -> pl.LazyFrame:
    """The runs, those that failed with ``reason``, ``failed_step``, ``in_first`` and ``on_nodes``.

    All are null of a run that did not fail.  ``reason`` is what Slurm ended it for, else the
    signal or the exit code of the step that failed first, else those of the run itself: a batch
    script that ends with 1 does not say that a step of it was out of memory.
    ``in_first``: whether no step began before the one that failed; null without known steps.
    ``on_nodes``: the nodes of that step, else of the run, as Slurm's list.
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
        (code > 0, pl.format("exit code {}{}", code, _of_signal(code))),
        (failed, "not known"),
    )
    return joined.with_columns(
        reason=pl.when(failed).then(reason),
        failed_step=pl.when(failed).then("failed_step"),
        in_first=pl.when(failed).then("in_first"),
        on_nodes=pl.when(failed).then(_known(pl.coalesce("step_nodes", "node_list"))),
    ).drop(*(name for name in (*OWNER[2:], *_OF_STEP[1:])))


def _named(signal: pl.Expr) -> pl.Expr:
    """`` (SIGSEGV)`` of 11; nothing of a signal without a name."""
    names = {number: f" ({name})" for number, name in SIGNALS.items()}
    return signal.replace_strict(names, default="", return_dtype=pl.String)


def _of_signal(code: pl.Expr) -> pl.Expr:
    """`` (SIGKILL)`` of 137: shells end with 128 and the signal that ended a program."""
    names = {128 + number: f" ({name})" for number, name in SIGNALS.items()}
    return code.replace_strict(names, default="", return_dtype=pl.String)


def _first_failed(data: DatasetReader) -> pl.LazyFrame:
    """Of each run the step that failed first, with its code, signal and nodes.

    The batch script ends as the step within it did that failed, so it comes last; the external
    step, Slurm's own, repeats the state of the run.
    """
    steps = steps_once(data).filter(pl.col("step_id") != "extern")
    own = ~pl.col("step_id").is_in(["batch", "interactive"])
    bad = (
        (pl.col("exit_code") > 0) | (pl.col("exit_signal") > 0) | pl.col("state").is_in(FAILED)
    ).fill_null(value=False)
    # without an srun the script itself is the first step
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
    """Null where a run did not start, for which sacct prints ``None assigned``."""
    return pl.when(nodes != "None assigned").then(nodes)


def each_node(rows: pl.LazyFrame, nodes: str, name: str = "node") -> pl.LazyFrame:
    """A row for each node of a column of Slurm's lists; null where none is known."""

    def hosts(texts: pl.Series) -> pl.Series:
        known = {text: expand(text) for text in texts.unique().drop_nulls()}
        schema = {"text": pl.String, "hosts": pl.List(pl.String)}
        table = pl.DataFrame({"text": list(known), "hosts": list(known.values())}, schema)
        given = texts.rename("text").to_frame()
        return given.join(table, on="text", how="left", maintain_order="left")["hosts"]

    listed = _known(pl.col(nodes)).map_batches(hosts, return_dtype=pl.List(pl.String))
    return rows.with_columns(listed.alias(name)).explode(name)
