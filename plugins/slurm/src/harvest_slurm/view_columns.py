"""What the columns of the views of jobs mean, the most important first.

What has no doc here is passed on from slurm.job, whose columns explain it.
"""

from __future__ import annotations

from typing import Final

from harvest import Column

from .measures import RESOURCES

__all__ = ["ARRAYS", "EFFICIENCY", "ENDS", "FAILURES", "JOBS", "QUEUE_TIME", "USAGE", "WORST_DAYS"]


def _seconds(name: str, doc: str | None = None) -> Column:
    return Column(name, unit="s", format="seconds", doc=doc)


def _bytes(name: str, doc: str | None = None) -> Column:
    return Column(name, unit="bytes", format="bytes", doc=doc)


def _hours(name: str, doc: str, unit: str = "h") -> Column:
    return Column(name, unit=unit, format=",.1f", doc=doc)


def _share(name: str, doc: str) -> Column:
    return Column(name, unit="1", format="share", doc=doc)


def _number(name: str, doc: str | None = None) -> Column:
    """A number that names something: it is not counted with."""
    return Column(name, format="d", doc=doc)


def _passed_on(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name) for name in names)


_ELAPSED, _TIMELIMIT = _seconds("elapsed_s"), _seconds("timelimit_s")

_RESTART: Final = Column(
    "restart",
    doc="Which run of the job it is, by time of submission: 0 unless it was requeued; null where "
    "the job has several and these times are not known.",
)
_NOT_YET: Final = "until the run and all of its steps have ended"
_PLANNED: Final = _seconds(
    "planned_s",
    "Time from eligible to start: Planned or Reserved, else from the times themselves; null where "
    "none is known.",
)
_ALLOC_CPUS: Final = Column("alloc_cpus")
_ALLOC_GPUS: Final = Column(
    "alloc_gpus",
    doc="GPUs allocated, of all kinds; null where the cluster does not account for GPUs.",
)
_ALLOC_MEM: Final = _bytes(
    "alloc_mem_bytes",
    "Memory allocated, on all nodes: AllocTRES, else what was asked for, once it started; null "
    "where that was 0, which is all of a node.",
)
_MEM_USED: Final = _bytes(
    "mem_used_bytes",
    "Most memory that one step used on all its tasks; estimated as the largest task times the "
    "tasks where Slurm does not say it; null where that is not known of a step, where none was "
    f"sampled, and {_NOT_YET}.",
)
_CPU: Final = _seconds(
    "cpu_s",
    "CPU seconds used: the sum over the steps where each is known, else what the job's own row "
    "says; null where that is missing too or 0, as sacct prints it for what was not gathered, and "
    f"{_NOT_YET}.",
)
_STEP: Final = "the most of any step and null where none was measured"

_ENDED: Final = Column(
    "ended",
    doc="Whether it ended, by its state, else by its end; null where neither is known.",
)

