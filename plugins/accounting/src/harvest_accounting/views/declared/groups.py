"""Declarations of the views with sums over runs: columns in order of importance, settings, docs."""

from typing import Final

from harvest import Column, View
from harvest.columns import amount, count, hours, number, passed_on, seconds, share, text, time

from ...job_runs import Whose
from . import common
from .common import DAY, RESOURCES, TREND_KEYS, Resource, by, of_jobs

GROUPS: Final = (
    text("month", f"Month in which the hours were used, {DAY}: 2024-01. Runs count in the month in "
         "which they ended, else started or were submitted."),
    text("day", "The same for a day: 2024-01-31."),
    *passed_on("cluster", "account", "user", "partition", "qos", "state", "name"),
)  # fmt: skip
"""The columns by which jobs can be grouped."""


def _of_resource(resource: Resource) -> tuple[Column, ...]:
    name, runs, whole = resource.name, resource.runs, resource.column()
    unit = "GiB h" if name == "mem" else "h"
    both = f"the {runs} with known allocation and use"
    return (
        hours(whole, f"{resource.title} allocated to the {runs}, as far as known: "
              f"{resource.given}. They count in the period in which they were used; 0 only "
              "without such runs, null where all are unknown.", unit),
        hours(resource.column("used"), f"{resource.title} that {both} used: {resource.used}; null "
              "without such runs.", unit),
        hours(resource.column("wasted"), f"Allocated minus used, for {both}; below 0 where more "
              "was used, null without such runs.", unit),
        hours(resource.column("unknown"), f"{resource.title} allocated to the {runs} with unknown "
              f"use, as far as known. {whole} is the sum of used, wasted and unknown. 0 where all "
              "use is known, null where all these allocations are unknown.", unit),
        count(f"{name}_unknown_jobs", f"The {runs} in the period with unknown allocation or use, "
              "and those that may have run. A run counts in each month in which it ran."),
        share(f"{name}_eff", f"{resource.column('used')} as a share of used and wasted hours; null "
              "where these are 0 or unknown."),
        share(f"{name}_wasted_share", f"{resource.column('wasted')} as a share of the used and "
              "wasted hours of all groups together; null where these are 0 or the group's are "
              "unknown."),
    )  # fmt: skip


_RESOURCES: Final = {
    column.name: column for resource in RESOURCES for column in _of_resource(resource)
}


def _of(*names: str) -> tuple[Column, ...]:
    return tuple(_RESOURCES[name] for name in names)


def _others(*shown: str) -> tuple[Column, ...]:
    return tuple(column for name, column in _RESOURCES.items() if name not in shown)


_FIRST: Final = ("cpu_hours", "cpu_eff", "cpu_wasted_hours", "cpu_wasted_share")
_NEXT: Final = ("gpu_hours", "gpu_eff", "mem_eff", "timelimit_eff")

_MEANINGS: Final = {
    "completed": "completed",
    "out_of_memory": "ended as out_of_memory, not those in which only a step did",
    "timeout": "reached their time limit or their deadline",
    "node_fail": "ended because a node failed or did not boot, or a launch failed",
    "cancelled": "were cancelled or revoked",
    "preempted": "were preempted",
    "requeued": "were requeued",
}

_COST, *_COSTS = (
    amount(name, f"Cost of {of}: known CPU and GPU hours times cpu_hour_cost and gpu_hour_cost; "
           "null without prices.", form=",.2f")
    for name, of in {
        "cost": "the hours allocated",
        "used_cost": "the hours used",
        "wasted_cost": "the hours wasted",
        "unknown_cost": "the hours with unknown use",
        "failed_cost": "the runs in failed_jobs",
    }.items()
)  # fmt: skip

_OR_NULL: Final = "; null instead of 0 where some states are unknown"

