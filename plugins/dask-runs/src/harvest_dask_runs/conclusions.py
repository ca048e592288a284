"""What is said of a run by its numbers: a finding from a row of ``dask.indicators``.

Each takes the row by name of column, and the thresholds of its rule.
"""

from __future__ import annotations

from typing import Any, Final

from harvest import Finding
from harvest.toolkit.amounts import (
    bytes_in_words,
    count_in_words,
    seconds_in_words,
    share_in_words,
)

ERROR_SHOWN: Final = 100
"""Characters of an error that a sentence has."""


def _certainty(run: dict[str, Any], *, counted: str = "observed_workers") -> tuple[str, ...]:
    """Whether only a part was observed, and whether the record is known to lack more.

    counted: the column that has how many workers the finding is about.
    """
    known, workers = run[counted], run["workers"]
    part = known is not None and workers is not None and known < workers
    return (*(("part",) if part else ()), *(("lower_bound",) if run["cut"] else ()))


def _is_part(run: dict[str, Any]) -> bool:
    return "part" in _certainty(run)


def unused_threads(run: dict[str, Any], *, share: float, seconds: float) -> Finding:
    """Threads that were there and executed nothing."""
    threads = count_in_words(run["observed_threads"], "thread")
    text = (
        f"{f'The {threads} of {_all_or_observed(run)}' if _is_part(run) else f'Its {threads}'} "
        f"executed tasks in {share_in_words(run['used_share'])} of the "
        f"{seconds_in_words(run['span_s'])} between the first task and the end of the last "
        f"({run['observed_busy_s']:,.0f} of {run['thread_s']:,.0f} thread-seconds); at most "
        f"{count_in_words(run['peak_threads'], 'task')} ran at the same time."
    )
    certainty = _certainty(run)
    # what the others did may make it less bad
    much = run["used_share"] < share / 2 and not _is_part(run)
    return Finding("high" if much else "medium", text, certainty=certainty)


def work_for_few(run: dict[str, Any], *, share: float, seconds: float) -> Finding:
    """Time in which few threads had work."""
    part = run["serial_s"] / run["span_s"]
    of_whom = f" (those of {_all_or_observed(run)})" if _is_part(run) else ""
    text = (
        f"For {seconds_in_words(run['serial_s'])} of {seconds_in_words(run['span_s'])} "
        f"({share_in_words(part)}) {_few(run)} of {run['observed_threads']:,}{of_whom} executed "
        "tasks"
    )
    if run["tail_s"] >= 0.1 * run["span_s"]:
        text += (
            f", and from {seconds_in_words(run['tail_s'])} before the end on no more than that; "
            f"{run['last_prefix']} ended last"
        )
    certainty = _certainty(run)
    much = part > 0.5 and not _is_part(run)
    return Finding("high" if much else "medium", f"{text}.", certainty=certainty)


def _few(run: dict[str, Any]) -> str:
    few = run["few_threads"]
    return "one thread" if few == 1 else f"at most {few:,} threads"


def gaps(run: dict[str, Any], *, share: float, seconds: float) -> Finding:
    """Time in which no task ran."""
    part = run["gaps_s"] / run["span_s"]
    begins = (run["longest_gap_start"] - run["first_start"]).total_seconds()
    text = (
        f"For {seconds_in_words(run['gaps_s'])} of {seconds_in_words(run['span_s'])} "
        f"({share_in_words(part)}) no task ran, though more were to come; the longest gap of "
        f"{seconds_in_words(run['longest_gap_s'])} begins {seconds_in_words(begins)} after the "
        "first task."
    )
    return Finding("high" if part > 0.5 else "medium", text, certainty=_certainty(run))


