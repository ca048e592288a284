"""Rules on jobs: unused resources, failures, waits and arrays.

Thresholds are those of Princeton's Job Defense Shield if its documentation has an example. Rules
check only measured jobs. A rule lacks data if no job was measured, and if the user or partition to
name is unknown: for that, ``partition = partition`` is null. Texts are general; the texts of a
scheduler are in its ``Words``.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import attrs

from harvest import Rule, Threshold

from ..job_runs import ENDS, JobRuns, Whose, of_scheduler
from ..views.declared.common import RESOURCES, Resource
from . import judgements

if TYPE_CHECKING:
    from harvest.findings import Severity

_USE: Final = ("usage", "summary")
_FAILED: Final = (*_USE, "failures")
_SHIELD: Final = "Princeton's Job Defense Shield"
_MEASURED: Final = {
    "cpu": (
        "elapsed time times CPUs",
        "CPU time of its {unit}s",
        "user, state or end_time, elapsed_s, alloc_cpus and cpu_s",
    ),
    "mem": (
        "elapsed time times memory allocated",
        "elapsed time times the most memory of one of its {unit}s",
        "user, state or end_time, elapsed_s, alloc_mem_bytes and mem_used_bytes",
    ),
    "gpu": (
        "elapsed time times GPUs",
        "elapsed time times the utilisation of its GPUs",
        "user, state or end_time, elapsed_s, alloc_gpus and gpu_util_percent",
    ),
    "timelimit": ("time limit", "elapsed time", "user, state, timelimit_s and elapsed_s"),
}
"""By resource: what is allocated, what is used, and the columns that show it."""

_CPU, _GPU, _MEM, _TIMELIMIT = RESOURCES
_ENDED: Final = "ended is null or ended"
_OF_ARRAYS: Final = partial(
    Rule,
    view="arrays",
    among="ended is null or ended > 0",
    judged="arrays with tasks that ended, by the last run of each task",
)
_SHARE: Final = Threshold(0.01, "smallest share of all ended runs that is reported")


def _waste(
    name: str, resource: Resource, unit: str, doc: str, advice: str, limits: str, *,
    share: float, hours: float, much: float,
    severities: tuple[Severity, Severity] = ("high", "medium"),
) -> Rule:  # fmt: skip
    of, wasted = resource.name, resource.column("wasted")
    held, used, needs = _MEASURED[of]
    whose = "completed runs" if of == "timelimit" else "runs that ended"
    return Rule(
        name=name,
        doc=f"Users who used a small share of their {unit}: {doc}.",
        view="usage",
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
            "share": Threshold(share, "share of the allocated that should be used"),
            "hours": Threshold(hours, f"fewest unused {unit} of a user that are reported"),
            "much": Threshold(much, "unused share of all that makes the severity higher"),
        },
        numerator=f"unused {unit}: {held}, minus {used}",
        denominator=f"{unit} of the same runs: {held}",
        judged=f"users and accounts with {unit}, by their {whose} with known use; the hours of "
        f"other runs are in {resource.column('unknown')} of {{prefix}}.usage",
        unable=f"{{prefix}}.jobs needs {needs}",
        reports=_USE,
    )  # fmt: skip


def _ends(
    name: str, ends: tuple[str, ...], words: str, doc: str, advice: str, *, much: float,
    of: str = "state", hidden_without_repeats: bool = False,
) -> Rule:  # fmt: skip
    listed = ", ".join(f"'{end}'" for end in ends)
    return Rule(
        name=name,
        doc=doc,
        view="ends",
        among=_ENDED,
        where=f"{of} in ({listed})",
        columns=(
            "state", "reason", "user", "jobs", "exit_code", "exit_signal", "cpu_hours",
            "cpu_unknown_jobs", "run_again", "last_job", "ended_jobs", "ended_cpu_hours",
        ),
        judge=partial(
            judgements.ended_badly, words=words, hidden_without_repeats=hidden_without_repeats
        ),
        advice=advice,
        reference="shares are this project's choice",
        thresholds={
            "share": _SHARE,
            "much": Threshold(much, "share of all CPU hours that makes the severity high"),
            "hours": Threshold(100, "fewest CPU hours that make the severity high"),
        },
        numerator=f"runs that {words}, and their CPU hours where recorded",
        denominator="runs that ended, and their CPU hours where recorded",
        judged="ended runs with a known final state",
        unable="{prefix}.jobs needs state",
        reports=_FAILED,
    )  # fmt: skip


_OF_USE: Final = (
    _waste(
        "cpu_waste", _CPU, "CPU hours",
        "nobody else could use those CPUs",
        "Request as many CPUs as the program keeps busy: compare runs with 1, 2 and 4. Check that "
        "it starts one thread or rank per CPU.",
        "60 % and 100 CPU hours",
        share=0.6, hours=100, much=0.25,
    ),
    _waste(
        "memory_waste", _MEM, "GiB hours of memory",
        "other jobs wait for that memory",
        "Request the most that a run used plus 20 %: mem_used_bytes in `harvest view {prefix}.jobs "
        "DATASET` shows it.",
        "35 %",
        share=0.35, hours=1000, much=0.5,
    ),
    _waste(
        "gpu_waste", _GPU, "GPU hours",
        "nobody else could use those GPUs",
        "Request one GPU until the program is known to use two. Increase the batch size, and do "
        "not hold GPUs in interactive jobs.",
        "25 % and 50 GPU hours",
        share=0.25, hours=50, much=0.1,
    ),
    _waste(
        "timelimit_waste", _TIMELIMIT, "hours of time limit",
        "jobs with long limits start later",
        "Request the run time plus a margin. Short jobs start earlier, in the gaps that the "
        "scheduler fills.",
        "20 %",
        share=0.2, hours=1000, much=0.75, severities=("medium", "low"),
    ),
    Rule(
        name="requeues",
        doc="Runs that were not the last of their job: their work had to be repeated.",
        view="ends",
        among=_ENDED,
        where="run_again > 0 and ended_jobs > 0",
        columns=("state", "user", "run_again", "jobs", "cpu_hours", "last_job", "ended_jobs"),
        judge=judgements.run_again,
        advice="Write checkpoints so that the next run continues from them. Find out why nodes "
        "fail where that is the cause.",
        reference="shares are this project's choice",
        thresholds={
            "share": _SHARE,
            "much": Threshold(0.1, "share of ended runs that makes the severity high"),
        },
        numerator="runs whose job ran again",
        denominator="runs that ended",
        judged="ended runs of jobs whose runs all have a submission time",
        unable="{prefix}.jobs needs state, the earlier runs of jobs and their order, or restarts",
        reports=_USE,
    ),
    Rule(
        name="long_waits",
        doc="Partitions where the median wait is longer than the median run time.",
        view="usage",
        settings={"by": "cluster,partition"},
        among="started is null or started > 0",
        where="partition = partition and compared_jobs >= {jobs} "
        "and median_compared_wait_s >= {seconds} "
        "and median_compared_wait_s > {ratio} * median_compared_run_s",
        columns=("cluster", "partition", "median_compared_wait_s", "median_compared_run_s",
                 "max_wait_s", "compared_jobs", "waited_jobs"),
        judge=judgements.long_waits,
        advice="Use another partition, request less time or fewer resources, or merge short jobs. "
        "`harvest report {prefix}.queue_time DATASET` shows the worst days.",
        reference="D. Feitelson et al., Theory and Practice in Parallel Job Scheduling (1997), "
        "bounded slowdown; limits are this project's choice",
        thresholds={
            "ratio": Threshold(1, "longest accepted median wait, in median run times"),
            "seconds": Threshold(600, "shortest median wait that is reported, in seconds"),
            "jobs": Threshold(20, "fewest ended jobs of a partition that is checked"),
        },
        numerator="median wait, s, from submission to start, else from eligible to start",
        denominator="median run time of the same runs, s",
        judged="partitions where jobs started, by their ended runs with a known wait",
        unable="{prefix}.jobs needs partition, wait_s or planned_s, elapsed_s, state or end_time, "
        "and ended runs",
        reports=(*_USE, "queue_time"),
    ),
)  # fmt: skip
_OF_OWNERS: Final = (
    _ends(
        "failed_jobs", ENDS["failed"], "ended as FAILED",
        "Runs that ended with an exit code other than 0.",
        "Run `harvest report {prefix}.failures DATASET` to see why and where.",
        much=0.1,
    ),
    _ends(
        "out_of_memory", ("out of memory",), "ran out of memory",
        "Runs that failed because they, or a step of them, used more memory than requested.",
        "Request more memory for these jobs only, or give each task less work.",
        much=0.05, of="coalesce(reason, state)",
    ),
    _ends(
        "timeouts", ENDS["timeout"], "reached the time limit",
        "Runs that were stopped at their time limit: unsaved results are lost.",
        "Write checkpoints and continue from them, or request more time.",
        much=0.1,
    ),
    _ends(
        "node_failures", ENDS["node_fail"], "hit a node failure",
        "Runs that ended because a node failed or did not boot.",
        "Find the nodes with `harvest view {prefix}.reasons DATASET --set by=node`, and drain "
        "those that fail often.",
        much=0.02, hidden_without_repeats=True,
    ),
    _OF_ARRAYS(
        name="short_array_tasks",
        doc="Arrays of many very short tasks: starting them takes as long as their work.",
        where="ended >= {tasks} and median_run_s < {seconds}",
        columns=("cluster", "array_job_id", "user", "name", "ended", "median_run_s", "max_run_s"),
        judge=judgements.short_tasks,
        advice="Let one task do the work of many in sequence, so that it runs for half an hour or "
        "longer.",
        reference="Brigham Young University, Office of Research Computing: problems arise when "
        "jobs run less than 10 minutes",
        thresholds={
            "tasks": Threshold(100, "fewest tasks of an array that is checked"),
            "seconds": Threshold(600, "shortest accepted median run time, in seconds"),
            "many": Threshold(1000, "tasks in all such arrays that make the severity medium"),
        },
        numerator="median run time of the tasks that ended, s",
        unable="{prefix}.jobs needs state and elapsed_s",
        reports=_USE,
    ),
    _OF_ARRAYS(
        name="failed_arrays",
        doc="Arrays in which most tasks failed, often for one reason.",
        where="ended >= {tasks} and failed > {share} * ended",
        columns=("cluster", "array_job_id", "user", "name", "ended", "failed", "cpu_hours"),
        judge=judgements.failed_arrays,
        advice="Test one task before you submit the whole array. Look at the output of "
        "one failed task: the others probably share its cause.",
        reference="limits are this project's choice",
        thresholds={
            "tasks": Threshold(10, "fewest ended tasks of an array that is checked"),
            "share": Threshold(0.5, "largest accepted share of failed tasks"),
            "many": Threshold(100, "failed tasks in all such arrays that make the severity high"),
        },
        numerator="tasks that failed, ran out of memory or time, or lost their node",
        denominator="tasks that ended",
        unable="{prefix}.jobs needs state",
        reports=_FAILED,
    ),
    _OF_ARRAYS(
        name="idle_arrays",
        doc="Arrays whose tasks use a small share of their CPUs.",
        where="ended >= {tasks} and cpu_wasted_hours >= {hours} and cpu_eff < {share}",
        columns=("cluster", "array_job_id", "user", "name", "ended", "cpu_wasted_hours", "cpu_eff",
                 "cpu_unknown_jobs", "mem_eff"),
        judge=judgements.idle_arrays,
        advice="Request for a task the CPUs that it keeps busy.",
        reference=f"{_SHIELD}, low CPU efficiency; the share is this project's choice",
        thresholds={
            "tasks": Threshold(10, "fewest ended tasks of an array that is checked"),
            "share": Threshold(0.25, "share of the CPUs that should be used"),
            "hours": Threshold(100, "fewest unused CPU hours of an array that are reported"),
        },
        numerator="CPU time of all ended runs with known use",
        denominator="elapsed time times CPUs of the same runs",
        unable="{prefix}.jobs needs state or end_time, elapsed_s, alloc_cpus and cpu_s",
        reports=_USE,
    ),
)  # fmt: skip
"""Rules whose findings name a user, or say that none is recorded."""

_TEXTS: Final = ("advice", "reference", "numerator", "judged", "unable")


def rules_of(jobs: JobRuns) -> tuple[Rule, ...]:
    """Return the rules on a scheduler's jobs; names begin with the scheduler's."""
    whose = of_scheduler(jobs)
    use = (_of_scheduler(whose, rule, {}) for rule in _OF_USE)
    owners = (_of_scheduler(whose, rule, {"record": jobs.words.record}) for rule in _OF_OWNERS)
    return (*use, *owners)


def _of_scheduler(whose: Whose, rule: Rule, said: dict[str, str]) -> Rule:
    """Return a rule in a scheduler's names and words; said: words for its ``judge`` function."""
    own = whose.words.rules.get(rule.name, {})
    texts: dict[str, Any] = {
        name: whose.fill(own.get(name, getattr(rule, name))) for name in _TEXTS
    }
    judge: Any = rule.judge
    return attrs.evolve(
        rule,
        name=whose.name(rule.name),
        judge=partial(judge, **said),
        view=whose.name(rule.view),
        reports=tuple(map(whose.name, rule.reports)),
        **texts,
    )
