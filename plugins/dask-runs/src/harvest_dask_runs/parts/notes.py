"""Sentences on what a run's record lacks, as expressions over the columns of its summary."""

from __future__ import annotations

import polars as pl

from ..frames import sentence

__all__ = ["completeness_notes"]

SHOWN = 8
"""Names listed in a sentence, at most; the summary's columns hold all of them."""


def completeness_notes() -> pl.Expr:
    """A list of sentences; empty where nothing speaks against completeness.

    Needs the summary's counts, null where a kind of record is missing, silent_workers,
    unregistered_workers, silent_busy_workers, missed_executions, untold_graph_tasks,
    lost_processes, blind_spells, all_captured, logged and run.
    """
    return pl.concat_list(
        _nothing_recorded(),
        _no_registrations(),
        _fewer_registered_than_named(),
        _silent(),
        _silent_but_busy(),
        _unregistered(),
        _lost_events(),
        _lost_processes(),
        _blind_spells(),
        _missed_executions(),
        _unseen_graph_tasks(),
        _unfinished(),
        _nothing_from_workers(),
        _no_transfers(),
        _no_graphs(),
        _no_logs(),
    ).list.drop_nulls()


def _when(condition: pl.Expr, sentence: pl.Expr) -> pl.Expr:
    """A sentence where the condition holds; what is not known holds nowhere."""
    return pl.when(condition).then(sentence)


def _some(count: str, one: str, many: str) -> pl.Expr:
    """``1 event`` or ``12 events``."""
    noun = pl.when(pl.col(count) == 1).then(pl.lit(one)).otherwise(pl.lit(many))
    return sentence(pl.col(count), " ", noun)


def _names(column: str, between: str = ", ", last: str = " and ") -> pl.Expr:
    names = pl.col(column)
    rest = names.list.len().cast(pl.Int64) - SHOWN
    more = pl.when(rest > 0).then(sentence(last, rest, " more")).otherwise(pl.lit(""))
    return names.list.head(SHOWN).list.join(between) + more


def _nothing_recorded() -> pl.Expr:
    return _when(
        pl.col("scheduler_transitions").is_null(),
        pl.lit(
            "no scheduler transition is recorded: states of tasks, the threads that ran them and "
            "the sizes of results are not known; executions are those that workers recorded, and "
            "kinds of tasks are derived from their keys"
        ),
    )


def _nothing_from_workers() -> pl.Expr:
    return _when(
        pl.col("worker_transitions").is_null() & (pl.col("scheduler_transitions") > 0),
        pl.lit(
            "no worker transition is recorded: executions are those that the scheduler saw reach "
            "memory, at the times that it has of them"
        ),
    )


def _no_registrations() -> pl.Expr:
    return _when(
        pl.col("workers").is_null(),
        pl.lit("no worker registration is recorded: which workers took part is not known"),
    )


def _fewer_registered_than_named() -> pl.Expr:
    # a run directory is named D<date>_<time>_R<repetition>_W<workers>
    named = pl.col("run").str.extract(r"_R\d+_W(\d{1,9})$", 1).cast(pl.Int64)
    return _when(
        (named > pl.col("workers")) & (pl.col("workers") > 0),
        sentence(
            "the directory is named for ", named, " workers but ", pl.col("workers"), " registered"
        ),
    )


def _silent() -> pl.Expr:
    return _when(
        pl.col("silent_workers").list.len() > 0,
        sentence(
            pl.col("silent_workers").list.len(),
            " of ",
            pl.col("workers"),
            " registered workers reported no events: ",
            _names("silent_workers"),
            "; silence there is not idleness",
        ),
    )


def _silent_but_busy() -> pl.Expr:
    return _when(
        pl.col("silent_busy_workers") > 0,
        sentence(
            "the scheduler credits executions to ",
            _some("silent_busy_workers", "worker", "workers"),
            " that reported no events",
        ),
    )


def _unregistered() -> pl.Expr:
    return _when(
        (pl.col("unregistered_workers").list.len() > 0) & (pl.col("workers") > 0),
        sentence(
            pl.when(pl.col("unregistered_workers").list.len() == 1)
            .then(pl.lit("1 worker is"))
            .otherwise(sentence(pl.col("unregistered_workers").list.len(), " workers are")),
            " reporting under a name or address that is not registered: ",
            _names("unregistered_workers"),
        ),
    )


def _lost_events() -> pl.Expr:
    verb = pl.when(pl.col("data_failures") == 1).then(pl.lit("was")).otherwise(pl.lit("were"))
    return _when(
        pl.col("data_failures") > 0,
        sentence(_some("data_failures", "event", "events"), " ", verb, " lost in the consumer"),
    )


def _lost_processes() -> pl.Expr:
    count = pl.col("lost_processes").list.len()
    how = "without an end: killed, unable to write, or still running when it was read"
    return _when(
        count > 0,
        pl.when(count == 1)
        .then(sentence("the record of ", _names("lost_processes"), " stops ", how))
        .otherwise(
            sentence("the records of ", count, " processes stop ", how, ": ")
            + _names("lost_processes")
        ),
    )


def _blind_spells() -> pl.Expr:
    return _when(
        pl.col("blind_spells").list.len() > 0,
        sentence("a part was not recorded: ", _names("blind_spells", "; ", "; and ")),
    )


def _missed_executions() -> pl.Expr:
    return _when(
        pl.col("missed_executions") > 0,
        sentence(
            _some("missed_executions", "execution", "executions"),
            " of workers that recorded others ",
            pl.when(pl.col("missed_executions") == 1).then(pl.lit("is")).otherwise(pl.lit("are")),
            " known from the scheduler alone: their records may begin late, or lack events",
        ),
    )


def _no_transfers() -> pl.Expr:
    return _when(
        pl.col("transfers").is_null() & ~pl.col("all_captured").fill_null(value=False),
        pl.lit("no transfer is recorded: whether data moved, and how much, is not known"),
    )


def _no_graphs() -> pl.Expr:
    return _when(
        pl.col("graphs").is_null(),
        pl.lit("no graph is recorded: what tasks need, and who asked for them, is not known"),
    )


def _no_logs() -> pl.Expr:
    return _when(
        ~pl.col("logged").fill_null(value=False),
        pl.lit(
            "no log of Dask is recorded: warnings of memory, and deaths of workers, are unknown"
        ),
    )


def _unseen_graph_tasks() -> pl.Expr:
    return _when(
        (pl.col("untold_graph_tasks") > 0) & (pl.col("scheduler_transitions") > 0),
        sentence(
            pl.col("untold_graph_tasks"),
            " of ",
            pl.col("graph_tasks"),
            " tasks in the graphs have no scheduler transition",
        ),
    )


def _unfinished() -> pl.Expr:
    verb = pl.when(pl.col("unfinished_tasks") == 1).then(pl.lit("was")).otherwise(pl.lit("were"))
    return _when(
        pl.col("unfinished_tasks") > 0,
        sentence(
            _some("unfinished_tasks", "task", "tasks"),
            " ",
            verb,
            " last seen before reaching memory, erred or released: "
            "the record may end before the run did",
        ),
    )
