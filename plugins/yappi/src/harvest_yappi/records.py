"""The record types of Yappi profiles."""

from harvest import Record, field, record


@record("yappi.function", layer="workflow", level="coroutine")
class Function(Record):
    """Cost of one function or coroutine, over all its calls.

    Times are wall or CPU time, as the profiler was set; the saves do not say which.
    """

    name: str = field(role="subject", doc="Qualified name of the function.")
    module: str | None = field(doc="File of its definition, or the module of a builtin.")
    lineno: int | None = field(doc="Line of its definition.")
    kind: str | None = field(
        doc="function or coroutine; null where the save does not say (setting look_up_kinds)."
    )
    ncall: int | None = field(
        doc="Calls; in callgrind only from profiled functions, null without any."
    )
    primitive_calls: int | None = field(doc="Non-recursive calls; null in callgrind.")
    tsub_s: float | None = field(unit="s", doc="Time in the function itself.")
    ttot_s: float | None = field(
        unit="s",
        doc="Time in the function and its callees; for callgrind computed from the calls, null "
        "without a cost or call of the function.",
    )
    tavg_s: float | None = field(unit="s", doc="ttot_s per call.")
    thread: int | None = field(role="thread", doc="Thread; always null, because no save has it.")
    pid: int | None = field(role="pid", doc="Process id; null in pstat.")


@record("yappi.call", layer="workflow", level="coroutine")
class Call(Record):
    """Time of one function in another that it called: an edge of the call graph."""

    caller: str = field(doc="Qualified name of the calling function.")
    caller_module: str | None = field(doc="Its file or module.")
    caller_lineno: int | None = field(doc="Line of its definition.")
    name: str = field(role="subject", doc="Qualified name of the called function.")
    module: str | None = field(doc="Its file or module.")
    lineno: int | None = field(doc="Line of its definition.")
    ncall: int = field(doc="Calls.")
    tsub_s: float | None = field(unit="s", doc="Time in the called function itself.")
    ttot_s: float | None = field(unit="s", doc="Time in the called function and its callees.")
    pid: int | None = field(role="pid", doc="Process id; null in pstat.")


@record("yappi.thread", layer="workflow", level="thread")
class Thread(Record):
    """Cost of one thread or greenlet, from a printed table."""

    thread: int | None = field(role="thread", doc="Id of the thread, from threading.")
    name: str = field(
        role="subject", doc="Name; Yappi cuts long ones and starts them with two dots."
    )
    ttot_s: float = field(unit="s", doc="Time in the thread.")
    number: int = field(doc="Yappi's number of the thread, from 0.")
    scnt: int = field(doc="Number of times it was scheduled.")
