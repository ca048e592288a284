"""Rules on work that failed or waited: failures, repeats, the interpreter, files."""

from typing import Final

from harvest import Finding, Threshold
from harvest.toolkit.amounts import bytes_in_words, count_in_words, seconds_in_words, share_in_words
from harvest.toolkit.layout import shorten

from ..record_names import KILLED
from .common import BUSY, EACH_WORKER, LOGS, Run, lower_bound, observed, part_of, rule, size_of

ERROR_SHOWN: Final = 80
"""Maximum characters of an error in a finding."""
KIND_SHOWN: Final = 24
"""Maximum characters of a kind of task in a headline."""


def _as_traced(run: Run) -> tuple[str, ...]:
    # untraced I/O may belong to these tasks, too
    more = ("lower_bound",) if run["untraced_bytes"] else ()
    return tuple(dict.fromkeys((*observed(run), *more)))


@rule(
    doc="Executions that failed: errors of the program, or of its input.",
    where="failed >= {executions}",
    columns=(
        *("failed", "attempts", "failed_prefix", "failed_prefix_failed", "failed_error"),
        *("failed_error_failed", "failed_error_type", "failed_error_type_failed"),
    ),
    numerator="executions that failed, by any record",
    denominator="executions, and failures that only the scheduler recorded (attempts)",
    judged="Runs with a failure, or whose workers all recorded their executions.",
    unable=EACH_WORKER,
    advice="Look at dask.prefixes for the kinds that failed, and at dask.tasks for one of "
    "them. Retries hide errors that always come back.",
    reference="a task that succeeds does not fail; a tenth of all is much",
    thresholds={"executions": Threshold(1, "executions that failed")},
)
def _failures(run: Run, **_: float) -> Finding:
    failed, of_kind = run["failed"], run["failed_prefix_failed"]
    part = failed / run["attempts"]
    which = "All are" if of_kind == failed else f"{of_kind:,} are"
    return Finding(
        "high" if part > 0.1 else "medium",
        f"{failed:,} of {run['attempts']:,} task attempts failed ({share_in_words(part)})",
        f"{'It is' if failed == 1 else which} of kind {run['failed_prefix']}{_raised(run)}.",
    )


def _raised(run: Run) -> str:
    """Describe the exception of the kind with the most failures; empty if it is unknown."""
    if not run["failed_error"]:
        return ""
    of_kind, of_type = run["failed_prefix_failed"], run["failed_error_type_failed"]
    first_line = run["failed_error"].split("\n")[0].strip().rstrip(".")
    error, name = shorten(first_line, ERROR_SHOWN, "id"), run["failed_error_type"]
    share = "" if of_type == of_kind else f" ({of_type:,} of {of_kind:,})"
    if name == KILLED:
        return f" with {name}{share}: Dask gave up after the workers that ran them died"
    if of_type == run["failed_error_failed"]:
        return f" with {error}{share}"
    return f" with {f'{name}{share}, ' if name else ''}for example {error}"


@rule(
    doc="Tasks that ran more than once: their results were lost, or they were retried.",
    where="repeated > rescheduled and repeated_s - rescheduled_s > {share} * busy_s",
    columns=(
        *("repeated", "repeated_s", "busy_s", "executions", "lost_workers", "failed"),
        *("rescheduled", "rescheduled_s"),
    ),
    numerator="time of all but the last execution of each task, s (repeated_s), without those that "
    "were rescheduled (rescheduled_s)",
    denominator=BUSY,
    judged="Runs with a repeat, or whose workers all recorded their executions.",
    unable=EACH_WORKER,
    advice="Find out why they ran again: lost workers, retries, or results released too early "
    "(persist what you use twice).",
    reference="Dask.distributed documentation, Resilience; a twentieth of the time is worth a look",
    thresholds={"share": Threshold(0.05, "of the time of executions")},
)
def _repeats(run: Run, **_: float) -> Finding:
    again, spent = run["repeated"] - run["rescheduled"], run["repeated_s"] - run["rescheduled_s"]
    part = spent / run["busy_s"]
    left_out = count_in_words(run["rescheduled"] or 0, "rescheduled execution")
    return Finding(
        "high" if part > 0.25 else "medium",
        f"{count_in_words(again, 'repeat execution')} took {share_in_words(part)} of the execution "
        "time",
        part_of(spent, run["busy_s"]) + (f", without {left_out}." if run["rescheduled"] else "."),
    )


