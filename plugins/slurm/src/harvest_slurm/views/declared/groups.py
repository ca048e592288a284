"""Views that sum runs up: what their columns mean, the most important first, and what they are."""

from __future__ import annotations

from typing import Final

from harvest import Column
from harvest.columns import amount, count, hours, number, passed_on, seconds, share, text, time

from .common import (
    BY,
    DAY,
    ENDED_OR_NOT,
    FAILED_BY,
    HOURS,
    PRICES,
    RESOURCES,
    TREND_BY,
    Resource,
    of_jobs,
)

GROUPS: Final = (
    text("month", "Month that the hours were used in, and that the runs counted ended in, else "
         f"started or were submitted in: 2024-01, {DAY}."),
    text("day", "The same of a day: 2024-01-31."),
    *passed_on("cluster", "account", "user", "partition", "qos", "state"),
)  # fmt: skip
"""What jobs are grouped by."""


def _of_resource(resource: Resource) -> tuple[Column, ...]:
    name, runs, whole = resource.name, resource.runs, resource.column()
    unit = "GiB h" if name == "mem" else "h"
    both = f"the {runs} of which both are known"
    return (
        hours(whole, f"{resource.title} allocated to the {runs}: {resource.given}, as far as "
              "known, in the period in which they were used; 0 only where there are none, null "
              "where of none it is known.", unit),
        hours(resource.column("used"), f"{resource.title} that {both} used: {resource.used}; null "
              "without such runs.", unit),
        hours(resource.column("wasted"), f"What was allocated minus what was used, of {both}; "
              "below 0 where more was used, null without such runs.", unit),
        hours(resource.column("unknown"), f"{resource.title} allocated to the {runs} whose use is "
              f"not known, as far as known: with those used and wasted it is {whole}. 0 where the "
              "use of all is known, null where of no other it is known what was allocated.", unit),
        count(f"{name}_unknown_jobs", f"The {runs} in the period of which what was allocated or "
              "what was used is not known, and runs of which it is not known whether they are "
              "among these; one that ran in several months is among those of each."),
        share(f"{name}_eff", f"{resource.column('used')} as a share of used and wasted ones; null "
              "where these are 0 or not known."),
        share(f"{name}_wasted_share", f"{resource.column('wasted')} as a share of those used and "
              "wasted by all groups together; null where these are 0 or the group's are not "
              "known."),
    )  # fmt: skip


_RESOURCES: Final = {
    column.name: column for resource in RESOURCES for column in _of_resource(resource)
}


def _of(*names: str) -> tuple[Column, ...]:
    return tuple(_RESOURCES[name] for name in names)


def _others(*shown: str) -> tuple[Column, ...]:
    """The columns of all resources but those shown already."""
    return tuple(column for name, column in _RESOURCES.items() if name not in shown)


_FIRST: Final = ("cpu_hours", "cpu_eff", "cpu_wasted_hours", "cpu_wasted_share")
_NEXT: Final = ("gpu_hours", "gpu_eff", "mem_eff", "timelimit_eff")

_MEANINGS: Final = {
    "completed": "completed",
    "failed": "failed with an exit code or a signal",
    "out_of_memory": "were ended for lack of memory",
    "timeout": "reached their time limit or their deadline",
    "node_fail": "ended as a node failed or did not boot, or could not be launched or reconfigured",
    "cancelled": "were cancelled or revoked",
    "preempted": "were preempted",
    "requeued": "were requeued",
}

_COSTS: Final = {
    "cost": "the hours allocated",
    "used_cost": "the hours used",
    "wasted_cost": "the hours wasted",
    "unknown_cost": "the hours whose use is not known",
    "failed_cost": "the runs in failed_jobs",
}

_OR_NULL: Final = "; null where none is known to and of some the state is not known"

