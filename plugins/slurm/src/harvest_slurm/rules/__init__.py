"""Rules on jobs: what is wasted and by whom, why runs fail, who waits, how arrays go.

Limits are those of the examples in the documentation of Princeton's Job Defense Shield, where it
has one for the matter.  Only what was measured is judged: a job whose use is not known wastes
nothing, and where it is known of no job, a rule could not judge.  Nor can it where the name is not
known of those whom it would name: ``partition = partition`` is null there.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from harvest import Rule, Threshold

from ..states import ENDS
from ..views.declared.common import RESOURCES, Resource
from . import judgements

if TYPE_CHECKING:
    from harvest.findings import Severity

_USE: Final = ("slurm.usage", "slurm.summary")
_FAILED: Final = (*_USE, "slurm.failures")
_SHIELD: Final = "Princeton's Job Defense Shield"
_GATHERED: Final = "of jobs and steps (no -X), with a JobAcctGatherType other than none"
_MEASURED: Final = {
    "cpu": (
        "elapsed time times CPUs",
        "CPU time of its steps",
        f"State or End, Elapsed, AllocCPUS, and TotalCPU {_GATHERED}; a run that has not ended, or "
        "has a CPU time of 0, was not measured",
    ),
    "mem": (
        "elapsed time times memory allocated",
        "elapsed time times the most memory of one of its steps",
        "State or End, Elapsed, AllocTRES or ReqMem, and TRESUsageInTot, or MaxRSS and NTasks, "
        f"{_GATHERED}; a run that has not ended was not measured",
    ),
    "gpu": (
        "elapsed time times GPUs",
        "elapsed time times the utilisation of its GPUs",
        "State or End, Elapsed, AllocTRES with gres/gpu (AccountingStorageTRES), and "
        "TRESUsageInTot of steps (no -X) with gres/gpuutil (AutoDetect=nvml in gres.conf); a run "
        "that has not ended was not measured",
    ),
    "timelimit": ("time limit", "elapsed time", "State, Timelimit (other than UNLIMITED), Elapsed"),
}
"""Of a resource: what is given, what is used, and what it takes to know that."""

_CPU, _GPU, _MEM, _TIMELIMIT = RESOURCES
_ENDED: Final = "ended is null or ended"
_OF_ARRAYS: Final = partial(
    Rule,
    view="slurm.arrays",
    among="ended is null or ended > 0",
    judged="arrays with tasks that ended, by the last run of each; the others are left out",
)
_SHARE: Final = Threshold(0.01, "share of all runs that ended, from which it is worth a word")


def _waste(
    name: str, resource: Resource, unit: str, doc: str, advice: str, limits: str, *,
    share: float, hours: float, much: float,
    severities: tuple[Severity, Severity] = ("high", "medium"),
) -> Rule:  # fmt: skip
    of, wasted = resource.name, resource.column("wasted")
    held, used, needs = _MEASURED[of]
    whose = "completed runs" if of == "timelimit" else "runs that ended"
    return Rule(
        name=f"slurm.{name}",
        doc=f"Users who were given many {unit} and used a small share of them: {doc}.",
        view="slurm.usage",
        settings={"by": "user,account"},
        among=f"{of}_unknown_jobs > 0 or {resource.column()} > 0",
        where=f'"user" = "user" and {wasted} >= {{hours}} and {of}_eff < {{share}}',
        columns=(
            "user", "account", wasted, f"{of}_eff", f"{of}_wasted_share", f"{of}_unknown_jobs",
            "jobs",
        ),
        judge=partial(judgements.wasted, resource=resource, unit=unit, severities=severities),
        advice=advice,
        reference=f"{_SHIELD}, documentation of its alerts: {limits}; other limits are this "
        "project's choice",
        thresholds={
            "share": Threshold(share, "share of what was given that should be used"),
            "hours": Threshold(hours, f"{unit} wasted by a user, at least"),
            "much": Threshold(much, "share of all, wasted by them together, that is much"),
        },
        numerator=f"{unit} wasted: {held}, minus {used}",
        denominator=f"{unit} given to the same runs: {held}",
        judged=f"users and accounts with {unit}, by those of their {whose} of which both are "
        f"known; the hours of the others are in {resource.column('unknown')} of slurm.usage, and "
        "count as neither",
        unable=f"it needs User, {needs}",
        reports=_USE,
    )  # fmt: skip


def _ends(
    name: str, states: tuple[str, ...], words: str, doc: str, advice: str, *, much: float,
    hidden_without_repeats: bool = False,
) -> Rule:  # fmt: skip
    listed = ", ".join(f"'{state}'" for state in states)
    return Rule(
        name=f"slurm.{name}",
        doc=doc,
        view="slurm.ends",
        among=_ENDED,
        where=f"state in ({listed})",
        columns=(
            "state", "user", "jobs", "exit_code", "exit_signal", "cpu_hours", "cpu_unknown_jobs",
            "run_again", "last_job", "ended_jobs", "ended_cpu_hours",
        ),
        judge=partial(
            judgements.ended_badly, words=words, hidden_without_repeats=hidden_without_repeats
        ),
        advice=advice,
        reference="sacct(1), job state codes; shares are this project's choice",
        thresholds={
            "share": _SHARE,
            "much": Threshold(much, "share of all CPU hours that is much"),
            "hours": Threshold(100, "CPU hours that are much, at least"),
        },
        numerator=f"runs that {words}, and their CPU hours, where they are known",
        denominator="runs that ended, and their CPU hours, where they are known",
        judged="runs of which it is known how they ended; those that have not ended are left out",
        unable="it needs the field State of sacct",
        reports=_FAILED,
    )  # fmt: skip


RULES: Final = (
    _waste(
        "cpu_waste", _CPU, "CPU hours",
        "while they were idle, nobody else could have them",
        "Ask for as many CPUs as the program keeps busy (compare runs with 1, 2 and 4), and check "
        "that it starts as many threads or ranks as it was given.",
        "60 % and 100 CPU hours",
        share=0.6, hours=100, much=0.25,
    ),
    _waste(
        "memory_waste", _MEM, "GiB hours of memory",
        "jobs wait for memory that others do not use",
        "Ask for the most that a run used, and a fifth more: `harvest slurm job ID DATASET` shows "
        "it.",
        "35 %",
        share=0.35, hours=1000, much=0.5,
    ),
    _waste(
        "gpu_waste", _GPU, "GPU hours",
        "while they were idle, nobody else could have them",
        "Ask for one GPU until a program is known to use two, feed it with more data at once, and "
        "do not hold GPUs in interactive jobs.",
        "25 % and 50 GPU hours",
        share=0.25, hours=50, much=0.1,
    ),
    _waste(
        "timelimit_waste", _TIMELIMIT, "hours of run time",
        "jobs with long limits start later, and the scheduler plans worse",
        "Set --time to the run time and a margin: short jobs start earlier, in the gaps that the "
        "scheduler fills.",
        "20 %",
        share=0.2, hours=1000, much=0.75, severities=("medium", "low"),
    ),
    _ends(
        "failed_jobs", ENDS["failed"], "ended in the state FAILED",
        "Runs that ended with an exit code that is not 0.",
        "See why and where with `harvest report slurm.failures DATASET`; look at the first lines "
        "of an error in the output of last_job, whose failed step `harvest slurm job` shows.",
        much=0.1,
    ),
    _ends(
        "out_of_memory", ENDS["out_of_memory"], "ran out of memory",
        "Runs that were killed since they used more memory than they asked for.",
        "Ask for more memory for these jobs alone, or give each task less to do.",
        much=0.05,
    ),
    _ends(
        "timeouts", ENDS["timeout"], "were stopped at their time limit",
        "Runs that were stopped before they were done: what they had not saved is lost.",
        "Save the state regularly and continue from it, or ask for more time.",
        much=0.1,
    ),
    _ends(
        "node_failures", ENDS["node_fail"], "were lost with their node",
        "Runs that ended since a node failed, or did not start.",
        "Look at the nodes: `harvest view slurm.reasons DATASET --set by=node`; one that fails "
        "often should be drained.",
        much=0.02, hidden_without_repeats=True,
    ),
    Rule(
        name="slurm.requeues",
        doc="Runs that were not the last of their job: what they did had to be done again.",
        view="slurm.ends",
        among=_ENDED,
        where="run_again > 0 and ended_jobs > 0",
        columns=("state", "user", "run_again", "jobs", "cpu_hours", "last_job", "ended_jobs"),
        judge=judgements.run_again,
        advice="Save the state regularly so that a run continues from it; look into why nodes fail "
        "where that is the cause.",
        reference="sacct(1), --duplicates; shares are this project's choice",
        thresholds={
            "share": _SHARE,
            "much": Threshold(0.1, "share of them that is much"),
        },
        numerator="runs whose job was run once more",
        denominator="runs that ended",
        judged="runs that ended, of jobs all of whose runs have a time of submission",
        unable="it needs State, and the earlier runs of jobs, which sacct lists with --duplicates "
        "(-D), with Submit, or Restarts, which shows that there were none",
        reports=_USE,
    ),
    Rule(
        name="slurm.long_waits",
        doc="Partitions where half of the jobs wait longer than jobs run.",
        view="slurm.usage",
        settings={"by": "cluster,partition"},
        among="started is null or started > 0",
        where="partition = partition and compared_jobs >= {jobs} "
        "and median_compared_wait_s >= {seconds} "
        "and median_compared_wait_s > {ratio} * median_compared_run_s",
        columns=("cluster", "partition", "median_compared_wait_s", "median_compared_run_s",
                 "max_wait_s", "compared_jobs", "waited_jobs"),
        judge=judgements.long_waits,
        advice="Use another partition, ask for less time or fewer resources so that the scheduler "
        "finds a gap, or join short jobs; `harvest report slurm.queue_time` shows the days.",
        reference="wait against run time, as the bounded slowdown of D. Feitelson et al., Theory "
        "and Practice in Parallel Job Scheduling (1997); limits are this project's choice",
        thresholds={
            "ratio": Threshold(1, "times the median run time that jobs may wait"),
            "seconds": Threshold(600, "seconds of waiting that do not matter"),
            "jobs": Threshold(20, "jobs that ran and ended in the partition, at least"),
        },
        numerator="median wait, s, from submission to start, else Planned or Reserved",
        denominator="median run time of the same runs, s",
        judged="partitions where jobs started, by their runs that ended and whose wait is known; "
        "how long those run that have not ended is not known",
        unable="it needs Partition, Submit (or Planned), Start, Elapsed, State or End, and runs "
        "that ended",
        reports=(*_USE, "slurm.queue_time"),
    ),
    _OF_ARRAYS(
        name="slurm.short_array_tasks",
        doc="Arrays of many tasks that hardly run: starting them takes as long as their work, and "
        "keeps the scheduler from other jobs.",
        where="ended >= {tasks} and median_run_s < {seconds}",
        columns=("cluster", "array_job_id", "user", "name", "ended", "median_run_s", "max_run_s"),
        judge=judgements.short_tasks,
        advice="Let one task do the work of many, one after the other, so that it runs half an "
        "hour or longer.",
        reference="Brigham Young University, Office of Research Computing: problems arise when "
        "jobs run less than 10 minutes",
        thresholds={
            "tasks": Threshold(100, "tasks of an array, at least"),
            "seconds": Threshold(600, "seconds that half of them should run"),
            "many": Threshold(1000, "tasks of such arrays together that are many"),
        },
        numerator="median run time of the tasks that ended, s",
        unable="it needs State, and Elapsed, or Start and End",
        reports=_USE,
    ),
    _OF_ARRAYS(
        name="slurm.failed_arrays",
        doc="Arrays most of whose tasks failed: one mistake, made many times.",
        where="ended >= {tasks} and failed > {share} * ended",
        columns=("cluster", "array_job_id", "user", "name", "ended", "failed", "cpu_hours"),
        judge=judgements.failed_arrays,
        advice="Try one task before the whole array (--array=0), and look at the output of one "
        "that failed: the cause is probably that of all.",
        reference="limits are this project's choice",
        thresholds={
            "tasks": Threshold(10, "tasks that ended, at least"),
            "share": Threshold(0.5, "share of them that may fail"),
        },
        numerator="tasks that failed, lacked memory, reached their time limit or lost their node",
        denominator="tasks that ended",
        unable="it needs the field State of sacct",
        reports=_FAILED,
    ),
    _OF_ARRAYS(
        name="slurm.idle_arrays",
        doc="Arrays whose tasks use a small share of the CPUs they ask for.",
        where="ended >= {tasks} and cpu_wasted_hours >= {hours} and cpu_eff < {share}",
        columns=("cluster", "array_job_id", "user", "name", "ended", "cpu_wasted_hours", "cpu_eff",
                 "cpu_unknown_jobs", "mem_eff"),
        judge=judgements.idle_arrays,
        advice="Correct the request of the array: --cpus-per-task is what one task keeps busy.",
        reference=f"{_SHIELD}, low CPU efficiency; the share is this project's choice",
        thresholds={
            "tasks": Threshold(10, "tasks that ended, at least"),
            "share": Threshold(0.25, "share of the CPUs that should be used"),
            "hours": Threshold(100, "CPU hours wasted by an array, at least"),
        },
        numerator="CPU time of the steps of all runs that ended and whose use is known",
        denominator="elapsed time times CPUs of the same runs",
        unable=f"it needs {_MEASURED['cpu'][2]}",
        reports=_USE,
    ),
    Rule(
        name="slurm.errors_reported",
        doc="Inputs in which sacct itself says that it failed: jobs may be missing.",
        view="notes",
        among="source = 'slurm'",
        where="source = 'slurm' and note like 'sacct says: %error: %'",
        columns=("origin", "note"),
        judge=judgements.errors_said,
        advice="Mend the cause (does `sacctmgr show cluster` answer?), ask sacct again and harvest "
        "its new output.",
        reference="Slurm's REST API, errors of a response",
        numerator="errors that sacct printed",
        judged="notes on inputs, made when they were read",
        unable="it is never unable: what sacct said is a note of the run",
        reports=_FAILED,
    ),
)  # fmt: skip