@rule(
    doc="Executions that ended with Reschedule, so that Dask ran the tasks elsewhere. Nothing was "
    "lost: the next execution did the work.",
    where="rescheduled > 0 and rescheduled_s > {share} * busy_s",
    columns=("rescheduled", "rescheduled_s", "busy_s", "repeated"),
    numerator="time of the executions that ended with Reschedule, s (rescheduled_s)",
    denominator=BUSY,
    judged="Runs with a repeat, or whose workers all recorded their executions.",
    unable=EACH_WORKER,
    advice="Expect some in a P2P shuffle. If there are many for its output partitions, it "
    "began again: look for lost workers.",
    reference="distributed 2026.8, P2P shuffle and Reschedule; a twentieth of the time is worth "
    "a look",
    thresholds={"share": Threshold(0.05, "of the time of executions")},
)
def _rescheduled(run: Run, **_: float) -> Finding:
    part = run["rescheduled_s"] / run["busy_s"]
    return Finding(
        "low",
        f"{count_in_words(run['rescheduled'], 'execution')} ended with Reschedule",
        f"They took {part_of(run['rescheduled_s'], run['busy_s'])} of execution time "
        f"({share_in_words(part)}); the tasks ran again elsewhere.",
    )


@rule(
    certainty=lower_bound,
    doc="Garbage collection that takes much of the CPU time of a worker or the scheduler. It is a "
    "symptom, so it is listed below causes.",
    where="gc_warnings > 0 and gc_worst_percent >= {percent}",
    columns=("gc_warnings", "gc_worst_percent", "workers"),
    numerator="CPU time of garbage collection, %, the most of the warnings in logs",
    judged="Runs with a log of the scheduler or workers.",
    unable=LOGS,
    advice="Make fewer Python objects (columns instead of lists), or smaller graphs.",
    reference="distributed 2026.8: its own warning, from 10 % on",
    thresholds={"percent": Threshold(10, "of the CPU time, at worst")},
)
def _garbage_collection(run: Run, **_: float) -> Finding:
    warnings = count_in_words(run["gc_warnings"], "warning")
    return Finding(
        "low",
        f"Garbage collection took up to {run['gc_worst_percent']:.0f} % of CPU time",
        f"The logs of workers and the scheduler have {warnings} about it.",
    )


@rule(
    certainty=lower_bound,
    doc="Event loops that did not respond: heartbeats come late, and connections break. It is a "
    "symptom, so it is listed below causes.",
    where="loop_warnings > 0 and loop_worst_s >= {seconds}",
    columns=("loop_warnings", "loop_s", "loop_worst_s", "workers"),
    numerator="time without response, s, the longest of the warnings in logs",
    judged="Runs with a log of the scheduler or workers.",
    unable=LOGS,
    advice="Look for functions that hold the interpreter's lock for long, and for large "
    "results that move at the same time.",
    reference="distributed 2026.8: its own warning, from 3 s on",
    thresholds={"seconds": Threshold(3, "seconds without response, at worst")},
)
def _event_loop(run: Run, **_: float) -> Finding:
    return Finding(
        "low",
        f"An event loop did not respond for {seconds_in_words(run['loop_worst_s'])}",
        f"The logs of workers and the scheduler have {run['loop_warnings']:,} such warnings, "
        f"{seconds_in_words(run['loop_s'])} together.",
    )