_USAGE_COLUMNS: Final = (
    *GROUPS,
    count("jobs", "Runs of jobs that ended in the period, or have not ended and started or were "
          "submitted in it. A requeued job counts once per run. Other columns count runs in the "
          "same way, except ran_jobs and those of unknown hours."),
    _COST,
    *_of(*_FIRST),
    count("failed", "Runs that ended as failed, with an exit code or a signal, whatever the "
          f"reason (main_reason){_OR_NULL}."),
    seconds("mean_wait_s", "Mean wait of the runs in waited_jobs; null without any."),
    *_of(*_NEXT),
    count("started", "Runs that have started; 0 only where none has."),
    *(
        count(name, f"Runs that {meaning}{_OR_NULL}.")
        for name, meaning in _MEANINGS.items()
    ),
    count("not_ended", f"Runs in another state: they wait, run, or are suspended{_OR_NULL}."),
    count("state_unknown", "Runs with unknown state."),
    hours("failed_cpu_hours", "Known CPU hours allocated to the runs in failed, out_of_memory, "
          "timeout and node_fail; 0 only without such runs."),
    hours("failed_gpu_hours", "The same for GPU hours; null where all are unknown."),
    count("ran_jobs", "Runs that ran in the period, or may have run: hours are of these runs. A "
          "run counts in each month in which it ran."),
    count("undivided_jobs", "Runs in jobs that ran, with unknown start or end. All their hours "
          "count in the period of their end, else of their start or submission."),
    count("impossible_jobs", "Runs in jobs with impossible times or amounts (impossible in "
          "{prefix}.jobs), which sums leave out."),
    count("failed_jobs", f"All runs that failed, whatever the reason{_OR_NULL}."),
    share("failed_share", "failed_jobs as a share of the runs that ended; null without any."),
    text("main_reason", "Why most of failed_jobs failed, as in {prefix}.reasons; null without "
         "any."),
    count("main_reason_jobs", "Runs among failed_jobs with main_reason; null without any."),
    *_COSTS,
    hours("not_ended_cpu_hours", "Known CPU hours allocated until now to the runs in not_ended, a "
          "part of cpu_unknown_hours; 0 only without such runs."),
    seconds("median_wait_s", "Median wait of the runs in waited_jobs; null without any."),
    seconds("max_wait_s", "Longest wait of the runs in waited_jobs; null without any."),
    seconds("total_wait_s", "Sum of the waits of the runs in waited_jobs; null without any."),
    count("waited_jobs", "Runs that started, with a known wait: from submission to start, else "
          "from eligible to start; 0 only where none has started."),
    seconds("median_run_s", "Median elapsed time of the runs that ran and ended; null without "
            "any."),
    count("compared_jobs", "Runs that ran and ended, with a known wait; null without any."),
    seconds("median_compared_wait_s", "Median wait of the runs in compared_jobs, or null."),
    seconds("median_compared_run_s", "Median elapsed time of the runs in compared_jobs, or null."),
    *_others(*_FIRST, *_NEXT),
)  # fmt: skip

_BY_END: Final = (
    *passed_on("user"),
    text("reason", "Why they failed, as in {prefix}.reasons; null if they did not."),
    count("jobs", "Runs that ended in this way; a requeued job counts once per run."),
    hours("cpu_hours", "Known CPU hours allocated to such runs in the period, whenever they "
          "ended; null where all are unknown."),
    number("exit_code"),
    number("exit_signal"),
    text("last_job", "Id of the run among them that ended last."),
    count("run_again", "Runs among them whose job ran again. Null where the order of runs is "
          "unknown, and where the cluster has no job with several runs: earlier ones may not be "
          "recorded."),
    seconds("median_run_s", "Median elapsed time of these runs; null where all are unknown."),
    count("cpu_unknown_jobs", "Such runs in the period with unknown CPU hours."),
    *passed_on("cluster"),
    count("ended_jobs", "All chosen runs of the period with a known final state; the same in each "
          "row, null without any."),
    hours("ended_cpu_hours", "Known CPU hours allocated in the period to runs with a known final "
          "state; the same in each row."),
)  # fmt: skip

_ENDS_COLUMNS: Final = (
    text("state", "Their state; null where unknown."),
    *_BY_END,
    common.ENDED_OR_NOT,
)

_FAILURES_COLUMNS: Final = (
    text("state", "Final state of the runs, other than completed; null where unknown."),
    *_BY_END,
)

_ARRAYS_COLUMNS: Final = (
    number("array_job_id"),
    *passed_on("user", "name"),
    count("tasks", "Tasks of the array, each counted by its last run. Tasks that wait together in "
          "one row of the accounting count as one; null where several runs of a task have no "
          "submission time."),
    count("completed", f"Tasks whose last run completed{_OR_NULL}."),
    count("failed", "Tasks whose last run failed, ran out of memory or time, or lost its "
          f"node{_OR_NULL}."),
    *_of("cpu_hours", "cpu_eff"),
    seconds("median_run_s", "Median elapsed time of the last runs of the tasks that ran and ended; "
            "null without any."),
    seconds("max_run_s", "Longest of these times; null without any."),
    count("ended", f"Tasks whose last run ended, in any state{_OR_NULL}."),
    time("submit_time", "When the first of its runs was submitted."),
    *passed_on("account", "partition", "qos", "cluster"),
    *_others("cpu_hours", "cpu_eff", *(f"{resource.name}_wasted_share" for resource in RESOURCES)),
)  # fmt: skip
"""Hours include all runs of all tasks."""

_STEP: Final = "null without a known failed step"

