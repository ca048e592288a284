"""What the verdicts of the rules rest on: what is compared, of whom, and what is wanted for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from harvest import Basis

__all__ = ["BASES"]

_OBSERVED: Final = (
    "runs with a worker that was observed (it, or the scheduler, recorded what it executed), of "
    "whose threads it is known how many there are; workers that reported nothing are left out of "
    "both sums"
)
_EXECUTIONS: Final = (
    "executions that were not recorded, or not seen to end: scheduler_transition.csv or "
    "worker_transition.csv of the run, or a capture, brings them"
)
_NO_THREADS: Final = (
    f"{_EXECUTIONS}; how many threads workers have is in worker.e (its lines 'Threads:'), or in "
    "captures"
)
_ON_EACH_WORKER: Final = (
    "the recorder active on each worker (worker_transition.csv, and worker.csv or scheduler.e), or "
    "a capture of all, brings it"
)
_EACH_WORKER: Final = (
    f"a worker that reported nothing, or of which no registration is recorded: {_ON_EACH_WORKER}"
)
_WHOLE: Final = (
    "none is recorded, and what each worker executed is not known, attempts that were repeated "
    f"included: {_ON_EACH_WORKER}"
)
_WORKER_LOGS: Final = "no log of workers: worker.e of the run, or a capture, brings it"
_LOGS: Final = (
    "no log of the scheduler or workers: scheduler.e and worker.e, or a capture, bring it"
)
_SAMPLED: Final = "runs whose workers were sampled, once per interval"
_NOT_SAMPLED: Final = (
    "workers whose memory was not sampled, which only captures do (harvest dask capture)"
)

BASES: Final[Mapping[str, Basis]] = {
    "unused_threads": Basis(
        numerator="time of executions on workers that were observed, thread-seconds "
        "(observed_busy_s)",
        denominator="time of the same workers' threads within the span of executions, while they "
        "were there, thread-seconds (thread_s)",
        judged=_OBSERVED,
        unable=_NO_THREADS,
    ),
    "work_for_few": Basis(
        numerator="time with executions, but at most a tenth of the observed threads at once, s",
        denominator="time from the first execution to the end of the last, s (span_s)",
        judged=f"{_OBSERVED}; all executions must be on such workers",
        unable=f"{_NO_THREADS}; executions whose worker is not recorded",
    ),
    "gaps": Basis(
        numerator="time without any execution, s (gaps_s)",
        denominator="time from the first execution to the end of the last, s (span_s)",
        judged="runs all of whose workers were observed: on another one, tasks may have run "
        "meanwhile",
        unable=_EACH_WORKER,
    ),
    "imbalance": Basis(
        numerator="time of executions per thread on the busiest worker, less the mean, s "
        "(imbalance_s)",
        denominator="time from the first execution to the end of the last, s (span_s)",
        judged="runs with several workers, of which two or more were observed; the mean is over "
        "those that were",
        unable=_NO_THREADS,
    ),
    "short_tasks": Basis(
        numerator="executions times what scheduling one takes, s",
        denominator="time of executions that ended, s (busy_s)",
        judged="runs with 1,000 executions that are known, or fewer where all workers were "
        "observed",
        unable=f"{_EXECUTIONS}; {_EACH_WORKER}",
    ),
    "transfers": Basis(
        numerator="time in movements, the larger account of the two sides of each pair, s "
        "(moving_s)",
        denominator="time of executions, s (busy_s)",
        judged="runs with transfers, all of whose workers were observed and none of which is "
        "silent: else a part of moving, or of executing that it is compared with, is not known",
        unable="no transfer, or no duration of any: worker_transfer.csv, or a capture, brings "
        f"them; {_EACH_WORKER}",
    ),
    "spilling": Basis(
        numerator="results written to disk, bytes (spilled_bytes)",
        judged=_SAMPLED,
        unable=_NOT_SAMPLED,
    ),
    "full_memory": Basis(
        numerator="memory of the worker that came closest to its limit, bytes",
        denominator="its limit, bytes",
        judged=f"{_SAMPLED}, and that have a limit",
        unable=f"{_NOT_SAMPLED}, or that have no limit (dask worker --memory-limit)",
    ),
    "memory_warnings": Basis(
        numerator="lines of the logs of workers that speak of short memory",
        judged="runs with a log of workers",
        unable=_WORKER_LOGS,
    ),
    "lost_workers": Basis(
        numerator="workers that died before the last execution ended",
        judged="runs with a log of Dask, or whose workers were captured",
        unable=f"{_LOGS}; executions that were not seen to end",
    ),
    "silent_workers": Basis(
        numerator="workers that registered, and of which nothing else is recorded",
        denominator="workers that registered (registered_workers)",
        judged="runs with a record of registrations",
        unable="no registration: worker.csv or scheduler.e of the run, or a capture, brings it",
    ),
    "failures": Basis(
        numerator="executions that failed, whoever recorded it",
        denominator="executions, and failures that the scheduler alone recorded (attempts)",
        judged="runs with a failure, or whose workers all recorded what they executed",
        unable=_WHOLE,
    ),
    "repeats": Basis(
        numerator="time of all but the last execution of each task, s (repeated_s)",
        denominator="time of executions, s (busy_s)",
        judged="runs with a repeat, or whose workers all recorded what they executed",
        unable=_WHOLE,
    ),
    "garbage_collection": Basis(
        numerator="CPU time of garbage collection, %, the most of the warnings in logs",
        judged="runs with a log of the scheduler or workers",
        unable=_LOGS,
    ),
    "event_loop": Basis(
        numerator="time without response, s, the longest of the warnings in logs",
        judged="runs with a log of the scheduler or workers",
        unable=_LOGS,
    ),
    "tasks_in_io": Basis(
        numerator="time of tasks of the kind in reads and writes that are known to be theirs, s "
        "(io_prefix_s)",
        denominator="time of the executions of the kind in processes whose I/O is known, s "
        "(io_prefix_busy_s)",
        judged="runs with I/O that is tied to tasks; executions in other processes are left out of "
        "both",
        unable="no I/O is tied to a task: Darshan's logs of the workers, with traces "
        "(DXT_ENABLE_IO_TRACE=1) that name threads or of captured processes, bring it",
    ),
    "untraced_io": Basis(
        numerator="bytes that Darshan counted and did not trace (untraced_bytes)",
        denominator="bytes that it counted, of the same processes (counted_bytes)",
        judged="runs with Darshan's logs",
        unable="no log of Darshan: --source darshan:LOCATION brings those of the run; or the "
        "counters of one were not read: `harvest rejects` says why",
    ),
}
"""By name of the rule, without its family."""
