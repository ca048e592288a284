"""The record types of Yappi profiles."""

from __future__ import annotations

from harvest import Record, field, record


@record("yappi.function", layer="workflow", level="coroutine")
class Function(Record):
    """What one function or coroutine cost, over all its calls.

    Times are wall or CPU time, whichever the profiler was set to; the saves do not say.
    """

    name: str = field(role="subject", doc="Qualified name of the function.")
    module: str | None = field(doc="File it is defined in, or the module of a builtin.")
    lineno: int | None = field(doc="Line of its definition.")
    kind: str | None = field(
        doc="function or coroutine; null where the save does not say (setting look_up_kinds)."
    )
    ncall: int | None = field(
        doc="Calls; in callgrind those by other profiled functions, null where there are none."
    )
    primitive_calls: int | None = field(doc="Calls that are not recursive; null in callgrind.")
    tsub_s: float | None = field(unit="s", doc="Time in the function itself.")
    ttot_s: float | None = field(
        unit="s",
        doc="Time in the function and all it called; from callgrind computed from the calls; null "
        "where the save gives a function neither a cost of its own nor a call.",
    )
    tavg_s: float | None = field(unit="s", doc="ttot_s per call.")
    thread: int | None = field(role="thread", doc="Thread; null, as no save has it.")
    pid: int | None = field(role="pid", doc="Process id; null in pstat.")


@record("yappi.call", layer="workflow", level="coroutine")
class Call(Record):
    """What one function spent in another that it called: an edge of the call graph."""

    caller: str = field(doc="Qualified name of the calling function.")
    caller_module: str | None = field(doc="Its file or module.")
    caller_lineno: int | None = field(doc="Line of its definition.")
    name: str = field(role="subject", doc="Qualified name of the called function.")
    module: str | None = field(doc="Its file or module.")
    lineno: int | None = field(doc="Line of its definition.")
    ncall: int = field(doc="Calls.")
    tsub_s: float | None = field(unit="s", doc="Time in the called function itself.")
    ttot_s: float | None = field(unit="s", doc="Time in the called function and all it called.")
    pid: int | None = field(role="pid", doc="Process id; null in pstat.")


@record("yappi.thread", layer="workflow", level="thread")
class Thread(Record):
    """What one thread or greenlet cost, from a printed table."""

    thread: int | None = field(role="thread", doc="Id of the thread, as threading gives it.")
    name: str = field(
        role="subject", doc="Name; Yappi cuts long ones, and begins them with two dots."
    )
    ttot_s: float = field(unit="s", doc="Time in the thread.")
    number: int = field(doc="Yappi's own number of the thread, 0 for the first.")
    scnt: int = field(doc="How often it was scheduled.")