_REASONS_COLUMNS: Final = (
    *GROUPS,
    text("node", "A node of the runs; a run on several nodes counts at each of them. Null for runs "
         "that never started."),
    text("reason", "Why they failed: `out of memory` (of the run or a step), `time limit`, "
         "`deadline`, `node`. Else the signal or exit code of the step that failed first, or of "
         "the run; a shell reports signal 9 (SIGKILL) as exit code 137."),
    count("jobs", "Runs that failed for this reason. All reasons add up to failed, out_of_memory, "
          "timeout and node_fail of {prefix}.usage."),
    share("failed_share", "jobs as a share of ended_jobs; null where these are 0."),
    hours("cpu_hours", "Known CPU hours allocated in the period to these runs; null where all are "
          "unknown."),
    text("top_node", "The node on which most of them failed: a node of the step that failed first, "
         "else of the run; null where unknown."),
    count("top_node_jobs", "Runs among them that failed on it; null where unknown."),
    text("failed_step", f"The step that failed first in most of them; {_STEP}."),
    count("failed_step_jobs", f"Runs among them in which that step failed first; {_STEP}."),
    count("first_step_jobs", f"Runs among them that failed in their first step; {_STEP}."),
    count("ended_jobs", "Runs of the group that ended, in any state."),
    hours("gpu_hours", "The same for GPU hours; null where all are unknown."),
    count("node_known_jobs", "Runs among them with known nodes."),
    count("step_known_jobs", "Runs among them with a known failed step."),
    count("users", "Number of users of these runs."),
    text("last_job", "Id of the run among them that ended last; null without any."),
    time("last_time", "When that run ended; null without any."),
    count("cpu_unknown_jobs", "Such runs in the period with unknown CPU hours."),
)  # fmt: skip

_THEN: Final = (
    "a year before, up to the same day for an unfinished month; null where the dataset has no "
    "such jobs"
)


def _measures(then: str = "") -> tuple[Column, ...]:
    """Return the measures of a month; then: text to add to the docs for the month a year before."""
    p, of = ("year_before_", f", {then}") if then else ("", "")
    o = of or "; null without such runs"
    return (
        count(f"{p}jobs", f"Runs that count in the month{of}."),
        hours(f"{p}cpu_hours", f"Known CPU hours allocated in the month{of}."),
        hours(f"{p}cpu_wasted_hours", f"CPU hours allocated minus used, where both are known{o}."),
        share(f"{p}failed_share", f"Runs that failed as a share of those that ended{o}."),
        share(f"{p}cpu_eff", f"CPU hours used as a share of used and wasted ones{o}."),
        seconds(f"{p}mean_wait_s", f"Mean wait of the runs that started{o}."),
        hours(f"{p}gpu_hours", f"Known GPU hours allocated{o}."),
        count(f"{p}failed_jobs", f"Runs that failed, whatever the reason{of}."),
        count(f"{p}days", f"Days of the month in which runs count; few in a partial dump{of}."),
    )  # fmt: skip


_NOW, _BEFORE = _measures(), _measures(_THEN)

_TREND_COLUMNS: Final = (
    *(column for column in GROUPS if column.name != "day"),
    *_NOW[:2],
    _BEFORE[1],
    share("cpu_hours_change", "Change from year_before_cpu_hours to cpu_hours: 0.1 is 10 % more; "
          "null where one of them is unknown."),
    *_NOW[2:4],
    _BEFORE[3],
    *_NOW[4:],
    _BEFORE[0],
    _BEFORE[2],
    *_BEFORE[4:],
)  # fmt: skip


def grouped(whose: Whose) -> tuple[View, ...]:
    """Return the views with sums over runs."""
    hours = common.which_hours(whose)
    trend_by = by(whose, (), " within a month; all together unless given", TREND_KEYS)
    return (
        of_jobs(
            whose, "usage", "groups", _USAGE_COLUMNS,
            {"by": by(whose, ("user",)), **hours, **common.PRICES},
            "CPU, GPU and memory hours allocated, used and wasted, final states and waits by group "
            "of jobs. A job counts when it ended, its hours when they were used.",
        ),
        of_jobs(
            whose, "trend", "groups", _TREND_COLUMNS, {"by": trend_by, **hours},
            "Jobs, hours, waste, failures and waits by month, compared with a year before.",
        ),
        of_jobs(
            whose, "ends", "groups", _ENDS_COLUMNS, hours,
            "All runs by state (also unknown), reason, exit code, signal and user.",
        ),
        of_jobs(
            whose, "failures", "groups", _FAILURES_COLUMNS, hours,
            "Runs that did not complete, and those with unknown state, by state, reason, exit "
            "code, signal and user.",
        ),
        of_jobs(
            whose, "reasons", "why", _REASONS_COLUMNS, {"by": common.failed_by(whose), **hours},
            "Why runs failed: exit code, signal, memory, time limit or node, by account, user, "
            "partition, node or other groups, with the node and step of most failures.",
        ),
        of_jobs(
            whose, "arrays", "groups", _ARRAYS_COLUMNS, hours,
            "Job arrays: tasks, final states, run times and resources used.",
        ),
    )  # fmt: skip
