"""Rules on time: whether all threads had enough work."""

from typing import Final

from harvest import Finding, Threshold
from harvest.toolkit.amounts import bytes_in_words, count_in_words, seconds_in_words, share_in_words
from harvest.toolkit.layout import shorten

from . import common

_RAN: Final = (
    *("few_prefixes", "few_shares", "few_prefix", "few_key", "few_key_s", "few_dependents"),
    "few_dependents_prefix",
)
_AWAITED: Final = {
    "moving": "waited for a transfer",
    "spilling": "waited for its worker to move results to or from disk",
    "waiting for a worker": "waited for a worker or a thread",
    "waiting for dependencies": "waited for its dependencies",
}


def _what_ran(run: common.Run) -> str:
    """Describe the task that ran longest while few threads worked, and what waited for it."""
    if not run["few_prefixes"]:
        return ""
    key = shorten(run["few_key"], 24, "id")
    text = f"The longest task, {key}, ran {seconds_in_words(run['few_key_s'])}"
    if run["few_dependents"]:
        text += f"; {count_in_words(run['few_dependents'], 'task')} waited for it"
    return f"{text}."


def _what_was_awaited(run: common.Run) -> str:
    """Describe the task that ended the longest gap, and what it waited for."""
    if run["gap_part"] is None:
        return ""
    client = run["gap_link"] == "client" and "had not been sent by the client"
    why = _AWAITED.get(run["gap_part"]) or client or "waited for something not recorded"
    return f" The next task, {run['gap_prefix']}, {why}."


def _critical_path(run: common.Run) -> str:
    if run["path_computing_s"] is None:
        return ""
    return (
        f"{count_in_words(run['path_tasks'], 'task')} on its critical path ran for "
        f"{seconds_in_words(run['path_computing_s'])}, mostly {run['path_prefix']}."
    )


@common.rule(
    doc="Threads without work while others had some. The run would take as long with fewer "
    "threads, or less time with more parallel work.",
    where="used_share < {share} and thread_s - observed_busy_s > {seconds}",
    columns=(
        *("used_share", "peak_threads", "few_threads", "path_computing_s", "path_tasks"),
        *("path_prefix", "path_prefix_s", *_RAN, *common.TIME),
    ),
    numerator="time of executions on observed workers, thread-seconds (observed_busy_s)",
    denominator="time of the same workers' threads from the first execution to the end of the "
    "last, thread-seconds (thread_s)",
    judged=common.OBSERVED,
    unable=common.NO_THREADS,
    advice="Ask for fewer threads, or cut the work into more tasks that can run in parallel.",
    reference="parallel efficiency of the POP Centre of Excellence, which finds less than "
    "80 % worth a look; below half, more is idle than used",
    thresholds={
        "share": Threshold(0.5, "of the thread-seconds that tasks should use"),
        "seconds": Threshold(10, "thread-seconds that were not used, at least"),
    },
)
def _unused_threads(run: common.Run, *, share: float, **_: float) -> Finding:
    threads = count_in_words(run["observed_threads"], "thread")
    part = f"{common.workers_in_words(run)}. " if common.is_part(run) else ""
    # the other workers may have been busier
    much = run["used_share"] < share / 2 and not part
    return Finding(
        "high" if much else "medium",
        f"{threads} ran tasks {share_in_words(run['used_share'])} of the time",
        f"{part}{run['observed_busy_s']:,.0f} of {run['thread_s']:,.0f} thread-seconds used, at "
        f"most {count_in_words(run['peak_threads'], 'task')} at the same time. "
        f"{_critical_path(run) or _what_ran(run)}".rstrip(),
    )