JOBS: Final = (
    *_passed_on("job_id", "user", "state"),
    _ELAPSED,
    _ALLOC_CPUS,
    _CPU,
    _MEM_USED,
    *_passed_on("name", "partition"),
    _seconds("wait_s", "Time from submission to start; null where it has not started."),
    *_passed_on("start_time", "account", "qos"),
    _ALLOC_MEM,
    _ALLOC_GPUS,
    _TIMELIMIT,
    _seconds("cpu_time_s", "CPU seconds allocated: elapsed times CPUs or, without these, CPUTime."),
    _RESTART,
    *_passed_on("submit_time", "eligible_time", "end_time", "cluster", "group"),
    _number("exit_code"),
    _number("exit_signal"),
    _PLANNED,
    Column(
        "alloc_nodes",
        doc="Nodes allocated: AllocNodes, AllocTRES or, of a job that started, NNodes; null of one "
        "that has not.",
    ),
    *_passed_on("req_nodes", "req_cpus"),
    _bytes("req_mem_bytes", "Memory asked for, on all its CPUs or nodes together."),
    Column(
        "req_mem_per",
        doc="How the memory was asked for: per cpu, per node, or null for the whole job.",
    ),
    Column(
        "steps",
        doc="Steps that the accounting holds of the run, batch and extern too; null where it holds "
        "none of its cluster, as with -X.",
    ),
    Column("ntasks", doc="Most tasks of a step; null where it is known of none."),
    _seconds(
        "user_cpu_s",
        "CPU seconds used in user mode: the sum over the steps where each is known, else what the "
        "job's own row says; null as cpu_s is.",
    ),
    _seconds(
        "system_cpu_s",
        "CPU seconds used in system mode: the sum over the steps where each is known, else what "
        "the job's own row says; null as cpu_s is.",
    ),
    _bytes("max_rss_bytes", f"Resident memory of one task, {_STEP}."),
    _bytes("max_disk_read_bytes", f"Bytes read by one task, {_STEP}."),
    _bytes("max_disk_write_bytes", f"Bytes written by one task, {_STEP}."),
    Column(
        "gpu_util_percent",
        unit="%",
        format=",.1f",
        doc=f"Utilisation of GPUs, 100 for each that was busy all the time: {_STEP}; "
        f"null {_NOT_YET}.",
    ),
    _bytes("gpu_mem_used_bytes", f"Memory used on GPUs by all tasks, {_STEP}; null {_NOT_YET}."),
    *_passed_on("node_list", "state_by"),
    *(_number(name) for name in ("job_id_raw", "array_job_id", "array_task_id")),
    *(_number(name) for name in ("het_job_id", "het_offset")),
    _ENDED,
    Column("restarts"),
    Column("origin", format="path"),
    _number("position"),
)

EFFICIENCY: Final = (
    *_passed_on("job_id", "user", "state"),
    _share(
        "cpu_eff",
        "CPU seconds used as a share of those allocated; null where either is not known, as of a "
        "run that has not ended.",
    ),
    _share(
        "mem_eff",
        "Most memory that one step used as a share of the memory allocated; null where either is "
        "not known.",
    ),
    _share(
        "gpu_eff",
        "Utilisation of GPUs as a share of 100 % of each GPU allocated; null where that was not "
        "measured and where there are none.",
    ),
    _share(
        "timelimit_eff",
        "Elapsed time as a share of the time limit, of a run that has not ended until now; null "
        "where there is no limit or either is not known.",
    ),
    _hours("cpu_hours", "CPU hours allocated: elapsed times CPUs or, without these, CPUTime."),
    _ELAPSED,
    *_passed_on("name", "partition"),
    _ALLOC_CPUS,
    _CPU,
    _MEM_USED,
    _ALLOC_MEM,
    _ALLOC_GPUS,
    _hours(
        "gpu_hours",
        "GPU hours allocated: elapsed times GPUs; null where the cluster does not account for "
        "GPUs.",
    ),
    _TIMELIMIT,
    *_passed_on("account", "qos"),
    _RESTART,
    *_passed_on("submit_time", "start_time", "end_time", "cluster"),
)

_DAY: Final = (
    "in the zone that the jobs were harvested with, UTC where there were several, or that of the "
    "setting timezone"
)

QUEUE_TIME: Final = (
    *_passed_on("job_id", "user"),
    _seconds(
        "wait_s",
        "Time from submission to start; where the submission is not known, planned_s.",
    ),
    *_passed_on("partition", "qos", "start_time"),
    Column("date", doc=f"Day of submission, else of the start, {_DAY}."),
    *_passed_on("state", "req_nodes"),
    _ELAPSED,
    _TIMELIMIT,
    _PLANNED,
    *_passed_on("name", "account", "submit_time", "eligible_time"),
    _RESTART,
    Column("cluster"),
)

WORST_DAYS: Final = (
    Column("date", doc=f"Day of submission, else of the start, {_DAY}."),
    Column("jobs", doc="Runs submitted that day that have started and whose wait is known."),
    _seconds("mean_wait_s", "Mean of their waits."),
    _seconds("median_wait_s", "Median of their waits."),
    _seconds("max_wait_s", "Longest of their waits."),
    _seconds("total_wait_s", "Sum of their waits."),
)

_KEYS: Final = (
    Column(
        "month",
        doc=f"Month that the runs ended in, else started or were submitted in: 2024-01, {_DAY}.",
    ),
    *_passed_on("cluster", "account", "user", "partition", "qos"),
)
"""What jobs are grouped by."""

