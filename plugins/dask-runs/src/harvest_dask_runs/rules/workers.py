"""Rules on workers: their memory, and what became of them."""

from __future__ import annotations

from typing import Final

from harvest import Threshold
from harvest.toolkit.amounts import bytes_in_words, count_in_words, share_in_words

from .common import LOGS, MEMORY, Run, Said, certain, lower_bound, observed, rule

_WORKER_LOGS: Final = "no log of workers: worker.e of the run, or a capture, brings it"
_SAMPLED: Final = "runs whose workers were sampled, once per interval"
_NOT_SAMPLED: Final = (
    "workers whose memory was not sampled, which only captures do (harvest dask capture)"
)


def _sampled(run: Run) -> tuple[str, ...]:
    return observed(run, "sampled_workers")


@rule(
    certainty=_sampled,
    doc="Results that workers moved to disk for want of memory: reading them again costs time.",
    where="spilled_bytes > {bytes}",
    columns=(
        *("spilled_bytes", "spilling_workers", "memory_peak_share", "memory_peak_worker"),
        "sampled_workers",
    ),
    numerator="results written to disk, bytes (spilled_bytes)",
    judged=_SAMPLED,
    unable=_NOT_SAMPLED,
    advice="Give workers more memory, use smaller chunks, or release results that are used no "
    "more.",
    reference=f"{MEMORY}: spilling begins at 60 % of a worker's memory",
    thresholds={"bytes": Threshold(0, "bytes that may be moved to disk")},
)
def _spilling(run: Run, **_: float) -> Said:
    text = (
        f"{count_in_words(run['spilling_workers'], 'worker')} moved "
        f"{bytes_in_words(run['spilled_bytes'])} of results to disk for want of memory"
    )
    if run["memory_peak_share"] is not None:
        text += (
            f"; the fullest, {run['memory_peak_worker']}, used "
            f"{share_in_words(run['memory_peak_share'])} of its memory"
        )
    return "medium", f"{text}."


@rule(
    certainty=_sampled,
    doc="A worker that came near its memory limit, where Dask stops giving it tasks and then "
    "ends it.",
    where="memory_peak_share >= {share}",
    columns=("memory_peak_share", "memory_peak_worker", "sampled_workers"),
    numerator="memory of the worker that came closest to its limit, bytes",
    denominator="its limit, bytes",
    judged=f"{_SAMPLED}, and that have a limit",
    unable=f"{_NOT_SAMPLED}, or that have no limit (dask worker --memory-limit)",
    advice="Give workers more memory or fewer threads, or use smaller chunks.",
    reference=f"{MEMORY}: a worker pauses at 80 %, and is ended at 95 %",
    thresholds={"share": Threshold(0.8, "of the memory that a worker may use")},
)
def _full_memory(run: Run, **_: float) -> Said:
    peak = run["memory_peak_share"]
    text = f"Worker {run['memory_peak_worker']} used {share_in_words(peak)}"
    return "high" if peak >= 0.95 else "medium", f"{text} of the memory that it may use."


@rule(
    certainty=lower_bound,
    doc="Warnings of the logs that workers ran short of memory.",
    where="pauses + memory_restarts + unmanaged_warnings >= {warnings}",
    columns=("memory_restarts", "pauses", "unmanaged_warnings", "workers"),
    numerator="lines of the logs of workers that speak of short memory",
    judged="runs with a log of workers",
    unable=_WORKER_LOGS,
    advice="Give workers more memory or fewer threads, or use smaller chunks; memory that Dask "
    "does not manage is that of libraries, leaks, and the allocator.",
    reference=f"{MEMORY}: pause at 80 %, terminate at 95 %, unmanaged memory",
    thresholds={"warnings": Threshold(1, "such lines")},
)
def _memory_warnings(run: Run, **_: float) -> Said:
    said = [
        f"{count_in_words(run[column], noun)} {what}"
        for column, noun, what in (
            ("memory_restarts", "worker", "ended for using too much memory"),
            ("pauses", "pause", "in which a worker took no tasks for want of memory"),
            ("unmanaged_warnings", "warning", "of memory that Dask does not manage"),
        )
        if run[column]
    ]
    text = f"The logs have {', '.join(said[:-1])}{' and ' if said[1:] else ''}{said[-1]}."
    if run["memory_restarts"]:
        return "high", text
    return "medium" if run["pauses"] else "low", text


