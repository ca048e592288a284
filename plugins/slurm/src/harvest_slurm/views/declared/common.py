"""What views of jobs share: their settings, words on their columns, and what jobs are given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import attrs

from harvest import Column, Setting, UsageError, View
from harvest.columns import flag
from harvest.toolkit.settings import at_least, one_of, some_of, time_zone

KEYS: Final = ("month", "day", "cluster", "account", "user", "partition", "qos", "state")
"""What jobs may be grouped by."""

BY: Final = Setting("what jobs are grouped by", tuple[str, ...], ("user",), some_of(KEYS))

TREND_KEYS: Final = KEYS[2:]
"""What the jobs of a month may be grouped by."""

TREND_BY: Final = Setting(
    "what the jobs of a month are grouped by; all together unless given",
    tuple[str, ...],
    (),
    some_of(TREND_KEYS),
)

FAILURE_KEYS: Final = (*KEYS, "node", "name")
"""What runs that failed may be grouped by."""

FAILED_BY: Final = Setting(
    "what jobs are grouped by; by node a run counts at each of its nodes",
    tuple[str, ...],
    ("account",),
    some_of(FAILURE_KEYS),
)

SELECTION: Final = {
    "since": Setting("begin of the period: 2024-01-31[T12:00:00], or 7d, 12h, 4w ago", str),
    "until": Setting("end of the period, which is not part of it", str),
    "month": Setting("2024-01, `this` or `last`, in place of since and until", str),
    "quarter": Setting("2024-Q1, `this` or `last`", str),
    "year": Setting("2024, `this` or `last`", str),
    "from": Setting("first day, month or year of the period: 2024-01-31, 2024-01, 2024", str),
    "to": Setting("last day, month or year of the period, part of it", str),
    "last": Setting(
        "`year`, `quarter`, `month`, `week`, `day`: the last whole one; 30d, 12w, `6 months`: so "
        "long, up to now",
        str,
    ),
    "user": Setting("only jobs of this user", str),
    "account": Setting("only jobs of this account", str),
    "cluster": Setting("only jobs of this cluster", str),
    "partition": Setting("only jobs of this partition", str),
    "qos": Setting("only jobs of this QOS", str),
    "timezone": Setting(
        "zone that days and months are counted in; that of the harvest unless given, UTC where "
        "there were several",
        str,
        check=time_zone,
    ),
}
"""Which jobs are looked at."""

HOURS: Final = {
    **SELECTION,
    "split": Setting(
        "`month`, `day`: a run's hours count in the periods that it ran in, pro rata of the time "
        "from its start to its end; `none`: all where the run counts; unless given, they are "
        "divided over the months or days that rows are of, and at the ends of the period",
        str,
        check=one_of(("day", "month", "none")),
    ),
}
"""Which jobs are looked at where hours are summed up."""

PRICES: Final = {
    f"{name}_hour_cost": Setting(
        f"what a {name.upper()} hour costs, in any currency: gives the columns of cost",
        float,
        check=at_least(0),
    )
    for name in ("cpu", "gpu")
}
"""What hours cost."""


def groups_of(by: str | Iterable[str], keys: Sequence[str] = KEYS) -> list[str]:
    """The columns that a setting ``by`` names; raises UsageError for a wrong one."""
    names = [n.strip() for n in by.split(",")] if isinstance(by, str) else list(by)
    if not names or not set(names) <= set(keys) or len(set(names)) < len(names):
        raise UsageError(
            f"by={','.join(names)!r} does not name what jobs can be grouped by",
            remedy=f"write one or several of {', '.join(keys)}, with commas, each once",
        )
    return names


def of_jobs(
    name: str, module: str, columns: tuple[Column, ...], settings: dict[str, Setting], doc: str
) -> View:
    """A view of jobs; module: where the function of its name is."""
    return View(
        name=f"slurm.{name}",
        doc=doc,
        build=f"harvest_slurm.views.{module}:{name}",
        requires=("slurm.job",),
        columns=columns,
        settings=settings,
    )


def top(doc: str, default: int) -> Setting:
    """How many rows there are at most."""
    return Setting(f"{doc}; 0 for all", int, default, at_least(0))


def waits(top_doc: str) -> dict[str, Setting]:
    """The settings of the days with the longest waits."""
    return {"top": top(top_doc, 10), **SELECTION}


DAY: Final = (
    "in the zone that the jobs were harvested with, UTC where there were several, or that of the "
    "setting timezone"
)

ENDED_OR_NOT: Final = flag("ended", "Whether it ended, by its state, else by its end; null where "
                           "neither is known.")  # fmt: skip


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
        "gpu", "hours", "GPU hours", "elapsed times GPUs",
        "elapsed times the utilisation of the GPUs", "runs that ran with GPUs",
    ),
    Resource(
        "mem", "gib_hours", "GiB hours of memory", "elapsed times memory",
        "elapsed times the most memory that one step used", _RAN,
    ),
    Resource(
        "timelimit", "hours", "Hours of time limits", "the limits", "elapsed time", "completed runs"
    ),
)  # fmt: skip
"""Everything that is allocated for a time: CPUs, GPUs, memory, and the time itself."""
