"""Rules on workers: their memory, deaths, and gaps in their records."""

from typing import Final

from harvest import Finding, Threshold
from harvest.toolkit.amounts import bytes_in_words, count_in_words, share_in_words

from .common import LOGS, MEMORY, Run, lower_bound, observed, rule

_WORKER_LOGS: Final = "harvest with worker.e of the run, or with a capture"
_SAMPLED: Final = "Runs whose workers were sampled, once per interval"
_NOT_SAMPLED: Final = "record the run with `harvest dask capture`, which samples the memory"


def _sampled(run: Run) -> tuple[str, ...]:
    return observed(run, "sampled_workers")


@rule(
    certainty=_sampled,
    doc="Results that workers moved to disk for lack of memory: reading them again costs time.",
    where="spilled_bytes > {bytes}",
    columns=(
        *("spilled_bytes", "spilling_workers", "memory_peak_share", "memory_peak_worker"),
        "sampled_workers",
    ),
    numerator="results written to disk, bytes (spilled_bytes)",
    judged=f"{_SAMPLED}.",
    unable=_NOT_SAMPLED,
    advice="Give workers more memory, use smaller chunks, or release results that you no longer "
    "use.",
    reference=f"{MEMORY}: spilling begins at 60 % of a worker's memory",
    thresholds={"bytes": Threshold(0, "bytes that may be moved to disk")},
)
def _spilling(run: Run, **_: float) -> Finding:
    peak = run["memory_peak_share"]
    return Finding(
        "medium",
        f"{count_in_words(run['spilling_workers'], 'worker')} spilled "
        f"{bytes_in_words(run['spilled_bytes'])} of results to disk",
        ""
        if peak is None
        else f"The fullest, {run['memory_peak_worker']}, used {share_in_words(peak)} of its "
        "memory limit.",
    )


@rule(
    certainty=_sampled,
    doc="A worker that came near its memory limit, where Dask stops giving it tasks and then "
    "ends it.",
    where="memory_peak_share >= {share}",
    columns=("memory_peak_share", "memory_peak_worker", "sampled_workers"),
    numerator="memory of the worker that came closest to its limit, bytes",
    denominator="its limit, bytes",
    judged=f"{_SAMPLED}, and that have a limit.",
    unable=f"{_NOT_SAMPLED}; workers need a limit (dask worker --memory-limit)",
    advice="Give workers more memory or fewer threads, or use smaller chunks.",
    reference=f"{MEMORY}: a worker pauses at 80 %, and is ended at 95 %",
    thresholds={"share": Threshold(0.8, "of the memory that a worker may use")},
)
def _full_memory(run: Run, **_: float) -> Finding:
    peak = run["memory_peak_share"]
    return Finding(
        "high" if peak >= 0.95 else "medium",
        f"Fullest worker used {share_in_words(peak)} of its memory limit",
        f"Worker {run['memory_peak_worker']}. Dask pauses a worker at 80 % and ends it at 95 %.",
    )


@rule(
    certainty=lower_bound,
    doc="Warnings in the logs that workers ran short of memory.",
    where="pauses + memory_restarts + unmanaged_warnings >= {warnings}",
    columns=("memory_restarts", "pauses", "unmanaged_warnings", "workers"),
    numerator="lines in the logs of workers about short memory",
    judged="Runs with a log of workers.",
    unable=_WORKER_LOGS,
    advice="Give workers more memory or fewer threads, or use smaller chunks. Libraries, leaks "
    "and the allocator hold unmanaged memory.",
    reference=f"{MEMORY}: pause at 80 %, terminate at 95 %, unmanaged memory",
    thresholds={"warnings": Threshold(1, "such lines")},
)
def _memory_warnings(run: Run, **_: float) -> Finding:
    headline, *others = (
        f"{count_in_words(run[column], noun)} {what}"
        for column, noun, what in (
            ("memory_restarts", "worker", "ended for using too much memory"),
            ("pauses", "pause", "of workers for lack of memory"),
            ("unmanaged_warnings", "warning", "of memory that Dask does not manage"),
        )
        if run[column]
    )
    return Finding(
        "high" if run["memory_restarts"] else "medium" if run["pauses"] else "low",
        headline,
        f"The logs also have {' and '.join(others)}." if others else "",
    )