@rule(
    certainty=lower_bound,
    doc="Workers that died while tasks ran: their results are computed again, and a task that "
    "kills several workers fails.",
    where="lost_workers >= {workers}",
    columns=("lost_workers", "lost_worker", "workers", "repeated"),
    numerator="workers that died before the last execution ended",
    judged="runs with a log of Dask, or whose workers were captured",
    unable=f"{LOGS}; executions that were not seen to end",
    advice="Look for the reason in the worker's log and in the job's accounting (out of "
    "memory, end of the allocation).",
    reference="Dask.distributed documentation, Resilience and Why did my worker die?",
    thresholds={"workers": Threshold(1, "workers that died")},
)
def _lost_workers(run: Run, **_: float) -> Said:
    lost, name = run["lost_workers"], run["lost_worker"]
    who = count_in_words(lost, "worker")
    if name:
        who = f"Worker {name}" if lost == 1 else f"{who}, {name} among them,"
    text = (
        f"{who} died before the last task ended: the results held there were lost, and what needs "
        "them is computed again."
    )
    return "high", text


@rule(
    certainty=certain,
    doc="Workers that registered but of which nothing else is recorded: a gap in the record, "
    "which reads like idleness.",
    where="silent_workers >= {workers}",
    columns=("silent_workers", "silent_worker", "silent_executed", "registered_workers"),
    numerator="workers that registered, and of which nothing else is recorded",
    denominator="workers that registered (registered_workers)",
    judged="runs with a record of registrations",
    unable="no registration: worker.csv or scheduler.e of the run, or a capture, brings it",
    advice="Look whether the recording was active on these workers; do not read their silence "
    "as idleness.",
    reference="every worker that executes or moves anything records it",
    thresholds={"workers": Threshold(1, "silent workers")},
)
def _silent_workers(run: Run, **_: float) -> Said:
    silent, registered = run["silent_workers"], run["registered_workers"]
    text = f"{silent:,} of {count_in_words(registered, 'worker')} registered and reported nothing"
    text += f", as {run['silent_worker']}; " if silent > 1 else f": {run['silent_worker']}; "
    executed = run["silent_executed"]
    if executed == 0:
        return "low", f"{text}the scheduler saw no result come from there."
    text += (
        "what was executed there is not known."
        if executed is None
        else f"{count_in_words(executed, 'execution')} there {'is' if executed == 1 else 'are'} "
        "known from the scheduler alone."
    )
    return "high" if silent == registered else "medium", text


@rule(
    certainty=certain,
    doc="Captures whose record has no end, so that it may lack what its process did last.",
    where="endless_processes >= {processes}",
    columns=("endless_processes", "endless_process", "endless_since", "processes"),
    numerator="captured processes whose record has no end",
    denominator="captured processes (processes)",
    judged="runs with captures; others have no such record",
    unable="never: how many captures were read is known",
    advice="Where the process was killed, nothing brings the rest; where it still ran, harvest the "
    "capture again. End a capture before its cluster or script ends.",
    reference="a record that ended has the frame 'end' (docs/explanation/dask-capture-format.md)",
    thresholds={"processes": Threshold(1, "records without an end")},
)
def _cut_records(run: Run, **_: float) -> Said:
    many, since = run["endless_processes"], run["endless_since"]
    last = "at an unknown time" if since is None else f"last at {since:%Y-%m-%d %H:%M:%S} UTC"
    text = (
        f"The {'record' if many == 1 else 'records'} of {many:,} of "
        f"{count_in_words(run['processes'], 'captured process', 'captured processes')} "
        f"{'stops' if many == 1 else 'stop'} without an end"
    )
    name = run["endless_process"] or "a process without a name"
    if name.startswith("scheduler"):
        return "high", f"{text}: of {name}, {last}; what the run did later is not recorded."
    return "low", f"{text}{', as' if many > 1 else ':'} of {name}, {last}."


WORKERS: Final = (
    *(_spilling, _full_memory, _memory_warnings),
    *(_lost_workers, _silent_workers, _cut_records),
)
