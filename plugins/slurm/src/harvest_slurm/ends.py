"""How runs of jobs and steps end: the states of sacct by what they mean, and what is known of it.

While a run goes on, sacct prints 00:00:00 for the CPU time of what has not ended: what it used is
known when it has ended, and not before.
"""

from __future__ import annotations

from typing import Final

import polars as pl

__all__ = ["ENDED", "ENDS", "FAILED", "FAILURES", "ended"]

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
"""How runs end: column -> states of sacct."""

FAILURES: Final = ("failed", "out_of_memory", "timeout", "node_fail")
"""Ends that nobody wished."""

ENDED: Final = tuple(state for states in ENDS.values() for state in states)
"""States of runs that ended."""

FAILED: Final = tuple(state for name in FAILURES for state in ENDS[name])
"""States of runs that ended as nobody wished."""


def ended() -> pl.Expr:
    """Whether a run or step ended, by its state, else by its end; null where neither is known."""
    by_time = pl.when(pl.col("end_time").is_not_null()).then(pl.lit(value=True))
    return pl.coalesce(pl.col("state").is_in(ENDED), by_time)