@common.rule(
    doc="Time in which a tenth of the threads or fewer had a task: a serial part, or "
    "stragglers at the end. More threads do not make it faster.",
    where="peak_threads > few_threads and serial_s > {share} * span_s and serial_s > {seconds}",
    columns=(
        *("serial_s", "tail_s", "few_threads", "peak_threads", "last_prefix", *_RAN, *common.TIME),
    ),
    numerator="time with executions on at most a tenth of the observed threads, s (serial_s)",
    denominator=common.SPAN,
    judged=f"{common.OBSERVED} All executions must be on observed workers.",
    unable=f"{common.NO_THREADS}. Each execution needs a recorded worker",
    advice="Cut what runs alone into smaller tasks, begin it earlier, or run other work at the "
    "same time (see dask.critical_path).",
    reference="Amdahl's law (1967): a serial share of 20 % limits the gain to a factor of 5",
    thresholds=common.of_span(0.2),
)
def _work_for_few(run: common.Run, **_: float) -> Finding:
    part, few = run["serial_s"] / run["span_s"], run["few_threads"]
    observed = f" ({common.workers_in_words(run)})" if common.is_part(run) else ""
    number = "1" if few == 1 else f"1 {'or' if few == 2 else 'to'} {few:,}"
    text = f"{common.part_of(run['serial_s'], run['span_s'])}{observed}."
    if run["tail_s"] >= 0.1 * run["span_s"]:
        text += f" The last {seconds_in_words(run['tail_s'])} never had more, idle time included."
    return Finding(
        "high" if part > 0.5 and not common.is_part(run) else "medium",
        f"Only {number} of {run['observed_threads']:,} threads busy "
        f"{share_in_words(part)} of the time",
        f"{text} {_what_ran(run)}".rstrip(),
    )


@common.rule(
    doc="Time between the first task and the last in which none ran: the client was preparing "
    "the next graph, or the tasks waited for something else.",
    where="gaps_s > {share} * span_s and gaps_s > {seconds}",
    columns=(
        *("gaps_s", "longest_gap_s", "longest_gap_start", "gap_prefix", "gap_part", "gap_link"),
        *common.TIME,
    ),
    numerator="time without any execution, s (gaps_s)",
    denominator=common.SPAN,
    judged="Runs whose workers were all observed: tasks may have run on any other.",
    unable=common.EACH_WORKER,
    advice="Send work in one graph instead of several, or send the next graph before the last "
    "result is there (client.compute, as_completed).",
    reference=f"{common.BEST} (avoid calling compute repeatedly)",
    thresholds=common.of_span(0.1),
)
def _gaps(run: common.Run, **_: float) -> Finding:
    part = run["gaps_s"] / run["span_s"]
    begins = (run["longest_gap_start"] - run["first_start"]).total_seconds()
    return Finding(
        "high" if part > 0.5 else "medium",
        f"No task ran for {share_in_words(part)} of the time",
        f"{common.part_of(run['gaps_s'], run['span_s'])}. The longest gap lasted "
        f"{seconds_in_words(run['longest_gap_s'])} and began {seconds_in_words(begins)} after the "
        f"first task.{_what_was_awaited(run)}",
    )


@common.rule(
    doc="A worker with much more work than the others: the run lasts as long as it does.",
    among="workers > 1",
    where="imbalance_s > {share} * span_s and imbalance_s > {seconds}",
    columns=(
        *("imbalance_s", "busiest_worker", "busiest_s", "mean_worker_s", "idle_workers"),
        *common.TIME,
    ),
    numerator="time of executions per thread on the busiest worker, less the mean, s (imbalance_s)",
    denominator=common.SPAN,
    judged="Runs with two or more observed workers. The mean is over the observed workers.",
    unable=common.NO_THREADS,
    advice="Cut large tasks into several of the same size, and do not pin tasks to workers. "
    "Work stealing moves only tasks that have not begun.",
    reference="imbalance time, largest minus mean: DeRose, Homer and Johnson, Euro-Par 2007",
    thresholds=common.of_span(0.1),
)
def _imbalance(run: common.Run, **_: float) -> Finding:
    idle = run["idle_workers"]
    much = run["imbalance_s"] > 0.5 * run["span_s"] and not common.is_part(run)
    return Finding(
        "high" if much else "medium",
        f"Busiest worker has {seconds_in_words(run['imbalance_s'])} more work than the mean",
        f"Worker {run['busiest_worker']} ran tasks for {seconds_in_words(run['busiest_s'])} per "
        f"thread. The mean of {common.workers_in_words(run)} is "
        f"{seconds_in_words(run['mean_worker_s'])}{f'; {idle:,} ran nothing' if idle else ''}.",
    )