def imbalance(run: dict[str, Any], *, share: float, seconds: float) -> Finding:
    """Work that lies on few workers."""
    idle = run["idle_workers"]
    text = (
        f"Worker {run['busiest_worker']} executed tasks for "
        f"{seconds_in_words(run['busiest_s'])} per thread, the mean of "
        f"{_all_or_observed(run)} is {seconds_in_words(run['mean_worker_s'])}: "
        f"spread evenly, its work would end up to {seconds_in_words(run['imbalance_s'])} earlier"
    )
    if idle:
        text += f"; {count_in_words(idle, 'worker')} executed nothing"
    certainty = _certainty(run)
    much = run["imbalance_s"] > 0.5 * run["span_s"] and not _is_part(run)
    return Finding("high" if much else "medium", f"{text}.", certainty=certainty)


def _all_or_observed(run: dict[str, Any]) -> str:
    if _is_part(run):
        return f"the {run['observed_workers']:,} of {run['workers']:,} workers that were observed"
    return count_in_words(run["workers"], "worker")


def short_tasks(
    run: dict[str, Any], *, milliseconds: float, overhead: float, share: float
) -> Finding:
    """Tasks that are too short for what it costs to schedule them."""
    cost = run["executions"] * overhead / 1000
    part = cost / run["busy_s"]
    text = (
        f"Half of its {count_in_words(run['executions'], 'execution')} last less than "
        f"{seconds_in_words(run['median_s'])}. At about {overhead:g} ms each, scheduling them "
        f"takes {seconds_in_words(cost)} beside {seconds_in_words(run['busy_s'])} of executing "
        f"({share_in_words(part)}). Most are {run['commonest_prefix']} "
        f"({run['commonest_executions']:,}, median {seconds_in_words(run['commonest_median_s'])})."
    )
    return Finding("high" if part > 1 else "medium", text, certainty=_certainty(run))


def transfers(run: dict[str, Any], *, share: float, seconds: float) -> Finding:
    """Time that moving results took, against executing."""
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
    return Finding("high" if part > 1 else "medium", f"{text}.", certainty=_certainty(run))


def spilling(run: dict[str, Any], *, bytes: float) -> Finding:  # noqa: A002
    """Results that went to disk for want of memory."""
    text = (
        f"{count_in_words(run['spilling_workers'], 'worker')} moved "
        f"{bytes_in_words(run['spilled_bytes'])} of results to disk for want of memory"
    )
    return Finding(
        "medium", text + _fullest(run), certainty=_certainty(run, counted="sampled_workers")
    )


def full_memory(run: dict[str, Any], *, share: float) -> Finding:
    """A worker whose memory was nearly used up."""
    text = f"Worker {run['memory_peak_worker']} used {share_in_words(run['memory_peak_share'])}"
    return Finding(
        "high" if run["memory_peak_share"] >= 0.95 else "medium",
        f"{text} of the memory that it may use.",
        certainty=_certainty(run, counted="sampled_workers"),
    )


def _fullest(run: dict[str, Any]) -> str:
    if run["memory_peak_share"] is None:
        return "."
    return (
        f"; the fullest, {run['memory_peak_worker']}, used "
        f"{share_in_words(run['memory_peak_share'])} of its memory."
    )


def memory_warnings(run: dict[str, Any], *, warnings: float) -> Finding:
    """Workers that stopped or were ended for want of memory, as the logs have it."""
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
    certainty = _lower_bound(run)
    if run["memory_restarts"]:
        return Finding("high", text, certainty=certainty)
    return Finding("medium" if run["pauses"] else "low", text, certainty=certainty)


def _lower_bound(run: dict[str, Any]) -> tuple[str, ...]:
    """Whether the record is known to lack something, so that there may be more."""
    return ("lower_bound",) if run["cut"] else ()


def lost_workers(run: dict[str, Any], *, workers: float) -> Finding:
    """Workers that died while tasks ran."""
    lost, name = run["lost_workers"], run["lost_worker"]
    who = count_in_words(lost, "worker")
    if name:
        who = f"Worker {name}" if lost == 1 else f"{who}, {name} among them,"
    text = (
        f"{who} died before the last task ended: the results held there were lost, and what needs "
        "them is computed again."
    )
    return Finding("high", text, certainty=_lower_bound(run))


