"""Rules on time: whether all threads had work, and work enough."""

from __future__ import annotations

from typing import Final

from harvest import Threshold
from harvest.toolkit.amounts import bytes_in_words, count_in_words, seconds_in_words, share_in_words

from .common import (
    BEST,
    EACH_WORKER,
    EXECUTIONS,
    NO_THREADS,
    OBSERVED,
    SECONDS,
    SPAN,
    TIME,
    Run,
    Said,
    is_part,
    of_span,
    rule,
)

_RAN: Final = (
    *("few_prefixes", "few_shares", "few_prefix", "few_key", "few_key_s", "few_dependents"),
    "few_dependents_prefix",
)
_AWAITED: Final = {
    "moving": "waited for a transfer of what it needs",
    "spilling": "waited while its worker moved results to or from disk",
    "waiting for a worker": "waited for a worker or a thread",
    "waiting for dependencies": "waited for what it needs",
}


def _what_ran(run: Run) -> str:
    """Which executions there were while few threads worked, and what waited for the longest."""
    if not run["few_prefixes"]:
        return ""
    kinds = zip(run["few_prefixes"], run["few_shares"], strict=True)
    ran = ", ".join(f"{kind or '(no kind)'} ({share_in_words(share)})" for kind, share in kinds)
    text = (
        f" Of the time executed then: {ran}; longest, for {seconds_in_words(run['few_key_s'])}, "
        f"the task {run['few_key']}"
    )
    if run["few_dependents"]:
        needing = count_in_words(run["few_dependents"], "task")
        text += f", for whose result {needing} waited ({run['few_dependents_prefix']})"
    return f"{text}."


def _what_was_awaited(run: Run) -> str:
    """What the longest gap ended with, and why that did not begin earlier."""
    if run["gap_part"] is None:
        return ""
    if why := _AWAITED.get(run["gap_part"]):
        return f" Then {run['gap_prefix']} began, which {why}."
    if run["gap_link"] == "client":
        return f" Then {run['gap_prefix']} began, which the client had not sent before."
    return f" Then {run['gap_prefix']} began; what it waited for is not recorded."


def _critical_path(run: Run) -> str:
    """How much of the time one task after the other took, which no number of threads shortens."""
    if run["path_computing_s"] is None:
        return ""
    tasks, most = run["path_tasks"], run["path_prefix_s"]
    return (
        f" On its critical path, {count_in_words(tasks, 'task')} that followed each other were "
        f"executed for {seconds_in_words(run['path_computing_s'])}, {run['path_prefix']} for "
        f"{seconds_in_words(most)} of that."
    )


def _all_or_observed(run: Run) -> str:
    if is_part(run):
        return f"the {run['observed_workers']:,} of {run['workers']:,} workers that were observed"
    return count_in_words(run["workers"], "worker")


@rule(
    doc="Threads that executed nothing while others did: the run would take as long with "
    "fewer, or be faster with more parallel work.",
    where="used_share < {share} and thread_s - observed_busy_s > {seconds}",
    columns=(
        *("used_share", "peak_threads", "few_threads", "path_computing_s", "path_tasks"),
        *("path_prefix", "path_prefix_s", *_RAN, *TIME),
    ),
    numerator="time of executions on workers that were observed, thread-seconds (observed_busy_s)",
    denominator="time of the same workers' threads within the span of executions, while they were "
    "there, thread-seconds (thread_s)",
    judged=OBSERVED,
    unable=NO_THREADS,
    advice="Ask for fewer threads, or cut the work into more tasks that can run side by side; "
    "the other findings may say why the threads had none.",
    reference="parallel efficiency as of the POP Centre of Excellence, which calls less than "
    "80 % worth a look; below half, more is idle than used",
    thresholds={
        "share": Threshold(0.5, "of the threads' time that should be used"),
        "seconds": Threshold(10, "thread-seconds that were not used, at least"),
    },
)
def _unused_threads(run: Run, *, share: float, **_: float) -> Said:
    threads = count_in_words(run["observed_threads"], "thread")
    text = (
        f"{f'The {threads} of {_all_or_observed(run)}' if is_part(run) else f'Its {threads}'} "
        f"executed tasks in {share_in_words(run['used_share'])} of the "
        f"{seconds_in_words(run['span_s'])} between the first task and the end of the last "
        f"({run['observed_busy_s']:,.0f} of {run['thread_s']:,.0f} thread-seconds); at most "
        f"{count_in_words(run['peak_threads'], 'task')} ran at the same time."
        f"{_critical_path(run)}"
    )
    if run["few_threads"] is not None and run["peak_threads"] <= run["few_threads"]:
        text += _what_ran(run)  # there were never more, so that dask.work_for_few is silent
    # what the others did may make it less bad
    much = run["used_share"] < share / 2 and not is_part(run)
    return "high" if much else "medium", text


