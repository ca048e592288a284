"""What jobs are given for a time: CPUs, GPUs, memory, and the time itself."""

from __future__ import annotations

from typing import Final

import attrs


@attrs.frozen
class Resource:
    """Something that is allocated for a time.

    name: begins the names of its columns; unit: ends them.
    title: what its hours are called.  given, used: of one run, what is counted as its hours.
    runs: which runs have it.
    """

    name: str
    unit: str
    title: str
    given: str
    used: str
    runs: str

    def column(self, what: str = "") -> str:
        """``cpu_wasted_hours`` for ``wasted``; ``cpu_hours`` for nothing."""
        return "_".join(filter(None, (self.name, what, self.unit)))


_RAN: Final = "runs that ran"

RESOURCES: Final = (
    Resource("cpu", "hours", "CPU hours", "elapsed times CPUs", "CPU time of their steps", _RAN),
    Resource(
        "gpu",
        "hours",
        "GPU hours",
        "elapsed times GPUs",
        "elapsed times the utilisation of the GPUs",
        "runs that ran with GPUs",
    ),
    Resource(
        "mem",
        "gib_hours",
        "GiB hours of memory",
        "elapsed times memory",
        "elapsed times the most memory that one step used",
        _RAN,
    ),
    Resource(
        "timelimit", "hours", "Hours of time limits", "the limits", "elapsed time", "completed runs"
    ),
)