def silent_workers(run: dict[str, Any], *, workers: float) -> Finding:
    """Workers of which nothing but their registration is known."""
    silent, registered = run["silent_workers"], run["registered_workers"]
    text = f"{silent:,} of {count_in_words(registered, 'worker')} registered and reported nothing"
    text += f", as {run['silent_worker']}; " if silent > 1 else f": {run['silent_worker']}; "
    executed = run["silent_executed"]
    if executed == 0:
        return Finding("low", f"{text}the scheduler saw no result come from there.")
    text += (
        "what was executed there is not known."
        if executed is None
        else f"{count_in_words(executed, 'execution')} there {'is' if executed == 1 else 'are'} "
        "known from the scheduler alone."
    )
    return Finding("high" if silent == registered else "medium", text)


def failures(run: dict[str, Any], *, executions: float) -> Finding:
    """Executions that failed, with the kind that did most and the commonest error."""
    failed, of_kind = run["failed"], run["failed_prefix_failed"]
    part = failed / run["attempts"]
    text = (
        f"{failed:,} of {count_in_words(run['attempts'], 'execution')} failed "
        f"({share_in_words(part)}), "
    )
    if failed > 1:
        text += "all " if of_kind == failed else f"{of_kind:,} of them "
    text += f"of kind {run['failed_prefix']}"
    if run["failed_error"]:
        text += f", {'mostly ' if of_kind > 1 else ''}with {_short(run['failed_error'])}"
    return Finding("high" if part > 0.1 else "medium", f"{text}.", certainty=_certainty(run))


def _short(error: str) -> str:
    line = error.split("\n")[0].strip().rstrip(".")
    return line if len(line) <= ERROR_SHOWN else f"{line[: ERROR_SHOWN - 1]}…"


def repeats(run: dict[str, Any], *, share: float) -> Finding:
    """Tasks that were executed again."""
    part = run["repeated_s"] / run["busy_s"]
    text = (
        f"Tasks were executed {count_in_words(run['repeated'], 'time')} more than once, which took "
        f"{seconds_in_words(run['repeated_s'])} of {seconds_in_words(run['busy_s'])} of executing "
        f"({share_in_words(part)})."
    )
    return Finding("high" if part > 0.25 else "medium", text, certainty=_certainty(run))


def garbage(run: dict[str, Any], *, percent: float) -> Finding:
    """Garbage collection that took much CPU time."""
    worst = run["gc_worst_percent"]
    text = (
        f"{count_in_words(run['gc_warnings'], 'line')} of the logs "
        f"{'says' if run['gc_warnings'] == 1 else 'say'} that garbage collection took much CPU "
        f"time, at worst {worst:.0f} %."
    )
    return Finding("medium" if worst >= 30 else "low", text, certainty=_lower_bound(run))


def event_loop(run: dict[str, Any], *, seconds: float) -> Finding:
    """Event loops that did not respond."""
    text = (
        f"Event loops of workers or the scheduler did not respond "
        f"{count_in_words(run['loop_warnings'], 'time')}, together for "
        f"{seconds_in_words(run['loop_s'])}, at worst for {seconds_in_words(run['loop_worst_s'])}."
    )
    much = run["loop_worst_s"] >= 30
    return Finding("high" if much else "medium", text, certainty=_lower_bound(run))


def tasks_waiting_for_files(run: dict[str, Any], *, share: float, of_run: float) -> Finding:
    """The kind of task that did the I/O, and the share of its time that it took."""
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
    # what is not traced may be theirs, too
    more = ("lower_bound",) if run["untraced_bytes"] else ()
    certainty = tuple(dict.fromkeys((*_certainty(run), *more)))
    return Finding("high" if whole > 0.5 else "medium", f"{text}.", certainty=certainty)


def untraced_io(run: dict[str, Any], *, share: float, bytes: float) -> Finding:  # noqa: A002
    """Bytes that Darshan counted and did not trace, and what is known of them all the same."""
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
    return Finding("low", text)
