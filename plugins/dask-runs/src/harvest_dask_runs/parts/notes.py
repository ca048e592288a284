"""Sentences on what a run's record lacks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

SHOWN: Final = 8
"""Names listed in a sentence, at most; the summary's columns hold all of them."""

_NAMED: Final = re.compile(r"_R\d+_W(\d{1,9})\Z")
"""How a run's directory ends: ``D<date>_<time>_R<repetition>_W<workers>``."""


def completeness_notes(run: Mapping[str, Any]) -> Iterator[str]:
    """Of a row of the summary; none where nothing speaks against completeness.

    Needs the summary's counts, null where a kind of record is missing, silent_workers,
    unregistered_workers, silent_busy_workers, missed_executions, untold_graph_tasks,
    lost_processes, blind_spells, all_captured, logged and run.
    """
    if run["scheduler_transitions"] is None:
        yield (
            "no scheduler transition is recorded: states of tasks, the threads that ran them and "
            "the sizes of results are not known; executions are those that workers recorded, and "
            "kinds of tasks are derived from their keys"
        )
    yield from _on_workers(run)
    yield from _on_losses(run)
    if missed := run["missed_executions"]:
        yield (
            f"{_some(missed, 'execution')} of workers that recorded others "
            f"{'is' if missed == 1 else 'are'} known from the scheduler alone: their records may "
            "begin late, or lack events"
        )
    if run["untold_graph_tasks"] and run["scheduler_transitions"]:
        yield (
            f"{run['untold_graph_tasks']} of {run['graph_tasks']} tasks in the graphs have no "
            "scheduler transition"
        )
    if unfinished := run["unfinished_tasks"]:
        yield (
            f"{_some(unfinished, 'task')} {'was' if unfinished == 1 else 'were'} last seen before "
            "reaching memory, erred or released: the record may end before the run did"
        )
    if run["worker_transitions"] is None and run["scheduler_transitions"]:
        yield (
            "no worker transition is recorded: executions are those that the scheduler saw reach "
            "memory, at the times that it has of them"
        )
    if run["transfers"] is None and not run["all_captured"]:
        yield "no transfer is recorded: whether data moved, and how much, is not known"
    if run["graphs"] is None:
        yield "no graph is recorded: what tasks need, and who asked for them, is not known"
    if not run["logged"]:
        yield "no log of Dask is recorded: warnings of memory, and deaths of workers, are unknown"


def _on_workers(run: Mapping[str, Any]) -> Iterator[str]:
    workers, named = run["workers"], _NAMED.search(run["run"])
    if workers is None:
        yield "no worker registration is recorded: which workers took part is not known"
    if workers and named and int(named[1]) > workers:
        yield f"the directory is named for {int(named[1])} workers but {workers} registered"
    if silent := run["silent_workers"]:
        yield (
            f"{len(silent)} of {workers} registered workers reported no events: "
            f"{_names(silent)}; silence there is not idleness"
        )
    if busy := run["silent_busy_workers"]:
        yield (
            f"the scheduler credits executions to {_some(busy, 'worker')} that reported no events"
        )
    if workers and (strange := run["unregistered_workers"]):
        yield (
            f"{_some(len(strange), 'worker')} {'is' if len(strange) == 1 else 'are'} reporting "
            f"under a name or address that is not registered: {_names(strange)}"
        )


def _on_losses(run: Mapping[str, Any]) -> Iterator[str]:
    if events := run["data_failures"]:
        yield f"{_some(events, 'event')} {'was' if events == 1 else 'were'} lost in the consumer"
    if lost := run["lost_processes"]:
        how = "without an end: killed, unable to write, or still running when it was read"
        yield (
            f"the record of {lost[0]} stops {how}"
            if len(lost) == 1
            else f"the records of {len(lost)} processes stop {how}: {_names(lost)}"
        )
    if spells := run["blind_spells"]:
        yield f"a part was not recorded: {_names(spells, '; ', '; and ')}"


def _some(count: int, noun: str) -> str:
    """``1 event`` or ``12 events``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _names(names: Sequence[str], between: str = ", ", last: str = " and ") -> str:
    more = f"{last}{len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return between.join(names[:SHOWN]) + more