@rule(
    certainty=lower_bound,
    doc="Workers that died while tasks ran. Their results are computed again, and a task that "
    "kills several workers fails.",
    where="lost_workers >= {workers}",
    columns=("lost_workers", "lost_worker", "workers", "repeated"),
    numerator="workers that died before the last execution ended",
    judged="Runs with a log of Dask, or whose workers were captured.",
    unable=f"{LOGS}. Each execution must be seen to end",
    advice="Look for the reason in the worker's log and in the job's accounting (out of "
    "memory, end of the allocation).",
    reference="Dask.distributed documentation, Resilience and Why did my worker die?",
    thresholds={"workers": Threshold(1, "workers that died")},
)
def _lost_workers(run: Run, **_: float) -> Finding:
    lost, name = run["lost_workers"], run["lost_worker"]
    example = f"{'For example' if lost > 1 else 'Worker'} {name}. " if name else ""
    return Finding(
        "high",
        f"{count_in_words(lost, 'worker')} died before the last task ended",
        f"{example}Results held there were lost; Dask computes again what is needed.",
    )


@rule(
    certainty=None,
    doc="Workers that registered but recorded nothing else: a gap in the record that looks like "
    "idleness.",
    where="silent_workers >= {workers}",
    columns=("silent_workers", "silent_worker", "silent_executed", "registered_workers"),
    numerator="workers that registered and recorded nothing else",
    denominator="workers that registered (registered_workers)",
    judged="Runs with a record of registrations.",
    unable="harvest with worker.csv or scheduler.e of the run, or with a capture",
    advice="Check that the recorder was active on these workers. Do not read their silence as "
    "idleness.",
    reference="every worker that executes or moves anything records it",
    thresholds={"workers": Threshold(1, "silent workers")},
)
def _silent_workers(run: Run, **_: float) -> Finding:
    silent, registered = run["silent_workers"], run["registered_workers"]
    executed = run["silent_executed"]
    severity: Final = "high" if silent == registered else "medium"
    if executed is None:
        there = "What they executed is unknown."
    elif executed:
        there = f"Only the scheduler recorded {count_in_words(executed, 'execution')} there."
    else:
        there = "The scheduler saw no result from there."
    return Finding(
        "low" if executed == 0 else severity,
        f"{silent:,} of {count_in_words(registered, 'worker')} registered but recorded nothing",
        f"{'For example' if silent > 1 else 'Worker'} {run['silent_worker']}. {there}",
    )


@rule(
    certainty=None,
    doc="Captures without an end: they may lack what their process did last.",
    where="endless_processes >= {processes}",
    columns=("endless_processes", "endless_process", "endless_since", "processes"),
    numerator="captured processes whose record has no end",
    denominator="captured processes (processes)",
    judged="Runs with captures; others have no such record.",
    unable="never: how many captures were read is known",
    advice="Harvest again if the process still ran; if it was killed, the rest is lost. "
    "End a capture before its cluster ends.",
    reference="a record that ended has the frame 'end' (docs/explanation/dask-capture-format.md)",
    thresholds={"processes": Threshold(1, "records without an end")},
)
def _cut_records(run: Run, **_: float) -> Finding:
    many, since = run["endless_processes"], run["endless_since"]
    last = "at an unknown time" if since is None else f"at {since:%Y-%m-%d %H:%M:%S} UTC"
    name = run["endless_process"] or "a process without a name"
    scheduler = name.startswith("scheduler")
    later = "; what the run did later is not recorded" if scheduler else ""
    return Finding(
        "high" if scheduler else "low",
        f"{many:,} of {count_in_words(run['processes'], 'capture')} "
        f"{'has' if many == 1 else 'have'} no end",
        f"{'For example, the' if many > 1 else 'The'} record of {name} stops {last}{later}.",
    )


ON_WORKERS: Final = (
    *(_spilling, _full_memory, _memory_warnings),
    *(_lost_workers, _silent_workers, _cut_records),
)
