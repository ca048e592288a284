"""States of jobs in the spelling of every scheduler's record type, grouped by meaning."""

from typing import Final

ENDS: Final[dict[str, tuple[str, ...]]] = {
    "completed": ("completed",),
    "failed": ("failed",),
    "out_of_memory": ("out_of_memory",),
    "timeout": ("timeout", "deadline"),
    "node_fail": ("node_fail", "boot_fail", "launch_failed", "reconfig_fail"),
    "cancelled": ("cancelled", "revoked"),
    "preempted": ("preempted",),
    "requeued": ("requeued", "requeue_fed"),
}
"""The kinds of ends: column -> states."""

FAILURES: Final = ("failed", "out_of_memory", "timeout", "node_fail")
"""The groups of states that are failures."""

ENDED: Final = tuple(state for states in ENDS.values() for state in states)
"""The states of runs that ended."""

FAILED: Final = tuple(state for name in FAILURES for state in ENDS[name])
"""The states of runs that failed."""

SIGNALS: Final = {
    1: "SIGHUP",
    2: "SIGINT",
    3: "SIGQUIT",
    4: "SIGILL",
    6: "SIGABRT",
    7: "SIGBUS",
    8: "SIGFPE",
    9: "SIGKILL",
    11: "SIGSEGV",
    13: "SIGPIPE",
    15: "SIGTERM",
    24: "SIGXCPU",
    25: "SIGXFSZ",
}
"""The signals that end programs on Linux, by number."""
