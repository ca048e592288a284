"""Kinds of Dask's stimuli; kinds of lines of its log, with mentioned worker and values.

Expressions use the columns ``said`` (a message's first line, without indentation), ``level`` and
``logger``. They match the messages of ``distributed`` from 2021 on.
"""

from typing import Final

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["FIELDS", "KIND", "WORKER", "stimulus_kinds"]

_SAID: Final = pl.col("said")
_ADDRESS: Final = r"((?:tcp|tls|ucxx?|wss?|inproc)://[^\s'\",;<>()]+)"

_KINDS: Final = (
    ("death", r"died unexpectedly|^Worker process [0-9]+ (?:was killed|exited|died)"),
    ("registration", r"^Register(?:ing)? worker\b|^Registered to:"),
    ("removal", r"^Remov(?:e|ing) worker\b"),
    ("threads", r"^Threads:"),
    ("memory", r"^Memory:"),
    ("local_directory", r"^Local [Dd]irectory:"),
    ("start", r"^Start (?:worker|Nanny) at:|^Scheduler at:|^State start$|^Restarting worker\b"),
    (
        "stop",
        r"^Stopp(?:ing|ed) (?:worker|scheduler|Nanny)\b|^Closing (?:Nanny|worker|scheduler)\b"
        r"|^Worker closed\b|^End (?:worker|scheduler|Nanny)\b|^Scheduler closing\b"
        r"|^Closing dask-",
    ),
    ("client", r"^Receive client connection\b|^Remove client\b|^Close client connection\b"),
    (
        "connection",
        r"^Starting established connection\b|^Connection (?:to|from)\b|^Starting worker compute"
        r"|^Received 'close-stream'|^Batched Comm Closed\b|^Waiting to connect\b"
        r"|^Listening to:|^Lost (?:all workers|connection)\b",
    ),
)


_LEVEL: Final = pl.col("level")
_CASES: Final = (
    *((name, _SAID.str.contains(pattern)) for name, pattern in _KINDS),
    ("warning", _LEVEL == "warning"),
    ("error", _LEVEL.is_in(["error", "critical"])),
    # lines that no logger wrote: Python's own warnings and tracebacks
    ("warning", _LEVEL.is_null() & _SAID.str.contains(r"[A-Z]\w*Warning: ")),
    ("error", _LEVEL.is_null() & _SAID.str.starts_with("Traceback ")),
)
KIND: Final = pl.coalesce(
    *(pl.when(said).then(pl.lit(name)) for name, said in _CASES), pl.lit("other")
)
"""Kind of the line, as one word."""

WORKER: Final = _SAID.str.extract(
    r"^(?:Register(?:ing)? worker|Remov(?:e|ing) worker|Start worker at|Stopp(?:ing|ed) worker"
    r"|Starting worker compute stream|Listening to|Closing worker|Restarting worker|Worker)\b.*?"
    + _ADDRESS
).str.strip_chars_end(".")
"""The address of the worker that a line names; peers, nannies and schedulers are not workers."""

FIELDS: Final[dict[str, pl.Expr]] = {
    "logger": pl.col("logger"),
    "threads": _SAID.str.extract(r"^Threads:\s+(\S+)"),
    "memory": _SAID.str.extract(r"^Memory:\s+(.*\S)"),
    "local_directory": _SAID.str.extract(r"^Local [Dd]irectory:\s+(.*\S)"),
    "status": _SAID.str.extract(r"^(?:Register|Remove) worker .*\bstatus: (\w+)"),
    "name": _SAID.str.extract(r"^(?:Register|Remove) worker .*\bname: ([^,>]*[^,>\s])"),
    "stimulus_id": _SAID.str.extract(r"\bstimulus_id='([^']*)'"),
    "reason": _SAID.str.extract(r"\bReason: (.*\S)"),
    "scheduler": _SAID.str.extract(
        r"^(?:Registered to|Waiting to connect to|Scheduler at):\s+(\S+)"
    ),
    "dashboard": _SAID.str.extract(r"^dashboard at:\s+(\S+)"),
    "nanny": _SAID.str.extract(r"\bNanny .*?'([^']+)'"),
    "client": _SAID.str.extract(
        r"^(?:Receive client connection|Remove client|Close client connection):? (\S+)"
    ),
    "peer": _SAID.str.extract(
        r"^(?:Starting established connection to|Connection (?:to|from)|"
        r"Received 'close-stream' from) " + _ADDRESS
    ),
    "pid": _SAID.str.extract(r"^Worker process ([0-9]+) "),
    "signal": _SAID.str.extract(r"^Worker process .*\bkilled by signal (\w+)"),
}
"""Values read from the text, by name; null where a line has none."""


def stimulus_kinds(ids: pa.Array) -> pa.Array:
    """Return the kind of each stimulus: its id without the trailing ``-<epoch seconds>``."""
    trimmed = pc.ascii_rtrim(ids, characters="0123456789.")
    taken = pc.subtract(pc.binary_length(ids), pc.binary_length(trimmed))
    timed = pc.and_(pc.ends_with(trimmed, "-"), pc.greater_equal(taken, 9))
    return pc.if_else(timed, pc.utf8_slice_codeunits(trimmed, 0, -1), ids)
