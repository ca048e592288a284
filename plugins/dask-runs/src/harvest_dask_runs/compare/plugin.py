"""Entry point of the comparison of runs: the view, the report, and their settings."""

from pathlib import Path
from typing import Final

from harvest import ReportSpec, Setting, View, declare
from harvest.columns import amount, count, share, text
from harvest.toolkit.settings import at_least

from ..record_names import JOINED

READ: Final = (*JOINED, "dask.worker_sample")
"""Record types that a comparison reads."""

_NAMED: Final = "directories, the directories' names, or patterns such as *_W8"

SIDES: Final = {
    "runs": Setting("the two runs, the earlier first, for example runs=A,B", tuple[str, ...], ()),
    **{
        name: Setting(
            f"several runs of the {side} side: {_NAMED}; all others if only {other} is given",
            tuple[str, ...],
            (),
        )
        for name, side, other in (("before", "first", "after"), ("after", "second", "before"))
    },
    "other": Setting("another dataset, with the runs of the second side", Path),
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
    amount("difference", "after - before; null where one is unknown.", form="+,.6g"),
    amount("ratio", "after / before; null where one is unknown, or before is 0.", form=",.3f"),
    text("presence", "both; new: the first side had none; gone: the second side had none; not seen "
         "before, not seen after: none is recorded, but the record of that side has gaps."),
    text("sure", "How sure the difference is. runs apart: each run of one side is above each of "
         "the other; runs overlap: they are not; tasks apart, tasks overlap: the same for the "
         "tasks of one run each; one run each: how much runs vary is unknown; in part: some "
         "workers reported nothing, so that there may be more; null without a difference."),
    share("chance_share", "The p-value of Mann and Whitney's test, over runs or tasks as in sure: "
          "how likely as large a difference is between sides that do not differ; null for others."),
    share("pairs_share", "Share of pairs (a task of the first side, a task of the second) in which "
          "the second took longer; equal ones count half; null where tasks are not compared."),
    amount("before_low", f"Least of the runs of the first side; {_SEVERAL}.", form=",.6g"),
    amount("before_high", f"Most of these; {_SEVERAL}.", form=",.6g"),
    amount("after_low", f"Least of the runs of the second side; {_SEVERAL}.", form=",.6g"),
    amount("after_high", f"Most of these; {_SEVERAL}.", form=",.6g"),
    count("before_runs", "Runs of the first side of which the number is known."),
    count("after_runs", "Runs of the second side of which it is known."),
)  # fmt: skip

COMPARE: Final = View(
    name="dask.compare",
    doc="Differences between two runs, or between two sides of several runs: a row per number, "
    "with its spread and how sure the difference is. Equal numbers have no row.",
    build="harvest_dask_runs.compare.compare:compare",
    requires=READ,
    settings={**SIDES, "equal": Setting("also equal numbers", bool, default=False)},
    columns=COLUMNS,
)


harvest_views = declare(COMPARE)

harvest_reports = declare(
    ReportSpec(
        name="dask.compare",
        doc="Compare runs: which side was faster and which kinds of tasks made the difference; "
        "phases, graphs, workers, failures, memory and bytes; how sure each difference is.",
        build="harvest_dask_runs.compare.report:dask_compare",
        requires=READ,
        settings={
            **SIDES,
            "top": Setting("how many rows each table has at most", int, 20, at_least(1)),
        },
    )
)
