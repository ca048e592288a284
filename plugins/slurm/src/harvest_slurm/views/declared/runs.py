"""Views of runs, one row for each, and of their waits: what their columns mean, and what they are.

What has no doc here is passed on from slurm.job, whose columns explain it.
"""

from __future__ import annotations

from typing import Final

from harvest import Column
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

from .common import DAY, ENDED_OR_NOT, SELECTION, of_jobs, waits

_ELAPSED, _TIMELIMIT = seconds("elapsed_s"), seconds("timelimit_s")

_RESTART: Final = count("restart", "Which run of the job it is, by time of submission: 0 unless it "
                        "was requeued; null where the job has several and these times are not "
                        "known.")  # fmt: skip
_NOT_YET: Final = "until the run and all of its steps have ended"
_PLANNED: Final = seconds("planned_s", "Time from eligible to start: Planned or Reserved, else "
                          "from the times themselves; null where none is known.")  # fmt: skip
_ALLOC_CPUS: Final = Column("alloc_cpus")
_ALLOC_GPUS: Final = count("alloc_gpus", "GPUs allocated, of all kinds; null where the cluster "
                           "does not account for GPUs.")  # fmt: skip
_ALLOC_MEM: Final = size("alloc_mem_bytes", "Memory allocated, on all nodes: AllocTRES, else what "
                         "was asked for, once it started; null where that was 0, which is all of a "
                         "node.")  # fmt: skip
_MEM_USED: Final = size("mem_used_bytes", "Most memory that one step used on all its tasks; "
                        "estimated as the largest task times the tasks where Slurm does not say "
                        "it; null where that is not known of a step, where none was sampled, and "
                        f"{_NOT_YET}.")  # fmt: skip
_CPU: Final = seconds("cpu_s", "CPU seconds used: the sum over the steps where each is known, else "
                      "what the job's own row says; null where that is missing too or 0, as sacct "
                      f"prints it for what was not gathered, and {_NOT_YET}.")  # fmt: skip
_STEP: Final = "the most of any step and null where none was measured"

_JOBS_COLUMNS: Final = (
    *passed_on("job_id", "user", "state"),
    _ELAPSED,
    _ALLOC_CPUS,
    _CPU,
    _MEM_USED,
    *passed_on("name", "partition"),
    seconds("wait_s", "Time from submission to start; null where it has not started, where one of "
            "both is named in undecided_times, and where the start lies before the submission."),
    *passed_on("start_time", "account", "qos"),
    _ALLOC_MEM,
    _ALLOC_GPUS,
    _TIMELIMIT,
    seconds("cpu_time_s", "CPU seconds allocated: elapsed times CPUs or, without these, CPUTime."),
    _RESTART,
    *passed_on("submit_time", "eligible_time", "end_time", "undecided_times", "cluster", "group"),
    number("exit_code"),
    number("exit_signal"),
    _PLANNED,
    count("alloc_nodes", "Nodes allocated: AllocNodes, AllocTRES or, of a job that started, "
          "NNodes; null of one that has not."),
    *passed_on("req_nodes", "req_cpus"),
    size("req_mem_bytes", "Memory asked for, on all its CPUs or nodes together."),
    text("req_mem_per", "How the memory was asked for: per cpu, per node, or null for the whole "
         "job."),
    count("steps", "Steps that the accounting holds of the run, batch and extern too; null where "
          "it holds none of its cluster, as with -X."),
    count("ntasks", "Most tasks of a step; null where it is known of none."),
    seconds("user_cpu_s", "CPU seconds used in user mode: the sum over the steps where each is "
            "known, else what the job's own row says; null as cpu_s is."),
    seconds("system_cpu_s", "CPU seconds used in system mode: the sum over the steps where each is "
            "known, else what the job's own row says; null as cpu_s is."),
    size("max_rss_bytes", f"Resident memory of one task, {_STEP}."),
    size("max_disk_read_bytes", f"Bytes read by one task, {_STEP}."),
    size("max_disk_write_bytes", f"Bytes written by one task, {_STEP}."),
    amount("gpu_util_percent", "Utilisation of GPUs, 100 for each that was busy all the time: "
           f"{_STEP}; null {_NOT_YET}.", "%", ",.1f"),
    size("gpu_mem_used_bytes", f"Memory used on GPUs by all tasks, {_STEP}; null {_NOT_YET}."),
    *passed_on("node_list", "state_by"),
    *(number(name) for name in ("job_id_raw", "array_job_id", "array_task_id")),
    *(number(name) for name in ("het_job_id", "het_offset")),
    ENDED_OR_NOT,
    *passed_on("restarts"),
    text("impossible", "What cannot be, and is null in this row: times that are not in their order "
         "or a century apart, negative amounts, and those beyond any machine; null without such. "
         "slurm.job holds what sacct printed."),
    path("origin"),
    number("position"),
)  # fmt: skip

_EFFICIENCY_COLUMNS: Final = (
    *passed_on("job_id", "user", "state"),
    share("cpu_eff", "CPU seconds used as a share of those allocated; null where either is not "
          "known, as of a run that has not ended."),
    share("mem_eff", "Most memory that one step used as a share of the memory allocated; null "
          "where either is not known."),
    share("gpu_eff", "Utilisation of GPUs as a share of 100 % of each GPU allocated; null where "
          "that was not measured and where there are none."),
    share("timelimit_eff", "Elapsed time as a share of the time limit, of a run that has not ended "
          "until now; null where there is no limit or either is not known."),
    hours("cpu_hours", "CPU hours allocated: elapsed times CPUs or, without these, CPUTime."),
    _ELAPSED,
    *passed_on("name", "partition"),
    _ALLOC_CPUS,
    _CPU,
    _MEM_USED,
    _ALLOC_MEM,
    _ALLOC_GPUS,
    hours("gpu_hours", "GPU hours allocated: elapsed times GPUs; null where the cluster does not "
          "account for GPUs."),
    _TIMELIMIT,
    *passed_on("account", "qos"),
    _RESTART,
    *passed_on("submit_time", "start_time", "end_time", "cluster"),
)  # fmt: skip

_QUEUE_TIME_COLUMNS: Final = (
    *passed_on("job_id", "user"),
    seconds("wait_s", "Time from submission to start; where the submission is not known, or behind "
            "the start, planned_s."),
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
    count("jobs", "Runs submitted that day that have started and whose wait is known."),
    seconds("mean_wait_s", "Mean of their waits."),
    seconds("median_wait_s", "Median of their waits."),
    seconds("max_wait_s", "Longest of their waits."),
    seconds("total_wait_s", "Sum of their waits."),
)

OF_RUNS: Final = (
    of_jobs(
        "jobs", "runs", _JOBS_COLUMNS, SELECTION,
        "One row per job and run, with what its steps used rolled up.",
    ),
    of_jobs(
        "efficiency", "runs", _EFFICIENCY_COLUMNS, SELECTION,
        "How much of its CPUs, memory, GPUs and time limit each job used.",
    ),
    of_jobs(
        "queue_time", "runs", _QUEUE_TIME_COLUMNS, SELECTION,
        "How long each started job waited: start minus submit, with day, partition, QOS.",
    ),
    of_jobs(
        "worst_days", "runs", _WORST_DAYS_COLUMNS, waits("how many days"),
        "Waits per day of submission: mean, median and maximum; longest mean first.",
    ),
)  # fmt: skip
"""The views of which a row is a run, and of waits by day."""