_USAGE_COLUMNS: Final = (
    *GROUPS,
    count("jobs", "Runs of jobs that ended in the period, or have not ended and started or were "
          "submitted in it; a requeued job counts once per run. So do all other columns that count "
          "runs, but ran_jobs and those of unknown hours."),
    *_of(*_FIRST),
    count("failed", "Runs that failed with an exit code or a signal, no other kind of "
          f"failure{_OR_NULL}."),
    seconds("mean_wait_s", "Mean wait of the runs in waited_jobs; null without any."),
    *_of(*_NEXT),
    count("started", "Runs that have started; 0 only where none has."),
    *(
        count(name, f"Runs that {meaning}{_OR_NULL}.")
        for name, meaning in _MEANINGS.items()
        if name != "failed"
    ),
    count("not_ended", f"Runs in another state: they wait, run, or are suspended{_OR_NULL}."),
    count("state_unknown", "Runs whose state is not known."),
    hours("failed_cpu_hours", "CPU hours allocated to the runs in failed, out_of_memory, timeout "
          "and node_fail, as far as they are known; 0 only where there are no such runs."),
    hours("failed_gpu_hours", "The same of GPU hours; null where of none they are known."),
    count("ran_jobs", "Runs whose hours these are: they ran in the period, or it is not known "
          "whether they ran; one that ran in several months is among those of each."),
    count("undivided_jobs", "Runs in jobs that ran, of which it is not known from when to when: "
          "all their hours count in the period of their end, else of their start or submission."),
    count("impossible_jobs", "Runs in jobs with times or amounts that cannot be (impossible in "
          "slurm.jobs): these are taken as not known, and sums are of the rest."),
    count("failed_jobs", f"These runs: all that failed, whatever the reason{_OR_NULL}."),
    share("failed_share", "failed_jobs as a share of the runs that ended; null without any."),
    text("main_reason", "Why most of failed_jobs failed, as slurm.reasons says it; null where none "
         "failed."),
    count("main_reason_jobs", "Runs among failed_jobs that did for main_reason; null where none "
          "failed."),
    *(
        amount(name, f"What {of} cost: CPU and GPU hours, as far as known, times cpu_hour_cost "
               "and gpu_hour_cost; null without prices.", form=",.2f")
        for name, of in _COSTS.items()
    ),
    hours("not_ended_cpu_hours", "CPU hours allocated until now to the runs in not_ended, a part "
          "of cpu_unknown_hours, as far as they are known; 0 only where there are none."),
    seconds("median_wait_s", "Median wait of the runs in waited_jobs; null without any."),
    seconds("max_wait_s", "Longest wait of the runs in waited_jobs; null without any."),
    seconds("total_wait_s", "Sum of the waits of the runs in waited_jobs; null without any."),
    count("waited_jobs", "Runs that have started and whose wait is known: from submission to "
          "start, else Planned; 0 only where none has started."),
    seconds("median_run_s", "Median elapsed time of the runs that ran and ended; null without "
            "any."),
    count("compared_jobs", "Runs that ran and ended, whose wait is known; null without any."),
    seconds("median_compared_wait_s", "Median wait of the runs in compared_jobs, or null."),
    seconds("median_compared_run_s", "Median elapsed time of the runs in compared_jobs, or null."),
    *_others(*_FIRST, *_NEXT),
)  # fmt: skip

_BY_END: Final = (
    *passed_on("user"),
    count("jobs", "Runs that ended so; a requeued job counts once per run."),
    hours("cpu_hours", "CPU hours allocated to such runs in the period, wherever in time they "
          "ended, as far as they are known; null where of none."),
    number("exit_code"),
    number("exit_signal"),
    text("last_job", "Id of the run among them that ended last."),
    count("run_again", "Runs among them whose job was run once more; null where that is not known: "
          "where the times of submission are not, and where the cluster has no job of several "
          "runs, as sacct lists the earlier ones only with --duplicates."),
    seconds("median_run_s", "Median elapsed time of these runs; null where none is known."),
    count("cpu_unknown_jobs", "Such runs in the period whose CPU hours are not known."),
    *passed_on("cluster"),
    count("ended_jobs", "All runs of the period and choice of which it is known how they ended; "
          "the same in each row, null where there are none."),
    hours("ended_cpu_hours", "CPU hours allocated in the period to runs of which it is known how "
          "they ended, as far as they are known; the same in each row."),
)  # fmt: skip

_ENDS_COLUMNS: Final = (
    text("state", "Their state; null where it is not known."),
    *_BY_END,
    ENDED_OR_NOT,
)

_FAILURES_COLUMNS: Final = (
    text("state", "How the runs ended, other than completed; null where it is not known."),
    *_BY_END,
)

