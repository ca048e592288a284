"""Rules on what went wrong with the work, or kept it waiting: failures, the interpreter, files."""

from __future__ import annotations

from typing import Final

from harvest import Threshold
from harvest.toolkit.amounts import bytes_in_words, count_in_words, seconds_in_words, share_in_words
from harvest.toolkit.layout import shorten

from ..record_names import KILLED
from .common import LOGS, WHOLE, Run, Said, certain, lower_bound, observed, rule

ERROR_SHOWN: Final = 100
"""Characters of an error that a sentence has."""


def _brief(error: str) -> str:
    return shorten(error.split("\n")[0].strip().rstrip("."), ERROR_SHOWN)


def _as_traced(run: Run) -> tuple[str, ...]:
    # what is not traced may be theirs, too
    more = ("lower_bound",) if run["untraced_bytes"] else ()
    return tuple(dict.fromkeys((*observed(run), *more)))


@rule(
    doc="Executions that failed: errors of the program, or of what it reads.",
    where="failed >= {executions}",
    columns=(
        *("failed", "attempts", "failed_prefix", "failed_prefix_failed", "failed_error"),
        *("failed_error_failed", "failed_error_type", "failed_error_type_failed"),
    ),
    numerator="executions that failed, whoever recorded it",
    denominator="executions, and failures that the scheduler alone recorded (attempts)",
    judged="runs with a failure, or whose workers all recorded what they executed",
    unable=WHOLE,
    advice="Look at dask.prefixes for the kinds that failed, and at dask.tasks for one of "
    "them; retries hide errors that always come back.",
    reference="a task that succeeds does not fail; a tenth of all is taken to be much",
    thresholds={"executions": Threshold(1, "executions that failed")},
)
def _failures(run: Run, **_: float) -> Said:
    failed, of_kind = run["failed"], run["failed_prefix_failed"]
    part = failed / run["attempts"]
    text = (
        f"{failed:,} of {count_in_words(run['attempts'], 'execution')} failed "
        f"({share_in_words(part)}), "
    )
    if failed > 1:
        text += "all " if of_kind == failed else f"{of_kind:,} of them "
    text += f"of kind {run['failed_prefix']}"
    return "high" if part > 0.1 else "medium", f"{text}{_raised(run)}."


def _raised(run: Run) -> str:
    """What executions of the kind with the most failures raised; empty where it is not known."""
    if not run["failed_error"]:
        return ""
    of_kind, of_type = run["failed_prefix_failed"], run["failed_error_type_failed"]
    error, name = _brief(run["failed_error"]), run["failed_error_type"]
    alike = of_type == run["failed_error_failed"]
    said = error if alike or not name else name
    if of_kind == 1:
        text = f", with {said}"
    elif of_type == of_kind:
        text = f", all with {said}"
    elif 2 * of_type > of_kind:
        text = f", mostly with {said} ({of_type:,} of {of_kind:,})"
    else:
        text = f"; the most, {of_type:,} of {of_kind:,}, with {said}"
    if name == KILLED:
        return f"{text}: Dask gave them up, for the workers died that ran or held them"
    return text if alike else f"{text}, such as {error}" if name else f"{text} or alike"


@rule(
    doc="Tasks that were executed more than once: their results were lost, or retries.",
    where="repeated > rescheduled and repeated_s - rescheduled_s > {share} * busy_s",
    columns=(
        *("repeated", "repeated_s", "busy_s", "executions", "lost_workers", "failed"),
        *("rescheduled", "rescheduled_s"),
    ),
    numerator="time of all but the last execution of each task, s (repeated_s), without those that "
    "were rescheduled (rescheduled_s)",
    denominator="time of executions, s (busy_s)",
    judged="runs with a repeat, or whose workers all recorded what they executed",
    unable=WHOLE,
    advice="Find out what made them run again: lost workers, retries, or results that were "
    "released too early (persist what is used twice).",
    reference="Dask.distributed documentation, Resilience; a twentieth of the time is taken to "
    "be worth a look",
    thresholds={"share": Threshold(0.05, "of the time of executions")},
)
def _repeats(run: Run, **_: float) -> Said:
    again, spent = run["repeated"] - run["rescheduled"], run["repeated_s"] - run["rescheduled_s"]
    part = spent / run["busy_s"]
    text = (
        f"Tasks were executed {count_in_words(again, 'time')} more than once, which took "
        f"{seconds_in_words(spent)} of {seconds_in_words(run['busy_s'])} of executing "
        f"({share_in_words(part)})"
    )
    if run["rescheduled"]:
        text += f"; {count_in_words(run['rescheduled'], 'time')} that were rescheduled left out"
    return "high" if part > 0.25 else "medium", f"{text}."


