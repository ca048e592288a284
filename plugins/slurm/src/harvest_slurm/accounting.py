"""How Slurm jobs fill the frame of job runs, and the words for sacct in texts."""

from typing import Final

from harvest_accounting.job_runs import MORE, JobRuns, Words

_GATHERED: Final = "for jobs and steps (no -X; JobAcctGatherType other than none)"
_WITH_STEPS: Final = "for jobs and steps, so without -X"
_NOT_YET: Final = "until the run and all of its steps have ended"
_STEP: Final = "the maximum of all steps; null where none was measured"
_AS_CPU: Final = "computed and null in the same way as cpu_s"
_CPU_NEEDS: Final = f"State or End, Elapsed, AllocCPUS, and TotalCPU {_GATHERED}"
_NO_STATE: Final = "the dump has no State: harvest with sacct --format=State,..."
_STATE_CODES: Final = {
    "reference": "sacct(1), job state codes; shares are this project's choice",
    "unable": _NO_STATE,
}

_COLUMNS: Final = {
    "restart": "Number of the run within its job, by submission time: 0 unless it was requeued. "
    "Null where a job has several runs and no submission times.",
    "planned_s": "Time from eligible to start: Planned or Reserved, else computed from both times; "
    "null where unknown.",
    "alloc_mem_bytes": "Memory allocated on all nodes: AllocTRES, else the request once the run "
    "started. Null where the request was 0, which means all of a node.",
    "mem_used_bytes": "Most memory that one step used on all its tasks, else estimated as the "
    "largest task times the number of tasks. Null where unknown for a step, where none was "
    f"sampled, and {_NOT_YET}.",
    "cpu_s": "CPU seconds used: the sum over the steps where each is known, else that of the job's "
    "row. Null where both are missing or 0 (sacct prints 0 for values not gathered), and "
    f"{_NOT_YET}.",
    "jobs.wait_s": "Time from submission to start. Null before the start, where undecided_times "
    "names one of both, and where the start is before the submission.",
    "cpu_time_s": "CPU seconds allocated: elapsed time times CPUs, else CPUTime.",
    "alloc_nodes": "Nodes allocated: AllocNodes, AllocTRES or, for a job that started, NNodes; "
    "null before the start.",
    "req_mem_per": "Unit of the memory request: cpu, node, or null for the whole job.",
    "steps": "Recorded steps of the run, batch and extern included; null where the cluster has "
    "none, for example with -X.",
    "ntasks": "Most tasks of a step; null where unknown for all.",
    "user_cpu_s": f"CPU seconds used in user mode, {_AS_CPU}.",
    "system_cpu_s": f"CPU seconds used in system mode, {_AS_CPU}.",
    "max_rss_bytes": f"Resident memory of one task, {_STEP}.",
    "max_disk_read_bytes": f"Bytes read by one task, {_STEP}.",
    "max_disk_write_bytes": f"Bytes written by one task, {_STEP}.",
    "gpu_util_percent": "Utilisation of GPUs, 100 for each GPU that was always busy: "
    f"{_STEP}, and {_NOT_YET}.",
    "gpu_mem_used_bytes": f"Memory used on GPUs by all tasks, {_STEP}, and {_NOT_YET}.",
    "impossible": "Impossible values, which are null in this row: times in the wrong order or a "
    "century apart, amounts that are negative or beyond any machine. slurm.job keeps what sacct "
    "printed.",
    "efficiency.cpu_hours": "CPU hours allocated: elapsed time times CPUs, else CPUTime.",
    "waited_jobs": "Runs that started, with a known wait: from submission to start, else Planned; "
    "0 only where none has started.",
    "run_again": "Runs among them whose job ran again. Null without submission times, and where "
    "the cluster has no job with several runs: sacct lists earlier runs only with --duplicates.",
}

_FIELDS: Final = {
    "state": "State",
    "cpu_time_s": "Elapsed,AllocCPUS",
    "cpu_s": f"TotalCPU ({_WITH_STEPS})",
    "mem_used_bytes": f"TRESUsageInTot,MaxRSS,NTasks ({_WITH_STEPS})",
    "alloc_mem_bytes": "AllocTRES,ReqMem",
    "alloc_gpus": "AllocTRES (with gres/gpu in AccountingStorageTRES)",
    "gpu_util_percent": f"TRESUsageInTot ({_WITH_STEPS}). The cluster must gather gres/gpuutil "
    "(AutoDetect=nvml in gres.conf)",
    "timelimit_s": "Timelimit",
    "submit_time": "Submit",
    "start_time": "Start",
    "exit_code": "ExitCode",
    "node_list": "NodeList",
    "user": "User",
    "account": "Account",
    "partition": "Partition",
    "qos": "QOS",
}

_RULES: Final = {
    "cpu_waste": {"unable": f"the dump needs User, {_CPU_NEEDS}"},
    "memory_waste": {
        "advice": "Request the most that a run used plus 20 %: `harvest slurm job ID DATASET` "
        "shows it.",
        "unable": "the dump needs User, State or End, Elapsed, AllocTRES or ReqMem, TRESUsageInTot "
        f"or MaxRSS and NTasks, {_GATHERED}",
    },
    "gpu_waste": {
        "unable": "the dump needs User, State or End, Elapsed, AllocTRES with gres/gpu "
        "(AccountingStorageTRES), and TRESUsageInTot of steps (no -X) with gres/gpuutil "
        "(AutoDetect=nvml in gres.conf)",
    },
    "timelimit_waste": {
        "advice": "Set --time to the run time plus a margin. Short jobs start earlier, in the gaps "
        "that the scheduler fills.",
        "unable": "the dump needs User, State, Timelimit (other than UNLIMITED), Elapsed",
    },
    "failed_jobs": {
        **_STATE_CODES,
        "advice": "Run `harvest report slurm.failures DATASET` to see why and where. `harvest "
        "slurm job ID DATASET` shows the failed step of a run.",
    },
    **dict.fromkeys(("out_of_memory", "timeouts", "node_failures"), _STATE_CODES),
    "requeues": {
        "reference": "sacct(1), --duplicates; shares are this project's choice",
        "unable": "the dump needs State, Submit and the earlier runs of jobs (harvest with sacct "
        "--duplicates), or Restarts",
    },
    "long_waits": {
        "numerator": "median wait, s, from submission to start, else Planned or Reserved",
        "unable": "the dump needs Partition, Submit (or Planned), Start, Elapsed, State or End, "
        "and ended runs",
    },
    "short_array_tasks": {"unable": "the dump needs State, and Elapsed or both Start and End"},
    "failed_arrays": {
        "advice": "Test one task (--array=0) before you submit the whole array. Look at the output "
        "of one failed task: the others probably share its cause.",
        "unable": _NO_STATE,
    },
    "idle_arrays": {
        "advice": "Set --cpus-per-task to the number of CPUs that one task keeps busy.",
        "numerator": "CPU time of the steps of all ended runs with known use",
        "unable": f"the dump needs {_CPU_NEEDS}",
    },
}

JOB_RUNS: Final = JobRuns(
    scheduler="slurm",
    record_type="slurm.job",
    fills=MORE,
    source="slurm",
    runs="harvest_slurm.runs:jobs",
    failed_steps="harvest_slurm.runs:failed_first",
    without_nodes="None assigned",
    words=Words(
        scheduler="Slurm",
        record="The dump",
        unit="step",
        remedy="harvest with sacct --format={}",
        fields=_FIELDS,
        columns=_COLUMNS,
        rules=_RULES,
    ),
)
"""The declaration of Slurm jobs for the views, reports and rules of ``harvest_accounting``."""
