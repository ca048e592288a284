"""The view of why runs failed: what its columns mean, and what it is."""

from __future__ import annotations

from typing import Final

from harvest import View
from harvest.columns import count, hours, passed_on, share, text, time

from .common import FAILED_BY, HOURS
from .groups import GROUPS

_STEP: Final = "null where no step is known to have failed"

_REASONS_COLUMNS: Final = (
    *GROUPS,
    text("node", "A node of the runs; one that ran on several counts at each of them; null of "
         "those that never started."),
    *passed_on("name"),
    text("reason", "Why they failed: `out of memory` (also where a step of the run was), `time "
         "limit`, `deadline`, `node`, else the signal or exit code of the step that failed first, "
         "else of the run; exit code 137 (SIGKILL) is what a shell makes of signal 9."),
    count("jobs", "Runs that failed so; over all reasons they add up to failed, out_of_memory, "
          "timeout and node_fail of slurm.usage."),
    share("failed_share", "jobs as a share of ended_jobs; null where these are 0."),
    hours("cpu_hours", "CPU hours allocated in the period to runs that failed so, as far as they "
          "are known; null where of none."),
    text("top_node", "The node that most of them failed on: nodes of the step that failed first, "
         "else of the run; null where none is known."),
    count("top_node_jobs", "Runs among them that failed on it; null where none is known."),
    text("failed_step", f"The step that failed first in most of them; {_STEP}."),
    count("failed_step_jobs", f"Runs among them in which that step failed first; {_STEP}."),
    count("first_step_jobs", "Runs among them in which no step had begun before the one that "
          f"failed first; {_STEP}."),
    count("ended_jobs", "Runs of the group that ended, however they did."),
    hours("gpu_hours", "The same of GPU hours; null where of none."),
    count("node_known_jobs", "Runs among them whose nodes are known."),
    count("step_known_jobs", "Runs among them of which a step is known to have failed."),
    count("users", "How many users they are of."),
    text("last_job", "Id of the run among them that ended last; null without any."),
    time("last_time", "When that was, or null."),
    count("cpu_unknown_jobs", "Such runs in the period whose CPU hours are not known."),
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