@rule(
    doc="Executions that ended with Reschedule, so that Dask ran the tasks elsewhere: nothing was "
    "lost, and the next execution did the work.",
    where="rescheduled > 0 and rescheduled_s > {share} * busy_s",
    columns=("rescheduled", "rescheduled_s", "busy_s", "repeated"),
    numerator="time of the executions that ended with Reschedule, s (rescheduled_s)",
    denominator="time of executions, s (busy_s)",
    judged="runs with a repeat, or whose workers all recorded what they executed",
    unable=WHOLE,
    advice="In a P2P shuffle, output partitions that begin on a worker that does not hold them go "
    "to the one that does: part of its work. Many against few partitions mean that it began anew, "
    "as after a worker was lost; elsewhere the tasks raise Reschedule themselves.",
    reference="distributed 2026.8, P2P shuffle and Reschedule; a twentieth of the time is taken to "
    "be worth a look",
    thresholds={"share": Threshold(0.05, "of the time of executions")},
)
def _rescheduled(run: Run, **_: float) -> Said:
    part = run["rescheduled_s"] / run["busy_s"]
    return "low", (
        f"{count_in_words(run['rescheduled'], 'execution')} ended with Reschedule, and the tasks "
        f"ran elsewhere: that took {seconds_in_words(run['rescheduled_s'])} of "
        f"{seconds_in_words(run['busy_s'])} of executing ({share_in_words(part)})."
    )


@rule(
    certainty=lower_bound,
    doc="Garbage collection that takes much of the CPU time of a worker or the scheduler. A "
    "symptom, which stands below causes.",
    where="gc_warnings > 0 and gc_worst_percent >= {percent}",
    columns=("gc_warnings", "gc_worst_percent", "workers"),
    numerator="CPU time of garbage collection, %, the most of the warnings in logs",
    judged="runs with a log of the scheduler or workers",
    unable=LOGS,
    advice="Make fewer Python objects (columns instead of lists), or smaller graphs.",
    reference="distributed 2026.8: its own warning, from 10 % on",
    thresholds={"percent": Threshold(10, "of the CPU time, at worst")},
)
def _garbage_collection(run: Run, **_: float) -> Said:
    worst = run["gc_worst_percent"]
    text = (
        f"{count_in_words(run['gc_warnings'], 'line')} of the logs "
        f"{'says' if run['gc_warnings'] == 1 else 'say'} that garbage collection took much CPU "
        f"time, at worst {worst:.0f} %."
    )
    return "low", text


@rule(
    certainty=lower_bound,
    doc="Event loops that did not respond: heartbeats come late, and connections break. A symptom, "
    "which stands below causes.",
    where="loop_warnings > 0 and loop_worst_s >= {seconds}",
    columns=("loop_warnings", "loop_s", "loop_worst_s", "workers"),
    numerator="time without response, s, the longest of the warnings in logs",
    judged="runs with a log of the scheduler or workers",
    unable=LOGS,
    advice="Look for functions that hold the interpreter's lock for long, and for large "
    "results that are moved at once.",
    reference="distributed 2026.8: its own warning, from 3 s on",
    thresholds={"seconds": Threshold(3, "seconds without response, at worst")},
)
def _event_loop(run: Run, **_: float) -> Said:
    text = (
        f"Event loops of workers or the scheduler did not respond "
        f"{count_in_words(run['loop_warnings'], 'time')}, together for "
        f"{seconds_in_words(run['loop_s'])}, at worst for {seconds_in_words(run['loop_worst_s'])}."
    )
    return "low", text


