"""What the core itself offers, declared the way any plugin does it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from harvest.api.column import Column
from harvest.api.spec import EngineSpec, hookimpl
from harvest.api.view import View

_UNKNOWN: Final = "null where its record type has no such column, or the row no value"

EVENTS: Final = (
    Column("time", doc=f"When it happened or began; {_UNKNOWN}."),
    Column("record_type", doc="The record type of the row."),
    Column(
        "subject",
        format="id",
        doc=f"What the row is about, as a task's key or a file's path; {_UNKNOWN}.",
    ),
    Column("host", doc=f"Host that it happened on; {_UNKNOWN}."),
    Column(
        "data",
        doc="All columns of the row but origin and position, as a JSON object; extra only where it "
        "is not null.",
    ),
    Column("end_time", doc=f"When it ended; {_UNKNOWN}."),
    Column("pid", format="d", doc=f"Process id; {_UNKNOWN}."),
    Column("thread", format="id", doc=f"Thread, mostly its pthread id; {_UNKNOWN}."),
    Column("user", doc=f"User, by name or number; {_UNKNOWN}."),
    Column("job", format="id", doc=f"Batch job, by its id; {_UNKNOWN}."),
    Column("layer", doc="Layer of the record type: job, workflow or system."),
    Column("level", doc="Level of the record type: job, config, client, scheduler, worker, ..."),
    Column("origin", format="path", doc="The input that the row was read from, as a file."),
    Column("position", doc="Where in the input: line or number of the record, from 1."),
)

_EVENTS = View(
    name="events",
    doc="All rows of all record types in the shape of the common event model.",
    build="harvest.builtin.rows:events",
    columns=EVENTS,
)

FINDINGS: Final = (
    Column(
        "severity",
        doc="high: costs much, or puts results in doubt; medium: worth a change; low: good to "
        "know.",
    ),
    Column("text", doc="What was found, in one sentence."),
    Column(
        "certainty",
        doc="complete, or what makes it less than certain: lower_bound, impossible_value, "
        "too_large, coarse_clock, one_process, part.",
    ),
    Column("judged", doc="How many rows of view its rule could judge."),
    Column("unknown", doc="How many rows of view its rule is about and could not judge."),
    Column("advice", doc="What to try."),
    Column("rows", doc="How many rows of view the finding rests on."),
    Column("view", doc="The view with the evidence."),
    Column("where", doc="The SQL condition that chooses the evidence among the rows of view."),
    Column("settings", doc="The settings that view had, as a JSON object."),
    Column("rule", doc="The rule that found it."),
    Column("reference", doc="What the rule and its thresholds rest on."),
)

_FINDINGS = View(
    name="findings",
    doc="What the rules of installed plugins conclude: one row per finding, the worst first, with "
    "the view and the condition that give its evidence.",
    build="harvest.builtin.rows:findings",
    columns=FINDINGS,
)

_NOTES = View(
    name="notes",
    doc="What sources remarked on their inputs while they read them: one row per note.",
    build="harvest.builtin.rows:notes",
    columns=(
        Column("note", doc="The remark."),
        Column("origin", format="path", doc="The input that it is about."),
        Column("source", doc="The source that read it."),
    ),
)

VIEWS: Final = (_EVENTS, _FINDINGS, _NOTES)


harvest_api = 1


@hookimpl
def harvest_engines() -> Iterable[EngineSpec]:
    """This machine."""
    return [
        EngineSpec(
            name="local",
            doc="this process, or worker processes on this machine",
            factory="harvest.engines.local:LocalEngine",
        ),
    ]


@hookimpl
def harvest_views() -> Iterable[View]:
    """Views over every dataset."""
    return VIEWS
