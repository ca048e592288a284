"""The view of why runs failed: what its columns mean, and what it is."""

from __future__ import annotations

from typing import Final

from harvest import Column, View
from harvest_toolkit.columns import hours, share

from .common import FAILED_BY, HOURS, passed_on
from .groups import GROUPS

_STEP: Final = "null where no step is known to have failed"

_REASONS_COLUMNS: Final = (
    *GROUPS,
    Column("node", doc="A node of the runs; one that ran on several counts at each of them; null "
           "of those that never started."),
    *passed_on("name"),
    Column(
        "reason",
        doc="Why they failed: `out of memory` (also where a step of the run was), `time limit`, "
        "`deadline`, `node`, else the signal or exit code of the step that failed first, else of "
        "the run; exit code 137 (SIGKILL) is what a shell makes of signal 9.",
    ),
    Column("jobs", doc="Runs that failed so; over all reasons they add up to failed, "
           "out_of_memory, timeout and node_fail of slurm.usage."),
    share("failed_share", "jobs as a share of ended_jobs; null where these are 0."),
    hours("cpu_hours", "CPU hours allocated in the period to runs that failed so, as far as they "
          "are known; null where of none."),
    Column("top_node", doc="The node that most of them failed on: nodes of the step that failed "
           "first, else of the run; null where none is known."),
    Column("top_node_jobs", doc="Runs among them that failed on it; null where none is known."),
    Column("failed_step", doc=f"The step that failed first in most of them; {_STEP}."),
    Column("failed_step_jobs", doc=f"Runs among them in which that step failed first; {_STEP}."),
    Column("first_step_jobs", doc="Runs among them in which no step had begun before the one that "
           f"failed first; {_STEP}."),
    Column("ended_jobs", doc="Runs of the group that ended, however they did."),
    hours("gpu_hours", "The same of GPU hours; null where of none."),
    Column("node_known_jobs", doc="Runs among them whose nodes are known."),
    Column("step_known_jobs", doc="Runs among them of which a step is known to have failed."),
    Column("users", doc="How many users they are of."),
    Column("last_job", doc="Id of the run among them that ended last; null without any."),
    Column("last_time", doc="When that was, or null."),
    Column("cpu_unknown_jobs", doc="Such runs in the period whose CPU hours are not known."),
)  # fmt: skip

REASONS: Final = View(
    name="slurm.reasons",
    doc="Why runs failed: exit code, signal, memory, time limit or node, by account, user, "
    "partition, node or other groups, and the node and step that most failed on.",
    build="harvest_slurm.views.reasons:reasons",
    requires=("slurm.job",),
    columns=_REASONS_COLUMNS,
    settings={"by": FAILED_BY, **HOURS},
)