@rule(
    doc="Time in which a tenth of the threads or fewer had a task: a serial part, or "
    "stragglers at the end, that more threads do not make faster.",
    where="peak_threads > few_threads and serial_s > {share} * span_s and serial_s > {seconds}",
    columns=(*("serial_s", "tail_s", "few_threads", "peak_threads", "last_prefix", *_RAN, *TIME),),
    numerator="time with executions, but at most a tenth of the observed threads at once, s",
    denominator=SPAN,
    judged=f"{OBSERVED}; all executions must be on such workers",
    unable=f"{NO_THREADS}; executions whose worker is not recorded",
    advice="Cut what runs alone into smaller tasks, begin it earlier, or let the rest of the "
    "work run beside it; dask.critical_path has what followed what.",
    reference="Amdahl's law (1967): a serial share of 20 % limits the gain to a factor of 5",
    thresholds=of_span(0.2),
)
def _work_for_few(run: Run, **_: float) -> Said:
    part, few = run["serial_s"] / run["span_s"], run["few_threads"]
    of_whom = f" (those of {_all_or_observed(run)})" if is_part(run) else ""
    text = (
        f"For {seconds_in_words(run['serial_s'])} of {seconds_in_words(run['span_s'])} "
        f"({share_in_words(part)}) {'one thread' if few == 1 else f'at most {few:,} threads'} of "
        f"{run['observed_threads']:,}{of_whom} executed tasks"
    )
    if run["tail_s"] >= 0.1 * run["span_s"]:
        text += (
            f", and from {seconds_in_words(run['tail_s'])} before the end on no more than that; "
            f"{run['last_prefix']} ended last"
        )
    much = part > 0.5 and not is_part(run)
    return "high" if much else "medium", f"{text}.{_what_ran(run)}"


@rule(
    doc="Time between the first task and the last in which none ran: the client was preparing "
    "the next graph, or something else was waited for.",
    where="gaps_s > {share} * span_s and gaps_s > {seconds}",
    columns=(
        *("gaps_s", "longest_gap_s", "longest_gap_start", "gap_prefix", "gap_part", "gap_link"),
        *TIME,
    ),
    numerator="time without any execution, s (gaps_s)",
    denominator=SPAN,
    judged="runs all of whose workers were observed: on another one, tasks may have run meanwhile",
    unable=EACH_WORKER,
    advice="Send work in one graph instead of several, or send the next one before the result "
    "of the last is there (client.compute, as_completed).",
    reference=f"{BEST} (avoid calling compute repeatedly)",
    thresholds=of_span(0.1),
)
def _gaps(run: Run, **_: float) -> Said:
    part = run["gaps_s"] / run["span_s"]
    begins = (run["longest_gap_start"] - run["first_start"]).total_seconds()
    text = (
        f"For {seconds_in_words(run['gaps_s'])} of {seconds_in_words(run['span_s'])} "
        f"({share_in_words(part)}) no task ran, though more were to come; the longest gap of "
        f"{seconds_in_words(run['longest_gap_s'])} begins {seconds_in_words(begins)} after the "
        f"first task.{_what_was_awaited(run)}"
    )
    return "high" if part > 0.5 else "medium", text


@rule(
    doc="A worker with much more work than the others: the run lasts as long as it does.",
    among="workers > 1",
    where="imbalance_s > {share} * span_s and imbalance_s > {seconds}",
    columns=(
        *("imbalance_s", "busiest_worker", "busiest_s", "mean_worker_s", "idle_workers"),
        *TIME,
    ),
    numerator="time of executions per thread on the busiest worker, less the mean, s (imbalance_s)",
    denominator=SPAN,
    judged="runs with several workers, of which two or more were observed; the mean is over those "
    "that were",
    unable=NO_THREADS,
    advice="Cut large tasks into several of the same size, and do not pin tasks to workers; "
    "work stealing moves only what has not begun.",
    reference="imbalance time, largest minus mean: DeRose, Homer and Johnson, Euro-Par 2007",
    thresholds=of_span(0.1),
)
def _imbalance(run: Run, **_: float) -> Said:
    idle = run["idle_workers"]
    text = (
        f"Worker {run['busiest_worker']} executed tasks for "
        f"{seconds_in_words(run['busiest_s'])} per thread, the mean of "
        f"{_all_or_observed(run)} is {seconds_in_words(run['mean_worker_s'])}: "
        f"spread evenly, its work would end up to {seconds_in_words(run['imbalance_s'])} earlier"
    )
    if idle:
        text += f"; {count_in_words(idle, 'worker')} executed nothing"
    much = run["imbalance_s"] > 0.5 * run["span_s"] and not is_part(run)
    return "high" if much else "medium", f"{text}."


