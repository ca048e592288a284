"""Sound views and a report over the records of ``columnar`` and ``json_lines``."""

from __future__ import annotations

import polars as pl

from harvest import Column, Finding, ReportSpec, Rule, View, hookimpl
from harvest_report import Notes, Report, Table

harvest_api = 1


def per_file(dataset, *, least=0):
    """One row per file of events."""
    files = (
        dataset["planted.event"]
        .group_by(pl.col("origin").cast(pl.String))
        .agg(events=pl.len(), errors=(pl.col("level") == "error").sum(), first=pl.min("time"))
    )
    return files.filter(pl.col("events") >= int(least)).sort("origin")


def located(dataset):
    """One row per event, with the task that began at its time."""
    tasks = dataset["planted.task"].group_by("time").agg(task=pl.min("id"))
    events = dataset["planted.event"].select("time", "level", "text", "origin", "position")
    found = events.join(tasks, on="time", how="left", maintain_order="left")
    return found.with_columns(pl.col("origin").cast(pl.String)).sort("origin", "position")


def names(dataset):
    """One row per file of tasks: what is known of their names."""
    named = pl.col("name").is_not_null()
    per_file = dataset["planted.task"].group_by(pl.col("origin").cast(pl.String))
    return per_file.agg(
        tasks=pl.len(),
        names=pl.when(named.any()).then(pl.col("name").drop_nulls().n_unique()),
    ).sort("origin", "tasks")


def few_names(rows, total):
    """Files whose tasks share a name."""
    yield Finding("low", f"{rows.height} of {total} files have more tasks than names.")


def summary(dataset, *, level="error"):
    """Events by file, and the worst."""
    files = dataset.view("planted.per_file").select("origin", "events", "errors").collect()
    total = files.select(pl.lit("total").alias("origin"), pl.sum("events"), pl.sum("errors"))
    if level not in ("debug", "info", "error"):
        raise ValueError(f"{level!r} is no level")
    events = dataset["planted.event"].filter(pl.col("level") == level)
    texts = events.select("text").unique().sort("text").collect()["text"].to_list()
    return Report(
        "Events",
        sections=[
            Table("files", pl.concat([files, total])),
            Notes("texts", texts or ["none of this level"]),
        ],
    )


@hookimpl
def harvest_views():
    """The views."""
    passed_on = [Column(name) for name in ("time", "level", "text", "origin", "position")]
    return [
        View(
            name="planted.per_file",
            doc="Events by file.",
            build=per_file,
            requires=("planted.event",),
            settings={"least": "leave out files with fewer events"},
            columns=(
                Column("origin", format="path", doc="The file."),
                Column("events", doc="How many it has."),
                Column("errors", doc="How many of them are errors."),
                Column("first", doc="When the first was; null where no time is known."),
            ),
        ),
        View(
            name="planted.located",
            doc="Events with the tasks that began at their times.",
            build=located,
            requires=("planted.event", "planted.task"),
            columns=(*passed_on, Column("task", format="d", doc="Its number; null where none.")),
        ),
        View(
            name="planted.names",
            doc="Names of tasks by file.",
            build=names,
            requires=("planted.task",),
            columns=(
                Column("origin", format="path", doc="The file."),
                Column("tasks", doc="How many it has."),
                Column("names", doc="How many names they have; null where none is known."),
            ),
        ),
    ]


@hookimpl
def harvest_rules():
    """The rule."""
    return [
        Rule(
            name="planted.few_names",
            doc="Tasks that share a name.",
            view="planted.names",
            where="names < tasks",
            columns=("origin", "tasks", "names"),
            judge=few_names,
            advice="Give each task a name.",
            reference="this test",
        )
    ]


@hookimpl
def harvest_reports():
    """The report."""
    return [
        ReportSpec(
            name="planted.summary",
            doc="Events by file.",
            build=summary,
            requires=("planted.event",),
            settings={"level": "the events whose texts are listed"},
        )
    ]
