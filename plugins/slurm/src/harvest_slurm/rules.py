"""Rules on jobs: what is wasted and by whom, why runs fail, who waits, how arrays go.

Limits are those of the examples in the documentation of Princeton's Job Defense Shield, where it
has one for the matter.  Only what was measured is judged: a job whose use is not known wastes
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from harvest import Finding, Rule, Threshold
from harvest.toolkit.amounts import count_in_words, seconds_in_words, share_in_words

if TYPE_CHECKING:
    import polars as pl

    from harvest.api.rule import Severity

__all__ = ["RULES"]

_USE: Final = ("slurm.usage", "slurm.summary")
_SHIELD: Final = "Princeton's Job Defense Shield"


def wasted(
    rows: pl.DataFrame,
    total: int,
    *,
    resource: str,
    unit: str,
    share: float,
    hours: float,
    much: float,
    severities: tuple[Severity, Severity],
) -> Iterator[Finding]:
    """What users wasted of a resource who used little of what they were given."""
    column = f"{resource}_wasted_{'gib_' if resource == 'mem' else ''}hours"
    part = float(rows[f"{resource}_wasted_share"].sum())
    worst = rows.sort(column, "user", descending=[True, False]).row(0, named=True)
    yield Finding(
        severities[0] if part >= much else severities[1],
        f"{count_in_words(rows['user'].n_unique(), 'user')} used less than {share_in_words(share)} "
        f"of the {unit} given to them and wasted {rows[column].sum():,.0f}, "
        f"{share_in_words(part)} of all whose use is known; {_who(worst)} wasted most, "
        f"{worst[column]:,.0f}, and used {share_in_words(worst[f'{resource}_eff'])}.",
    )


def ended_badly(
    rows: pl.DataFrame, total: int, *, words: str, share: float, much: float
) -> Iterator[Finding]:
    """How many runs ended so, what they took, and whose most of them are."""
    runs, ended = rows["jobs"].sum(), rows["ended_jobs"][0]
    if runs < share * ended:
        return
    hours, all_hours = rows["cpu_hours"].sum(), rows["ended_cpu_hours"][0]
    part = hours / all_hours if all_hours else 0.0
    user, users_runs = _most(rows, "user")
    codes = rows.filter(rows["exit_code"].fill_null(0) > 0)
    code = f"; exit code {_most(codes, 'exit_code')[0]} is the most frequent" if len(codes) else ""
    yield Finding(
        "high" if part >= much else "medium",
        f"{runs:,} of {count_in_words(ended, 'run')} ({share_in_words(runs / ended)}) {words}, "
        f"with {share_in_words(part)} of the CPU hours ({hours:,.0f}); most are of "
        f"{user or 'an unknown user'} ({users_runs:,}){code}.",
    )


def run_again(rows: pl.DataFrame, total: int, *, share: float, much: float) -> Iterator[Finding]:
    """Runs that were not the last of their job, by how they ended."""
    again, ended = rows["run_again"].sum(), rows["ended_jobs"][0]
    if again < share * ended:
        return
    causes = rows.select("state", "run_again").group_by("state").sum()
    causes = causes.sort("run_again", "state", descending=[True, False])
    listed = ", ".join(f"{state} {count:,}" for state, count in causes.iter_rows())
    yield Finding(
        "high" if again >= much * ended else "medium",
        f"{again:,} of {count_in_words(ended, 'run')} ({share_in_words(again / ended)}) had to be "
        f"repeated: {listed}.",
    )


def long_waits(
    rows: pl.DataFrame, total: int, *, ratio: float, seconds: float, jobs: float
) -> Iterator[Finding]:
    """Partitions where jobs wait longer than they run."""
    worst = rows.sort("median_wait_s", descending=True).row(0, named=True)
    where = f"partition {worst['partition'] or 'unknown'}"
    if worst["cluster"]:
        where += f" of cluster {worst['cluster']}"
    times = worst["median_wait_s"] / worst["median_run_s"] if worst["median_run_s"] else None
    than = "" if ratio == 1 else f"{ratio:g} times "
    yield Finding(
        "high" if times is not None and times >= 10 * ratio else "medium",
        f"In {rows.height:,} of {count_in_words(total, 'partition')} the median wait is longer "
        f"than {than}the median run time; the longest is in {where}: "
        f"{seconds_in_words(worst['median_wait_s'])} for {seconds_in_words(worst['median_run_s'])} "
        f"({count_in_words(worst['waited_jobs'], 'job')}).",
    )


def short_tasks(
    rows: pl.DataFrame, total: int, *, tasks: float, seconds: float, many: float
) -> Iterator[Finding]:
    """Arrays of many tasks that hardly run."""
    ended = rows["ended"].sum()
    worst = rows.sort("ended", descending=True).row(0, named=True)
    yield Finding(
        "medium" if ended >= many else "low",
        f"{rows.height:,} of {count_in_words(total, 'array')} have {tasks:g} tasks or more, of "
        f"which half ran less than {seconds_in_words(seconds)}, {ended:,} tasks together; the "
        f"largest is {_array(worst)}: {count_in_words(worst['ended'], 'task')} with a median of "
        f"{seconds_in_words(worst['median_run_s'])}.",
    )


def failed_arrays(
    rows: pl.DataFrame, total: int, *, tasks: float, share: float
) -> Iterator[Finding]:
    """Arrays most of whose tasks failed."""
    worst = rows.sort("failed", descending=True).row(0, named=True)
    yield Finding(
        "high",
        f"In {rows.height:,} of {count_in_words(total, 'array')} more than "
        f"{share_in_words(share)} of the tasks failed, {rows['failed'].sum():,} tasks together; "
        f"the most in {_array(worst)}: {worst['failed']:,} of {worst['ended']:,}.",
    )


def idle_arrays(
    rows: pl.DataFrame, total: int, *, tasks: float, share: float, hours: float
) -> Iterator[Finding]:
    """Arrays that use a small share of their CPUs: one wrong request, many times over."""
    worst = rows.sort("cpu_wasted_hours", descending=True).row(0, named=True)
    yield Finding(
        "medium",
        f"{rows.height:,} of {count_in_words(total, 'array')} used less than "
        f"{share_in_words(share)} of their CPUs and wasted "
        f"{rows['cpu_wasted_hours'].sum():,.0f} CPU hours; the most {_array(worst)}: "
        f"{worst['cpu_wasted_hours']:,.0f} CPU hours, {share_in_words(worst['cpu_eff'])} used.",
    )


def _who(row: dict[str, Any]) -> str:
    """A user with the account, as far as they are known."""
    user = row["user"] or "an unknown user"
    return f"{user} ({row['account']})" if row["account"] else user


def _array(row: dict[str, Any]) -> str:
    return f"{row['array_job_id']} of {row['user'] or 'an unknown user'}"


def _most(rows: pl.DataFrame, column: str) -> tuple[Any, int]:
    """The value of a column that most runs have, and how many have it."""
    counted = rows.select(column, "jobs").group_by(column).sum()
    value, runs = counted.sort("jobs", column, descending=[True, False]).row(0)
    return value, runs


def _waste(
    name: str,
    resource: str,
    unit: str,
    doc: str,
    advice: str,
    limits: str,
    *,
    share: float,
    hours: float,
    much: float,
    severities: tuple[Severity, Severity] = ("high", "medium"),
) -> Rule:
    column = f"{resource}_wasted_{'gib_' if resource == 'mem' else ''}hours"
    return Rule(
        name=f"slurm.{name}",
        doc=f"Users who were given many {unit} and used a small share of them: {doc}.",
        view="slurm.usage",
        settings={"by": "user,account"},
        where=f"{column} >= {{hours}} and {resource}_eff < {{share}}",
        columns=(
            "user", "account", column, f"{resource}_eff", f"{resource}_wasted_share",
            f"{resource}_unknown_jobs", "jobs",
        ),
        judge=partial(wasted, resource=resource, unit=unit, severities=severities),
        advice=advice,
        reference=f"{_SHIELD}, documentation of its alerts: {limits}; other limits are this "
        "project's choice",
        thresholds={
            "share": Threshold(share, "share of what was given that should be used"),
            "hours": Threshold(hours, f"{unit} wasted by a user, at least"),
            "much": Threshold(much, "share of all, wasted by them together, that is much"),
        },
        reports=_USE,
    )  # fmt: skip


def _ends(
    name: str, states: tuple[str, ...], words: str, doc: str, advice: str, much: float
) -> Rule:
    listed = ", ".join(f"'{state}'" for state in states)
    return Rule(
        name=f"slurm.{name}",
        doc=doc,
        view="slurm.failures",
        where=f"state in ({listed})",
        columns=(
            "state", "user", "jobs", "exit_code", "exit_signal", "cpu_hours", "last_job",
            "ended_jobs", "ended_cpu_hours",
        ),
        judge=partial(ended_badly, words=words),
        advice=advice,
        reference="sacct(1), job state codes; shares are this project's choice",
        thresholds={
            "share": Threshold(0.01, "share of all runs that ended, from which it is worth a word"),
            "much": Threshold(much, "share of all CPU hours that is much"),
        },
        reports=_USE,
    )  # fmt: skip


RULES: Final = (
    _waste(
        "cpu_waste", "cpu", "CPU hours",
        "while they were idle, nobody else could have them",
        "Ask for as many CPUs as the program keeps busy (compare runs with 1, 2 and 4), and check "
        "that it starts as many threads or ranks as it was given.",
        "60 % and 100 CPU hours",
        share=0.6, hours=100, much=0.25,
    ),
    _waste(
        "memory_waste", "mem", "GiB hours of memory",
        "jobs wait for memory that others do not use",
        "Ask for the most that a run used, and a fifth more: `harvest slurm job ID DATASET` shows "
        "it.",
        "35 %",
        share=0.35, hours=1000, much=0.5,
    ),
    _waste(
        "gpu_waste", "gpu", "GPU hours",
        "while they were idle, nobody else could have them",
        "Ask for one GPU until a program is known to use two, feed it with more data at once, and "
        "do not hold GPUs in interactive jobs.",
        "25 % and 50 GPU hours",
        share=0.25, hours=50, much=0.1,
    ),
    _waste(
        "timelimit_waste", "timelimit", "hours of run time",
        "jobs with long limits start later, and the scheduler plans worse",
        "Set --time to the run time and a margin: short jobs start earlier, in the gaps that the "
        "scheduler fills.",
        "20 %",
        share=0.2, hours=1000, much=0.75, severities=("medium", "low"),
    ),
    _ends(
        "failed_jobs", ("failed",), "failed",
        "Runs that ended with an exit code that is not 0.",
        "Look at the first lines of an error in the output of last_job; `harvest slurm job` shows "
        "the step that failed.",
        much=0.1,
    ),
    _ends(
        "out_of_memory", ("out_of_memory",), "ran out of memory",
        "Runs that were killed since they used more memory than they asked for.",
        "Ask for more memory for these jobs alone, or give each task less to do.",
        much=0.05,
    ),
    _ends(
        "timeouts", ("timeout", "deadline"), "were stopped at their time limit",
        "Runs that were stopped before they were done: what they had not saved is lost.",
        "Save the state regularly and continue from it, or ask for more time.",
        much=0.1,
    ),
    _ends(
        "node_failures", ("node_fail", "boot_fail", "launch_failed", "reconfig_fail"),
        "were lost with their node",
        "Runs that ended since a node failed, or did not start.",
        "Look at the nodes in slurm.jobs (node_list): one that fails often should be drained.",
        much=0.02,
    ),
    Rule(
        name="slurm.requeues",
        doc="Runs that were not the last of their job: what they did had to be done again.",
        view="slurm.failures",
        where="run_again > 0",
        columns=("state", "user", "run_again", "jobs", "cpu_hours", "last_job", "ended_jobs"),
        judge=run_again,
        advice="Save the state regularly so that a run continues from it; look into why nodes fail "
        "where that is the cause.",
        reference="sacct(1), --duplicates; shares are this project's choice",
        thresholds={
            "share": Threshold(0.01, "share of all runs that ended, from which it is worth a word"),
            "much": Threshold(0.1, "share of them that is much"),
        },
        reports=_USE,
    ),
    Rule(
        name="slurm.long_waits",
        doc="Partitions where half of the jobs wait longer than jobs run.",
        view="slurm.usage",
        settings={"by": "cluster,partition"},
        where="waited_jobs >= {jobs} and median_wait_s >= {seconds} "
        "and median_wait_s > {ratio} * median_run_s",
        columns=("cluster", "partition", "median_wait_s", "median_run_s", "max_wait_s",
                 "waited_jobs"),
        judge=long_waits,
        advice="Use another partition, ask for less time or fewer resources so that the scheduler "
        "finds a gap, or join short jobs; `harvest report slurm.queue_time` shows the days.",
        reference="wait against run time, as the bounded slowdown of D. Feitelson et al., Theory "
        "and Practice in Parallel Job Scheduling (1997); limits are this project's choice",
        thresholds={
            "ratio": Threshold(1, "times the median run time that jobs may wait"),
            "seconds": Threshold(600, "seconds of waiting that do not matter"),
            "jobs": Threshold(20, "jobs that started in the partition, at least"),
        },
        reports=(*_USE, "slurm.queue_time"),
    ),
    Rule(
        name="slurm.short_array_tasks",
        doc="Arrays of many tasks that hardly run: starting them takes as long as their work, and "
        "keeps the scheduler from other jobs.",
        view="slurm.arrays",
        where="ended >= {tasks} and median_run_s < {seconds}",
        columns=("cluster", "array_job_id", "user", "name", "ended", "median_run_s", "max_run_s"),
        judge=short_tasks,
        advice="Let one task do the work of many, one after the other, so that it runs half an "
        "hour or longer.",
        reference="Brigham Young University, Office of Research Computing: problems arise when "
        "jobs run less than 10 minutes",
        thresholds={
            "tasks": Threshold(100, "tasks of an array, at least"),
            "seconds": Threshold(600, "seconds that half of them should run"),
            "many": Threshold(1000, "tasks of such arrays together that are many"),
        },
        reports=_USE,
    ),
    Rule(
        name="slurm.failed_arrays",
        doc="Arrays most of whose tasks failed: one mistake, made many times.",
        view="slurm.arrays",
        where="ended >= {tasks} and failed > {share} * ended",
        columns=("cluster", "array_job_id", "user", "name", "ended", "failed", "cpu_hours"),
        judge=failed_arrays,
        advice="Try one task before the whole array (--array=0), and look at the output of one "
        "that failed: the cause is probably that of all.",
        reference="limits are this project's choice",
        thresholds={
            "tasks": Threshold(10, "tasks that ended, at least"),
            "share": Threshold(0.5, "share of them that may fail"),
        },
        reports=_USE,
    ),
    Rule(
        name="slurm.idle_arrays",
        doc="Arrays whose tasks use a small share of the CPUs they ask for.",
        view="slurm.arrays",
        where="ended >= {tasks} and cpu_wasted_hours >= {hours} and cpu_eff < {share}",
        columns=("cluster", "array_job_id", "user", "name", "ended", "cpu_wasted_hours", "cpu_eff",
                 "mem_eff"),
        judge=idle_arrays,
        advice="Correct the request of the array: --cpus-per-task is what one task keeps busy.",
        reference=f"{_SHIELD}, low CPU efficiency; the share is this project's choice",
        thresholds={
            "tasks": Threshold(10, "tasks that ended, at least"),
            "share": Threshold(0.25, "share of the CPUs that should be used"),
            "hours": Threshold(100, "CPU hours wasted by an array, at least"),
        },
        reports=_USE,
    ),
)  # fmt: skip
