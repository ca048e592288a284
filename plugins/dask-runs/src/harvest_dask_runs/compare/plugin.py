"""What comparing runs offers to harvest: the view, the report, and the settings of both."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from harvest import ReportSpec, Setting, View, hookimpl
from harvest.columns import amount, count, share, text
from harvest.toolkit.settings import at_least

from ..record_names import JOINED

READ: Final = (*JOINED, "dask.worker_sample")
"""The record types that runs are compared by."""

_NAMED: Final = "directories, the directories' names, or patterns such as *_W8"

SIDES: Final = {
    "runs": Setting("the two runs, the earlier first: as in runs=A,B", tuple[str, ...], ()),
    "before": Setting(
        f"several runs of the first side: {_NAMED}; all others where after alone is given",
        tuple[str, ...],
        (),
    ),
    "after": Setting(
        f"several runs of the second side: {_NAMED}; all others where before alone is given",
        tuple[str, ...],
        (),
    ),
    "other": Setting("another dataset, in which the runs of the second side lie", Path),
}

_SEVERAL: Final = "null where the number is known of no run of that side"

COLUMNS: Final = (
    text("part", "What the number is of: run (the whole), phase, path (what the time along the "
         "critical path went to), graph, prefix (kind of task), worker."),
    text("name", "Which of them; of the whole run, all."),
    text("measure", "What was measured, as the views of runs name it: total_s, executions."),
    text("unit", "Unit of the numbers: s, bytes, 1 (a share); null where they are counts."),
    amount("before", f"The number, as mean of the first side's runs; {_SEVERAL}.", form=",.6g"),
    amount("after", f"The same of the second side; {_SEVERAL}.", form=",.6g"),
    amount("difference", "after - before; null where one of them is not known.", form="+,.6g"),
    amount("ratio", "after / before; null where one of them is not known, or before is "
           "0.", form=",.3f"),
    text("presence", "both; new where the first side certainly had none of this name, gone where "
         "the second has none; not seen before, not seen after where a record of that side has "
         "gaps."),
    text("sure", "How sure the difference is. runs apart: each run of one side is above each of "
         "the other; runs overlap: not so; tasks apart, tasks overlap: of one run each, by the "
         "durations of its tasks; one run each: how much runs vary is not known; in part: what "
         "workers report, of runs in which some reported nothing; null where there is no "
         "difference."),
    share("chance_share", "How likely as large a difference is where the sides do not differ: the "
          "p-value of Mann and Whitney's test, over runs or tasks as sure says; null where it says "
          "neither."),
    share("pairs_share", "Share of all pairs of a task of the first and one of the second side in "
          "which the latter took longer; equal ones count half; null where tasks are not "
          "compared."),
    amount("before_low", f"Least of the runs of the first side; {_SEVERAL}.", form=",.6g"),
    amount("before_high", f"Most of these; {_SEVERAL}.", form=",.6g"),
    amount("after_low", f"Least of the runs of the second side; {_SEVERAL}.", form=",.6g"),
    amount("after_high", f"Most of these; {_SEVERAL}.", form=",.6g"),
    count("before_runs", "Runs of the first side of which the number is known."),
    count("after_runs", "Runs of the second side of which it is known."),
)  # fmt: skip

COMPARE: Final = View(
    name="dask.compare",
    doc="What differs between two runs, or between several of each side: a row per number, with "
    "its spread and how sure the difference is. Numbers that are equal have no row.",
    build="harvest_dask_runs.compare.compare:compare",
    requires=READ,
    settings={
        **SIDES,
        "equal": Setting("also the numbers that do not differ", bool, default=False),
    },
    columns=COLUMNS,
)


harvest_api = 1


@hookimpl
def harvest_views() -> Iterable[View]:
    """The differences as rows."""
    return [COMPARE]


@hookimpl
def harvest_reports() -> Iterable[ReportSpec]:
    """The differences on a page."""
    return [
        ReportSpec(
            name="dask.compare",
            doc="Runs compared: which side was quicker, which kinds of tasks made the difference, "
            "by phase, graph and worker; failures, memory and bytes; what is new or gone; and how "
            "sure each difference is.",
            build="harvest_dask_runs.compare.report:dask_compare",
            requires=READ,
            settings={
                **SIDES,
                "top": Setting("how many rows each table has at most", int, 20, at_least(1)),
            },
        )
    ]
