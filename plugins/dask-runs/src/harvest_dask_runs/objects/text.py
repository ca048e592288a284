"""Tasks as readable text: some lines for each, with its events in order.

Times are UTC.  Lines are wrapped at 100 columns, between words.  Keys and names come from the
input, so characters that control a terminal, or hide or reorder text, are shown as escapes.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import attrs

from harvest.toolkit.texts import printable_line

from .events import EventSource, TaskEvent, TransferEvent

if TYPE_CHECKING:
    from .tasks import Task

WIDTH: Final = 100
AT: Final = {EventSource.SCHEDULER: "on", EventSource.WORKER: "in", EventSource.TRANSFER: "at"}
LABEL: Final = 14
INDENT: Final = " " * 44
SHOWN: Final = 12
"""Maximum dependencies that are listed; of more, the number is given."""


def task_text(task: Task) -> str:
    """Return facts about a task, then its events, one or two lines each."""
    lines = [f"Task {printable_line(task.key)}"]
    for label, value in _facts(task):
        first = f"  {label:<{LABEL}}"
        lines += _fill(printable_line(value), first, " " * len(first)) or [first.rstrip()]
    lines.append(f"  events ({len(task.events)})")
    for event in task.events:
        moment = _time(event.time) if event.time is not None else "(no time)"
        head = printable_line(f"    {moment:<27}  {event.source.value:<9}  {event.what}")
        details = "; ".join(printable_line(detail) for detail in _details(event))
        line = f"{head}  {details}" if details else head
        lines += [line] if len(line) <= WIDTH else [head, *_fill(details, INDENT, INDENT)]
    return "\n".join(lines) + "\n"


def _facts(task: Task) -> Iterator[tuple[str, str]]:
    if task.run:
        yield "run", task.run
    if task.group is not None and task.group != task.prefix:
        yield "group", task.group
    if task.prefix is not None:
        yield "prefix", task.prefix
    if task.client is not None:
        yield "client", f"{task.client}{' (asked for the result)' if task.requested else ''}"
    if task.dependencies is not None:
        more = len(task.dependencies) - SHOWN
        listed = ", ".join(task.dependencies[:SHOWN]) + (f", and {more} more" if more > 0 else "")
        yield "dependencies", listed or "none"
    if task.workers:
        yield "workers", ", ".join(task.workers)
    first, last, duration = task.first_time, task.last_time, task.duration
    if first is not None and last is not None and duration is not None:
        yield "seen", f"{_time(first)} to {_time(last)} ({_seconds(duration.total_seconds())})"
    yield from _execution(task)
    if task.transfer_events:
        yield "transfers", _transfers(task.transfer_events)
    if task.last_state is not None:
        yield "last state", f"{task.last_state} (scheduler)"
    yield from _states(task)


def _execution(task: Task) -> Iterator[tuple[str, str]]:
    thread = None if task.execution is None else task.execution.thread
    parts = [f"on {task.executed_on}"] if task.executed_on is not None else []
    parts += [f"thread {thread}"] if thread is not None else []
    if task.began is not None and task.ended is not None:
        parts.append(f"{_time(task.began)} to {_time(task.ended)}")
    if task.duration_s is not None:
        parts.append(f"({_seconds(task.duration_s)})")
    if parts:
        yield "executed", ", ".join(parts).replace(", (", " (")
    if task.size_bytes is not None:
        yield "result", f"{task.size_bytes:,} bytes"


def _transfers(events: Sequence[TransferEvent]) -> str:
    sent = sum(e.size_bytes or 0 for e in events if e.direction == "outgoing")
    received = sum(e.size_bytes or 0 for e in events if e.direction == "incoming")
    return f"{len(events)} recorded; {sent:,} bytes sent, {received:,} bytes received"


def _states(task: Task) -> Iterator[tuple[str, str]]:
    if spans := task.time_in_state():
        yield "in scheduler", _spans(spans.items())
    workers = (event.worker for event in task.worker_events if event.worker is not None)
    for worker in dict.fromkeys(workers):
        if spans := task.time_in_state(worker):
            yield "in worker", f"{worker}: {_spans(spans.items())}"


def _spans(spans: Iterable[tuple[str, float]]) -> str:
    return ", ".join(f"{state} {_seconds(seconds)}" for state, seconds in spans)


def _details(event: TaskEvent) -> Iterator[str]:
    known = attrs.asdict(event, filter=lambda _, value: value is not None)
    if "worker" in known:
        yield f"{AT[event.source]} {known['worker']}"
    if "thread" in known:
        yield f"thread {known['thread']}"
    if "size_bytes" in known:
        yield f"{known['size_bytes']:,} bytes"
    if "stimulus_id" in known:
        yield known["stimulus_id"]
    if isinstance(event, TransferEvent) and event.duration_s is not None:
        yield _seconds(event.duration_s)
    if known.get("requested"):
        yield "result requested"


def _fill(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _time(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _seconds(seconds: float) -> str:
    return f"{seconds:.6f} s" if seconds < 1 else f"{seconds:,.3f} s"