_RAN: Final = "runs that ran"
_HELD: Final = {
    "cpu": ("CPU hours", "elapsed times CPUs", "CPU time of their steps", _RAN),
    "gpu": (
        "GPU hours",
        "elapsed times GPUs",
        "elapsed times the utilisation of the GPUs",
        "runs that ran with GPUs",
    ),
    "mem": (
        "GiB hours of memory",
        "elapsed times memory",
        "elapsed times the most memory that one step used",
        _RAN,
    ),
    "timelimit": ("Hours of time limits", "the limits", "elapsed time", "completed runs"),
}
"""Resources: what they are called, what is given and used, and which runs have it."""


def _of_resource(name: str, unit: str) -> dict[str, Column]:
    """Columns of one resource by what they are of it: given, used, wasted and so on."""
    said, given, used, runs = _HELD[name]
    shown = "GiB h" if name == "mem" else "h"
    both = f"the {runs} of which both are known"
    return {
        "": _hours(
            f"{name}_{unit}",
            f"{said} allocated to the {runs}: {given}, as far as known; "
            "0 only where there are none.",
            shown,
        ),
        "used": _hours(
            f"{name}_used_{unit}",
            f"{said} that {both} used: {used}; null without such runs.",
            shown,
        ),
        "wasted": _hours(
            f"{name}_wasted_{unit}",
            f"What was allocated minus what was used, of {both}; below 0 where more was used, "
            "null without such runs.",
            shown,
        ),
        "unknown": _hours(
            f"{name}_unknown_{unit}",
            f"{said} allocated to the {runs} whose use is not known, as far as known: with those "
            f"used and wasted it is {name}_{unit}. 0 where the use of all is known, null where of "
            "no other it is known what was allocated.",
            shown,
        ),
        "jobs": Column(
            f"{name}_unknown_jobs",
            doc=f"The {runs} of which what was allocated or what was used is not known, and runs "
            "of which it is not known whether they are among these.",
        ),
        "eff": _share(
            f"{name}_eff",
            f"{name}_used_{unit} as a share of used and wasted ones; null where these are 0 or not "
            "known.",
        ),
        "share": _share(
            f"{name}_wasted_share",
            f"{name}_wasted_{unit} as a share of those used and wasted by all groups together; "
            "null where these are 0 or the group's are not known.",
        ),
    }


_OF: Final = {resource.name: _of_resource(resource.name, resource.unit) for resource in RESOURCES}


def _others(*shown: tuple[str, str], without: str | None = None) -> tuple[Column, ...]:
    """The columns of all resources but those shown already."""
    return tuple(
        column
        for name, columns in _OF.items()
        for what, column in columns.items()
        if (name, what) not in shown and what != without
    )


_LOOKED_AT: Final = (("cpu", ""), ("cpu", "eff"), ("cpu", "wasted"), ("cpu", "share"))

_ENDS: Final = {
    "completed": "completed",
    "failed": "failed with an exit code or a signal",
    "out_of_memory": "were ended for lack of memory",
    "timeout": "reached their time limit or their deadline",
    "node_fail": "ended as a node failed or did not boot, or could not be launched or reconfigured",
    "cancelled": "were cancelled or revoked",
    "preempted": "were preempted",
    "requeued": "were requeued",
}

_OR_NULL: Final = "; null where none is known to and of some the state is not known"