@common.rule(
    doc="Tasks so short that scheduling them costs about as much as executing them.",
    # a small number of executions is certain only if all workers were observed
    where="case when executions >= 1000 then median_s < {milliseconds} / 1000 and executions * "
    "{overhead} / 1000 > {share} * busy_s when observed_workers = workers then false end",
    columns=(
        *("median_s", "executions", "busy_s", "commonest_prefix", "commonest_executions"),
        "commonest_median_s",
    ),
    numerator="executions times what scheduling one takes, s",
    denominator="time of executions that ended, s (busy_s)",
    judged="Runs with 1,000 recorded executions, or fewer where all workers were observed.",
    unable=f"{common.EXECUTIONS}. {common.EACH_WORKER}",
    advice="Use larger chunks or partitions, or do several steps in one task.",
    reference=f"{common.BEST} (avoid very large graphs) and Dask.distributed, Limitations: up to "
    "1 ms per task, so tasks should last 10 to 100 ms and more",
    thresholds={
        "milliseconds": Threshold(10, "ms that half of the executions should last"),
        "overhead": Threshold(1, "ms that scheduling a task takes"),
        "share": Threshold(0.1, "of the time of executions that scheduling may take"),
    },
)
def _short_tasks(run: common.Run, *, overhead: float, **_: float) -> Finding:
    cost = run["executions"] * overhead / 1000
    part = cost / run["busy_s"]
    return Finding(
        "high" if part > 1 else "medium",
        f"Half of {count_in_words(run['executions'], 'execution')} last less than "
        f"{seconds_in_words(run['median_s'])}",
        f"At {overhead:g} ms each, scheduling them costs {share_in_words(part)} of the execution "
        f"time. Most are {run['commonest_prefix']}: {run['commonest_executions']:,} with a median "
        f"of {seconds_in_words(run['commonest_median_s'])}.",
    )


@common.rule(
    doc="Results that take long to move between workers, compared with the time of executions.",
    # the share is null if a part of the transfers or executions is unknown
    where="transfer_share > {share} and transfer_share * busy_s > {seconds}",
    columns=(
        *("transfer_share", "moving_s", "moved_bytes", "movements", "busy_s"),
        *("largest_source", "largest_target", "largest_bytes"),
    ),
    numerator="time in movements, the larger account of the two sides of each pair, s (moving_s)",
    denominator=common.BUSY,
    judged="Runs with transfers whose workers were all observed, with no silent worker. Else a "
    "part of the transfers or executions is unknown.",
    unable=f"harvest with worker_transfer.csv, or with a capture. {common.EACH_WORKER}",
    advice="Run tasks that use the same data on one worker (fewer, larger workers or fused "
    "tasks), and make results smaller before they move.",
    reference="Dask documentation, Stages of Computation; a fifth of the time of executions "
    "is worth a change",
    thresholds={
        "share": Threshold(0.2, "of the time of executions that moving may take"),
        "seconds": common.SECONDS,
    },
)
def _transfers(run: common.Run, **_: float) -> Finding:
    part, moved, largest = run["transfer_share"], run["moved_bytes"], run["largest_bytes"]
    said = []
    if moved is not None:
        said.append(
            f"{bytes_in_words(moved)} moved between workers and to clients, at "
            f"{bytes_in_words(moved / run['moving_s'])}/s."
        )
    if largest is not None:
        share = common.size_of(largest, moved) if moved else bytes_in_words(largest)
        said.append(f"{share} went from {run['largest_source']} to {run['largest_target']}.")
    return Finding(
        "high" if part > 1 else "medium",
        f"Transfers took {seconds_in_words(run['moving_s'])}, {share_in_words(part)} of the "
        "execution time",
        " ".join(said),
    )


THREADS: Final = (_unused_threads, _work_for_few, _gaps, _imbalance, _short_tasks, _transfers)
