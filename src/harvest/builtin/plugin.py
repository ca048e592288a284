"""The declarations of the core, in the form of any plugin."""

from typing import Final

from harvest.api.spec import EngineSpec, declare
from harvest.api.view import View
from harvest.columns import count, named, number, path, text, texts, time

_UNKNOWN: Final = "null where its record type has no such column, or the row no value"

EVENTS: Final = (
    time("time", f"When it happened or began; {_UNKNOWN}."),
    text("record_type", "The record type of the row."),
    named("subject", f"What the row is about, as a task's key or a file's path; {_UNKNOWN}."),
    text("host", f"Host that it happened on; {_UNKNOWN}."),
    text("data", "All columns of the row but origin and position, as a JSON object; extra only "
         "where it is not null."),
    time("end_time", f"When it ended; {_UNKNOWN}."),
    number("pid", f"Process id; {_UNKNOWN}."),
    named("thread", f"Thread, mostly its pthread id; {_UNKNOWN}."),
    text("user", f"User, by name or number; {_UNKNOWN}."),
    named("job", f"Batch job, by its id; {_UNKNOWN}."),
    text("layer", "Layer of the record type: job, workflow or system."),
    text("level", "Level of the record type: job, config, client, scheduler, worker, ..."),
    path("origin", "The input that the row was read from, as a file."),
    count("position", "Where in the input: line or number of the record, from 1."),
)  # fmt: skip

FINDINGS: Final = (
    text("severity", "high: costs much, or puts results in doubt; medium: worth a change; low: "
         "good to know."),
    text("rule", "The rule that found it."),
    text("headline", "What was found, in at most 80 characters."),
    text("detail", "The sentences below the headline."),
    text("text", "The headline and its detail, in one text."),
    texts("certainty", "complete, or what makes it less than certain: lower_bound, "
          "impossible_value, too_large, coarse_clock, one_process, part."),
    count("judged", "Rows of the view that the rule checked."),
    count("unknown", "Rows of the view that the rule is about but that lack data."),
    text("advice", "What to try."),
    text("view", "The view with the evidence."),
    text("settings", "The settings that view had, as a JSON object."),
    text("where", "The SQL condition that chooses the evidence among the rows of view."),
    count("rows", "Rows of the view that are the evidence."),
    text("reference", "The source of the rule and its thresholds."),
)  # fmt: skip

NOTES: Final = (
    text("note", "The remark."),
    path("origin", "The input that it is about."),
    text("source", "The source that read it."),
)

harvest_engines = declare(
    EngineSpec(
        name="local",
        doc="this process, or worker processes on this machine",
        factory="harvest.engines.pool:LocalEngine",
    )
)

harvest_views = declare(
    View(
        name="events",
        doc="All rows of all record types in the shape of the common event model.",
        build="harvest.builtin.rows:events",
        columns=EVENTS,
    ),
    View(
        name="findings",
        doc="What the rules of installed plugins conclude: one row per finding, the worst first, "
        "with the view and the condition that give its evidence.",
        build="harvest.builtin.rows:findings",
        columns=FINDINGS,
    ),
    View(
        name="notes",
        doc="What sources remarked on their inputs while they read them: one row per note.",
        build="harvest.builtin.rows:notes",
        columns=NOTES,
    ),
)
