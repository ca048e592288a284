"""``dask.critical_path``."""

from __future__ import annotations

from typing import Final

from harvest import Column, View
from harvest_toolkit.columns import named, seconds

from ...record_names import EXECUTED
from .common import KEY, PREFIX, RUN, RUN_SETTING

PART_DOC: Final = (
    "What the time went to. computing: the task was executed. Else it waited for that, and of what "
    "is recorded of the moment, the first of these counts. moving: a transfer brought its worker "
    "what it needs. spilling: its worker wrote results to disk or read them, by two samples. "
    "waiting for dependencies: its worker had it waiting for data. waiting for a worker: it was "
    "queued, without a worker, on its way to one, or ready there without a thread. waiting for "
    "dependencies: the scheduler had it waiting. nothing recorded: none of these; before it was "
    "sent, its client was at work."
)
LINK_DOC: Final = (
    "What let the task begin at last. thread: another execution left its thread, for which it was "
    "ready. dependency: what it needs had been executed, by the graph, or by the scheduler's "
    "record of what released it. client: it was sent after what it needs had been executed; the "
    "task before is the last one that ended before that. time: none of these is recorded; the task "
    "before is the last one that ended before it was ready. Null for the first task."
)

CRITICAL_PATH: Final = View(
    name="dask.critical_path",
    doc="What the time from the first execution to the end of the last went to, without gap or "
    "overlap: the execution that ended last, what it followed, and so back to the first; each task "
    "with a row for its execution, and before that a row for each thing that it waited for.",
    build="harvest_dask_runs.views.critical_path:critical_path_view",
    requires=EXECUTED,
    settings=RUN_SETTING,
    columns=(
        Column("step", doc="Number of the task on the path, from 1: in order of time."),
        Column("part", doc=PART_DOC),
        seconds("seconds", "end - start."),
        PREFIX,
        KEY,
        Column("link", doc=LINK_DOC),
        named("after", "Key of the task before; null for the first."),
        named("worker", "Worker that executed it; null where it is not recorded."),
        Column(
            "start",
            doc="When the part began; times are those of executions, so that the path is one line.",
        ),
        Column(
            "end",
            doc="When it ended. An execution that by another clock ended after the next began ends "
            "then.",
        ),
        Column("thread", doc="Thread that executed it (pthread id); null where not recorded."),
        RUN,
    ),
)