@rule(
    certainty=_as_traced,
    doc="A kind of task that spends much of its time reading and writing files.",
    where="io_prefix_s > {share} * io_prefix_busy_s and io_prefix_s > {of_run} * io_busy_s",
    columns=(
        *("io_prefix", "io_prefix_s", "io_prefix_share", "io_prefix_bytes"),
        *("io_prefix_beside_bytes", "io_prefix_busy_s", "io_s", "io_busy_s", "untraced_bytes"),
    ),
    numerator="time of tasks of the kind in reads and writes that are known to be their own, s "
    "(io_prefix_s)",
    denominator="time of the executions of the kind in processes whose I/O is known, s "
    "(io_prefix_busy_s)",
    judged="Runs with I/O that belongs to tasks. Executions in other processes are left out of "
    "both.",
    unable="harvest with Darshan's logs of the workers: traces (DXT_ENABLE_IO_TRACE=1) that name "
    "threads, or of captured processes",
    advice="Look at dask.task_io for the files and request sizes. Use larger requests and fewer "
    "small files, and read data once.",
    reference="a third of a task's time in files, and a twentieth of the run's, are worth a change",
    thresholds={
        "share": Threshold(0.3, "of the time of these tasks"),
        "of_run": Threshold(0.05, "of the time of all executions there"),
    },
)
def _tasks_in_io(run: Run, **_: float) -> Finding:
    kind, all_io = run["io_prefix"], run["io_prefix_s"] / run["io_s"]
    short = shorten(kind or "unknown", KIND_SHOWN, "id")
    counted, moved = run["io_prefix_beside_bytes"], bytes_in_words(run["io_prefix_bytes"])
    size = f"{size_of(counted, run['io_prefix_bytes'])} are" if counted else ""
    return Finding(
        "high" if run["io_prefix_s"] / run["io_busy_s"] > 0.5 else "medium",
        f"{short} tasks spent {share_in_words(run['io_prefix_share'])} of their time in I/O",
        f"{'' if short == kind else f'Tasks of kind {kind}: '}"
        f"{seconds_in_words(run['io_prefix_s'])} for {moved}, {share_in_words(all_io)} of the I/O "
        f"time of all tasks.{f' {size} counted while only they ran.' if size else ''}",
    )


@rule(
    certainty=None,
    doc="I/O that Darshan counted but did not trace, so that its task is uncertain.",
    where="counted_bytes > {bytes} and untraced_bytes > {share} * counted_bytes",
    columns=(
        *("counted_bytes", "traced_bytes", "untraced_bytes", "untraced_task_bytes"),
        *("beside_bytes", "unknown_bytes", "io_prefix", "io_prefix_beside_bytes"),
    ),
    numerator="bytes that Darshan counted and did not trace (untraced_bytes)",
    denominator="bytes that it counted, of the same processes (counted_bytes)",
    judged="Runs with Darshan's logs.",
    unable="harvest with Darshan's logs of the run (--source darshan:LOCATION); `harvest rejects` "
    "says which counters could not be read",
    advice="Look at dask.task_io (how = 'counted') for the files. STDIO is never "
    "traced; a trace that was cut off needs more MODMEM.",
    reference="Darshan 3.4 runtime documentation: DXT traces POSIX and MPI-IO",
    thresholds={
        "share": Threshold(0.2, "of the bytes that are counted"),
        "bytes": Threshold(1e6, "bytes that are counted, at least"),
    },
)
def _untraced_io(run: Run, **_: float) -> Finding:
    whole, untraced = run["counted_bytes"], run["untraced_bytes"]
    tasks, beside = run["untraced_task_bytes"], run["beside_bytes"]
    kind = run["io_prefix"] if beside == run["io_prefix_beside_bytes"] else "tasks of one kind"
    known = [
        f"{share_in_words(size / untraced)} {what}"
        for size, what in (
            (tasks, "belong to known tasks"),
            (beside, f"moved while only {kind} ran in the process"),
            (run["unknown_bytes"], "have no known task"),
        )
        if size
    ]
    return Finding(
        "low",
        f"{size_of(untraced, whole)} of I/O counted but not traced "
        f"({share_in_words(untraced / whole)})",
        f"Of the untraced bytes, {'; '.join(known)}." if known else "",
    )


WORK: Final = (
    *(_failures, _repeats, _rescheduled, _garbage_collection),
    *(_event_loop, _tasks_in_io, _untraced_io),
)
