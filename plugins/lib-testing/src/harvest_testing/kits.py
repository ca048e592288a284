"""What kits are made of, those for other kinds of plugins too: promises, processes, a sink."""

from .lab.globals import changes, snapshot
from .lab.process import in_process, peak_memory
from .promise import Conformance, broken, does_not_apply, promise, require
from .source.runs import ArrowSink

__all__ = [
    "ArrowSink",
    "Conformance",
    "broken",
    "changes",
    "does_not_apply",
    "in_process",
    "peak_memory",
    "promise",
    "require",
    "snapshot",
]