@rule(
    doc="Tasks so short that scheduling them costs about as much as executing them.",
    # few executions are known to be few where all workers were observed
    where="case when executions >= 1000 then median_s < {milliseconds} / 1000 "
    "and executions * {overhead} / 1000 > {share} * busy_s "
    "when observed_workers = workers then false end",
    columns=(
        *("median_s", "executions", "busy_s", "commonest_prefix", "commonest_executions"),
        "commonest_median_s",
    ),
    numerator="executions times what scheduling one takes, s",
    denominator="time of executions that ended, s (busy_s)",
    judged="runs with 1,000 executions that are known, or fewer where all workers were observed",
    unable=f"{EXECUTIONS}; {EACH_WORKER}",
    advice="Use larger chunks or partitions, or do several steps in one task.",
    reference=f"{BEST} (avoid very large graphs) and Dask.distributed, Limitations: up to "
    "1 ms per task, so tasks should last 10 to 100 ms and more",
    thresholds={
        "milliseconds": Threshold(10, "ms that half of the executions should last"),
        "overhead": Threshold(1, "ms that scheduling a task takes"),
        "share": Threshold(0.1, "of the time of executions that scheduling may take"),
    },
)
def _short_tasks(run: Run, *, overhead: float, **_: float) -> Said:
    cost = run["executions"] * overhead / 1000
    part = cost / run["busy_s"]
    text = (
        f"Half of its {count_in_words(run['executions'], 'execution')} last less than "
        f"{seconds_in_words(run['median_s'])}. At about {overhead:g} ms each, scheduling them "
        f"takes {seconds_in_words(cost)} beside {seconds_in_words(run['busy_s'])} of executing "
        f"({share_in_words(part)}). Most are {run['commonest_prefix']} "
        f"({run['commonest_executions']:,}, median {seconds_in_words(run['commonest_median_s'])})."
    )
    return "high" if part > 1 else "medium", text


@rule(
    doc="Results that take long to move between workers, against the time of executing.",
    # by the share, which is not known where a part of moving or executing is not
    where="transfer_share > {share} and transfer_share * busy_s > {seconds}",
    columns=(
        *("transfer_share", "moving_s", "moved_bytes", "movements", "busy_s"),
        *("largest_source", "largest_target", "largest_bytes"),
    ),
    numerator="time in movements, the larger account of the two sides of each pair, s (moving_s)",
    denominator="time of executions, s (busy_s)",
    judged="runs with transfers, all of whose workers were observed and none of which is silent: "
    "else a part of moving, or of executing that it is compared with, is not known",
    unable="no transfer, or no duration of any: worker_transfer.csv, or a capture, brings them; "
    f"{EACH_WORKER}",
    advice="Let tasks that use the same data run on one worker (fewer, larger workers; fusing "
    "tasks), and make results smaller before they move.",
    reference="Dask documentation, Stages of Computation; a fifth of executing is taken to be "
    "worth a change",
    thresholds={
        "share": Threshold(0.2, "of the time of executions that moving may take"),
        "seconds": SECONDS,
    },
)
def _transfers(run: Run, **_: float) -> Said:
    part = run["transfer_share"]
    moved, rate = "results", ""
    if run["moved_bytes"] is not None:
        moved = bytes_in_words(run["moved_bytes"])
        rate = f" ({bytes_in_words(run['moved_bytes'] / run['moving_s'])}/s)"
    text = (
        f"Moving {moved} between workers and to clients took "
        f"{seconds_in_words(run['moving_s'])}{rate}, {share_in_words(part)} of the "
        f"{seconds_in_words(run['busy_s'])} of executing"
    )
    if run["largest_bytes"] is not None:
        text += (
            f"; most, {bytes_in_words(run['largest_bytes'])}, went from {run['largest_source']} to "
            f"{run['largest_target']}"
        )
    return "high" if part > 1 else "medium", f"{text}."


THREADS: Final = (
    *(_unused_threads, _work_for_few, _gaps),
    *(_imbalance, _short_tasks, _transfers),
)
