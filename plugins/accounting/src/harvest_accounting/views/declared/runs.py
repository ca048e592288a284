"""Declarations of the views with one row per run, and of the view on waits.

Columns without a doc here have the doc of the record type.
"""

from typing import Final

from harvest import Column, View
from harvest.columns import (
    amount,
    count,
    hours,
    number,
    passed_on,
    path,
    seconds,
    share,
    size,
    text,
)

from ...job_runs import Whose
from .common import DAY, ENDED_OR_NOT, of_jobs, which_jobs, which_waits

_ELAPSED, _TIMELIMIT = seconds("elapsed_s"), seconds("timelimit_s")

_RESTART: Final = count("restart", "Number of the run within its job: 0 unless it was requeued. "
                        "Null where the order of its runs is unknown.")  # fmt: skip
_PLANNED: Final = seconds("planned_s", "Time from eligible to start; null where unknown.")
_ALLOC_CPUS: Final = Column("alloc_cpus")
_ALLOC_GPUS: Final = count("alloc_gpus", "GPUs allocated, of all kinds; null where the cluster "
                           "does not account for GPUs.")  # fmt: skip
_ALLOC_MEM: Final = size("alloc_mem_bytes", "Memory allocated on all nodes; null where unknown.")
_MEM_USED: Final = size("mem_used_bytes", "Most memory that the run used at a time; null until it "
                        "has ended.")  # fmt: skip
_CPU: Final = seconds("cpu_s", "CPU seconds used; null until the run has ended.")

_JOBS_COLUMNS: Final = (
    *passed_on("job_id", "user", "state"),
    _ELAPSED,
    _ALLOC_CPUS,
    _CPU,
    _MEM_USED,
    *passed_on("name", "partition"),
    seconds("wait_s", "Time from submission to start. Null before the start, and where the start "
            "is before the submission."),
    *passed_on("start_time", "account", "qos"),
    _ALLOC_MEM,
    _ALLOC_GPUS,
    _TIMELIMIT,
    seconds("cpu_time_s", "CPU seconds allocated: elapsed time times CPUs; null where unknown."),
    _RESTART,
    *passed_on("submit_time", "eligible_time", "end_time", "undecided_times", "cluster", "group"),
    number("exit_code"),
    number("exit_signal"),
    _PLANNED,
    count("alloc_nodes", "Nodes allocated; null before the start."),
    *passed_on("req_nodes", "req_cpus"),
    size("req_mem_bytes", "Memory requested, on all its CPUs or nodes together."),
    text("req_mem_per"),
    count("steps"),
    count("ntasks"),
    seconds("user_cpu_s"),
    seconds("system_cpu_s"),
    size("max_rss_bytes"),
    size("max_disk_read_bytes"),
    size("max_disk_write_bytes"),
    amount("gpu_util_percent", "Utilisation of GPUs, 100 for each GPU that was always busy; null "
           "until the run has ended.", "%", ",.1f"),
    size("gpu_mem_used_bytes"),
    *passed_on("node_list", "state_by"),
    *(number(name) for name in ("job_id_raw", "array_job_id", "array_task_id")),
    *(number(name) for name in ("het_job_id", "het_offset")),
    ENDED_OR_NOT,
    *passed_on("restarts"),
    text("impossible", "Impossible values, which are null in this row: times in the wrong order or "
         "a century apart, amounts that are negative or beyond any machine. The record type keeps "
         "what was recorded."),
    path("origin"),
    number("position"),
)  # fmt: skip

_EFFICIENCY_COLUMNS: Final = (
    *passed_on("job_id", "user", "state"),
    share("cpu_eff", "CPU seconds used as a share of those allocated; null where either is "
          "unknown, for example before the run has ended."),
    share("mem_eff", "Most memory that one step used as a share of the memory allocated; null "
          "where either is unknown."),
    share("gpu_eff", "Utilisation of GPUs as a share of 100 % of each GPU allocated; null where "
          "not measured and where there are none."),
    share("timelimit_eff", "Elapsed time as a share of the time limit (until now for a run that "
          "has not ended); null without a limit or where either is unknown."),
    hours("cpu_hours", "CPU hours allocated: elapsed time times CPUs; null where unknown."),
    _ELAPSED,
    *passed_on("name", "partition"),
    _ALLOC_CPUS,
    _CPU,
    _MEM_USED,
    _ALLOC_MEM,
    _ALLOC_GPUS,
    hours("gpu_hours", "GPU hours allocated: elapsed time times GPUs; null where the cluster does "
          "not account for GPUs."),
    _TIMELIMIT,
    *passed_on("account", "qos"),
    _RESTART,
    *passed_on("submit_time", "start_time", "end_time", "cluster"),
)  # fmt: skip

_QUEUE_TIME_COLUMNS: Final = (
    *passed_on("job_id", "user"),
    seconds("wait_s", "Time from submission to start, or planned_s where the submission is unknown "
            "or after the start."),
    *passed_on("partition", "qos", "start_time"),
    Column("date", doc=f"Day of submission, else of the start, {DAY}."),
    *passed_on("state", "req_nodes"),
    _ELAPSED,
    _TIMELIMIT,
    _PLANNED,
    *passed_on("name", "account", "submit_time", "eligible_time"),
    _RESTART,
    *passed_on("cluster"),
)  # fmt: skip

_WORST_DAYS_COLUMNS: Final = (
    Column("date", doc=f"Day of submission, else of the start, {DAY}."),
    count("jobs", "Runs submitted that day that started, with a known wait."),
    seconds("mean_wait_s", "Mean of their waits."),
    seconds("median_wait_s", "Median of their waits."),
    seconds("max_wait_s", "Longest of their waits."),
    seconds("total_wait_s", "Sum of their waits."),
)


def of_runs(whose: Whose) -> tuple[View, ...]:
    """Return the views with one row per run, and the view on waits by day."""
    chosen = which_jobs(whose)
    return (
        of_jobs(
            whose, "jobs", "runs", _JOBS_COLUMNS, chosen,
            "One row per job and run, with the resources that its steps used.",
        ),
        of_jobs(
            whose, "efficiency", "runs", _EFFICIENCY_COLUMNS, chosen,
            "Shares of CPUs, memory, GPUs and time limit that each job used.",
        ),
        of_jobs(
            whose, "queue_time", "runs", _QUEUE_TIME_COLUMNS, chosen,
            "How long each started job waited, with day, partition and QOS.",
        ),
        of_jobs(
            whose, "worst_days", "runs", _WORST_DAYS_COLUMNS, which_waits(whose, "number of days"),
            "Waits per day of submission: mean, median and maximum; longest mean first.",
        ),
    )  # fmt: skip