@rule(
    certainty=_as_traced,
    doc="A kind of task that spends much of its time reading and writing files.",
    where="io_prefix_s > {share} * io_prefix_busy_s and io_prefix_s > {of_run} * io_busy_s",
    columns=(
        *("io_prefix", "io_prefix_s", "io_prefix_share", "io_prefix_bytes"),
        *("io_prefix_beside_bytes", "io_prefix_busy_s", "io_s", "io_busy_s", "untraced_bytes"),
    ),
    numerator="time of tasks of the kind in reads and writes that are known to be theirs, s "
    "(io_prefix_s)",
    denominator="time of the executions of the kind in processes whose I/O is known, s "
    "(io_prefix_busy_s)",
    judged="runs with I/O that is tied to tasks; executions in other processes are left out of "
    "both",
    unable="no I/O is tied to a task: Darshan's logs of the workers, with traces "
    "(DXT_ENABLE_IO_TRACE=1) that name threads or of captured processes, bring it",
    advice="Look at dask.task_io for the files and the size of the requests: larger requests, "
    "fewer small files, and data read once and kept help most.",
    reference="a third of a task's time in files, and a twentieth of the run's, are taken to "
    "be worth a change",
    thresholds={
        "share": Threshold(0.3, "of the time of these tasks"),
        "of_run": Threshold(0.05, "of the time of all executions there"),
    },
)
def _tasks_in_io(run: Run, **_: float) -> Said:
    all_io = run["io_prefix_s"] / run["io_s"]
    text = (
        f"Tasks of kind {run['io_prefix']} spent {seconds_in_words(run['io_prefix_s'])} reading "
        f"and writing {bytes_in_words(run['io_prefix_bytes'])}: "
        f"{share_in_words(run['io_prefix_share'])} of their time, and "
        f"{share_in_words(all_io)} of the I/O time of all tasks"
    )
    if run["io_prefix_beside_bytes"]:
        text += (
            f" ({bytes_in_words(run['io_prefix_beside_bytes'])} by counters alone, while only "
            "such tasks ran in the process)"
        )
    whole = run["io_prefix_s"] / run["io_busy_s"]
    return "high" if whole > 0.5 else "medium", f"{text}."


@rule(
    certainty=certain,
    doc="I/O of which Darshan kept counts alone, so that the task that did it is not certain.",
    where="counted_bytes > {bytes} and untraced_bytes > {share} * counted_bytes",
    columns=(
        *("counted_bytes", "traced_bytes", "untraced_bytes", "untraced_task_bytes"),
        *("beside_bytes", "unknown_bytes", "io_prefix", "io_prefix_beside_bytes"),
    ),
    numerator="bytes that Darshan counted and did not trace (untraced_bytes)",
    denominator="bytes that it counted, of the same processes (counted_bytes)",
    judged="runs with Darshan's logs",
    unable="no log of Darshan: --source darshan:LOCATION brings those of the run; or the counters "
    "of one were not read: `harvest rejects` says why",
    advice="Look at dask.task_io (how = 'counted') for the files. Buffered I/O (STDIO) is "
    "never traced; where the trace was cut off, give it more memory (DXT's MODMEM).",
    reference="Darshan 3.4 runtime documentation: DXT traces POSIX and MPI-IO",
    thresholds={
        "share": Threshold(0.2, "of the bytes that are counted"),
        "bytes": Threshold(1e6, "bytes that are counted, at least"),
    },
)
def _untraced_io(run: Run, **_: float) -> Said:
    whole, untraced = run["counted_bytes"], run["untraced_bytes"]
    text = (
        f"Of {bytes_in_words(whole)} that its processes read and wrote, "
        f"{bytes_in_words(untraced)} ({share_in_words(untraced / whole)}) are counted and not "
        "traced. Of these, "
    )
    if run["untraced_task_bytes"]:
        text += f"{bytes_in_words(run['untraced_task_bytes'])} are of known tasks; "
    if run["beside_bytes"]:
        of_one = run["beside_bytes"] == run["io_prefix_beside_bytes"]
        text += (
            f"{bytes_in_words(run['beside_bytes'])} were moved while "
            f"{'only ' + run['io_prefix'] if of_one else 'tasks of one kind alone'} ran in the "
            "process; "
        )
    text += f"who moved {bytes_in_words(run['unknown_bytes'])} is not known."
    return "low", text


WORK: Final = (
    *(_failures, _repeats, _rescheduled, _garbage_collection),
    *(_event_loop, _tasks_in_io, _untraced_io),
)