_ARRAYS_COLUMNS: Final = (
    number("array_job_id"),
    *passed_on("user", "name"),
    count("tasks", "Tasks of the array whose last run is looked at, each once; those that wait "
          "together in one row of the accounting count as one; null where several runs of one task "
          "have no time of submission."),
    count("completed", f"Tasks whose last run completed{_OR_NULL}."),
    count("failed", "Tasks whose last run failed, lacked memory, reached its time limit, or lost "
          f"its node{_OR_NULL}."),
    *_of("cpu_hours", "cpu_eff"),
    seconds("median_run_s", "Median elapsed time of the last runs of the tasks that ran and ended; "
            "null without any."),
    seconds("max_run_s", "Longest of these times; null without any."),
    count("ended", f"Tasks whose last run ended, however it did{_OR_NULL}."),
    time("submit_time", "When the first of its runs was submitted."),
    *passed_on("account", "partition", "qos", "cluster"),
    *_others("cpu_hours", "cpu_eff", *(f"{resource.name}_wasted_share" for resource in RESOURCES)),
)  # fmt: skip
"""Hours are those of all runs of all tasks."""

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

_THEN: Final = (
    "a year before, up to the same day where the month is not over; null where the dataset holds "
    "no such jobs of then"
)


def _measures(then: str = "") -> tuple[Column, ...]:
    """What there is of a month; then: what each is, of the month a year before."""
    p, of = ("year_before_", f", {then}") if then else ("", "")
    o = of or "; null without such runs"
    return (
        count(f"{p}jobs", f"Runs that count in the month{of}."),
        hours(f"{p}cpu_hours", f"CPU hours allocated in it, as far as known{of}."),
        hours(f"{p}cpu_wasted_hours", f"CPU hours allocated minus used, where both are known{o}."),
        share(f"{p}failed_share", f"Runs that failed as a share of those that ended{o}."),
        share(f"{p}cpu_eff", f"CPU hours used as a share of used and wasted ones{o}."),
        seconds(f"{p}mean_wait_s", f"Mean wait of the runs that started{o}."),
        hours(f"{p}gpu_hours", f"GPU hours allocated, as far as known{o}."),
        count(f"{p}failed_jobs", f"Runs that failed, whatever the reason{of}."),
        count(f"{p}days", "Days of the month in which runs count: a month of which a dump holds a "
              f"part has few{of}."),
    )  # fmt: skip


_NOW, _BEFORE = _measures(), _measures(_THEN)

_TREND_COLUMNS: Final = (
    *(column for column in GROUPS if column.name != "day"),
    *_NOW[:2],
    _BEFORE[1],
    share("cpu_hours_change", "cpu_hours against year_before_cpu_hours: 0.1 is a tenth more; "
          "null where one of them is not known."),
    *_NOW[2:4],
    _BEFORE[3],
    *_NOW[4:],
    _BEFORE[0],
    _BEFORE[2],
    *_BEFORE[4:],
)  # fmt: skip

GROUPED: Final = (
    of_jobs(
        "usage", "groups", _USAGE_COLUMNS, {"by": BY, **HOURS, **PRICES},
        "CPU, GPU and memory hours given, used and wasted, ends and waits of groups of "
        "jobs; a job counts when it ended, its hours when they were used.",
    ),
    of_jobs(
        "trend", "groups", _TREND_COLUMNS, {"by": TREND_BY, **HOURS},
        "Jobs, hours, waste, failures and waits by month, beside the same month a year before.",
    ),
    of_jobs(
        "ends", "groups", _ENDS_COLUMNS, HOURS,
        "All runs by state, exit code, signal and user, with those whose end is not known.",
    ),
    of_jobs(
        "failures", "groups", _FAILURES_COLUMNS, HOURS,
        "Runs that did not complete, or of which that is not known, by state, exit code, "
        "signal and user.",
    ),
    of_jobs(
        "reasons", "why", _REASONS_COLUMNS, {"by": FAILED_BY, **HOURS},
        "Why runs failed: exit code, signal, memory, time limit or node, by account, user, "
        "partition, node or other groups, and the node and step that most failed on.",
    ),
    of_jobs(
        "arrays", "groups", _ARRAYS_COLUMNS, HOURS,
        "Job arrays: tasks, how they ended, how long they ran, what they used.",
    ),
)  # fmt: skip
"""The views that sum runs up."""