USAGE: Final = (
    *_KEYS,
    Column("jobs", doc="Runs of jobs; a requeued job counts once per run."),
    *(_OF[name][what] for name, what in _LOOKED_AT),
    Column(
        "failed",
        doc="Runs that failed with an exit code or a signal, no other kind of failure"
        + _OR_NULL
        + ".",
    ),
    _seconds("mean_wait_s", "Mean wait of the runs in waited_jobs; null without any."),
    _OF["gpu"][""],
    _OF["gpu"]["eff"],
    _OF["mem"]["eff"],
    _OF["timelimit"]["eff"],
    Column("started", doc="Runs that have started; 0 only where none has."),
    *(
        Column(name, doc=f"Runs that {meaning}{_OR_NULL}.")
        for name, meaning in _ENDS.items()
        if name != "failed"
    ),
    Column("not_ended", doc=f"Runs in another state: they wait, run, or are suspended{_OR_NULL}."),
    Column("state_unknown", doc="Runs whose state is not known."),
    _hours(
        "failed_cpu_hours",
        "CPU hours allocated to the runs in failed, out_of_memory, timeout and node_fail, as far "
        "as they are known; 0 only where there are no such runs.",
    ),
    _hours(
        "not_ended_cpu_hours",
        "CPU hours allocated until now to the runs in not_ended, a part of cpu_unknown_hours, as "
        "far as they are known; 0 only where there are none.",
    ),
    _seconds("median_wait_s", "Median wait of the runs in waited_jobs; null without any."),
    _seconds("max_wait_s", "Longest wait of the runs in waited_jobs; null without any."),
    _seconds("total_wait_s", "Sum of the waits of the runs in waited_jobs; null without any."),
    Column(
        "waited_jobs",
        doc="Runs that have started and whose wait is known: from submission to start, else "
        "Planned; 0 only where none has started.",
    ),
    _seconds("median_run_s", "Median elapsed time of the runs that ran and ended."),
    Column(
        "compared_jobs",
        doc="Runs that ran and ended, whose wait is known; null without any.",
    ),
    _seconds("median_compared_wait_s", "Median wait of the runs in compared_jobs."),
    _seconds("median_compared_run_s", "Median elapsed time of the runs in compared_jobs."),
    *_others(*_LOOKED_AT, ("gpu", ""), ("gpu", "eff"), ("mem", "eff"), ("timelimit", "eff")),
)

_BY_END: Final = (
    *_passed_on("user"),
    Column("jobs", doc="Runs that ended so; a requeued job counts once per run."),
    _hours(
        "cpu_hours",
        "CPU hours allocated to these runs, as far as they are known; null where of none.",
    ),
    _number("exit_code"),
    _number("exit_signal"),
    Column("last_job", doc="Id of the run among them that ended last."),
    Column(
        "run_again",
        doc="Runs among them whose job was run once more; null where that is not known: where "
        "the times of submission are not, and where the cluster has no job of several runs, as "
        "sacct lists the earlier ones only with --duplicates.",
    ),
    _seconds("median_run_s", "Median elapsed time of these runs; null where none is known."),
    Column("cpu_unknown_jobs", doc="Runs among them whose CPU hours are not known."),
    *_passed_on("cluster"),
    Column(
        "ended_jobs",
        doc="All runs of the period and choice of which it is known how they ended; the same in "
        "each row, null where there are none.",
    ),
    _hours(
        "ended_cpu_hours",
        "CPU hours allocated to the runs in ended_jobs, as far as they are known; the same in each "
        "row.",
    ),
)

ENDS: Final = (Column("state", doc="Their state; null where it is not known."), *_BY_END, _ENDED)

FAILURES: Final = (
    Column("state", doc="How the runs ended, other than completed; null where it is not known."),
    *_BY_END,
)

ARRAYS: Final = (
    _number("array_job_id"),
    *_passed_on("user", "name"),
    Column(
        "tasks",
        doc="Tasks of the array whose last run is looked at, each once; those that wait together "
        "in one row of the accounting count as one; null where several runs of one task have no "
        "time of submission.",
    ),
    Column("completed", doc=f"Tasks whose last run completed{_OR_NULL}."),
    Column(
        "failed",
        doc="Tasks whose last run failed, lacked memory, reached its time limit, or lost its node"
        f"{_OR_NULL}.",
    ),
    _OF["cpu"][""],
    _OF["cpu"]["eff"],
    _seconds(
        "median_run_s",
        "Median elapsed time of the last runs of the tasks that ran and ended; null without any.",
    ),
    _seconds("max_run_s", "Longest of these times; null without any."),
    Column("ended", doc=f"Tasks whose last run ended, however it did{_OR_NULL}."),
    Column("submit_time", doc="When the first of its runs was submitted."),
    *_passed_on("account", "partition", "qos", "cluster"),
    *_others(("cpu", ""), ("cpu", "eff"), without="share"),
)
"""Hours are those of all runs of all tasks."""
