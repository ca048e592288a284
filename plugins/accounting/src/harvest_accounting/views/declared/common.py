"""What views on jobs share: settings, descriptions of columns, and the allocated resources."""

from collections.abc import Iterable, Sequence
from typing import Final

import attrs

from harvest import Column, Setting, UsageError, View
from harvest.columns import flag, text
from harvest.toolkit.settings import at_least, one_of, some_of, time_zone, within

from ...job_runs import MORE, Whose

KEYS: Final = ("month", "day", "cluster", "account", "user", "partition", "qos", "state", "name")
"""The columns by which jobs can be grouped."""

TREND_KEYS: Final = KEYS[2:]
"""The columns by which the jobs of a month can be grouped."""

FAILURE_KEYS: Final = (*KEYS, "node")
"""The columns by which failed runs can be grouped."""


def by(
    whose: Whose, default: tuple[str, ...] = (), more: str = "", keys: Sequence[str] = KEYS
) -> Setting:
    """Return the setting ``by`` of views and reports; more: text to add to its doc."""
    names = some_of((*keys, *whose.by))
    return Setting(f"what jobs are grouped by{more}", tuple[str, ...], default, names)


def failed_by(whose: Whose) -> Setting:
    """Return the setting ``by`` for failures."""
    return by(whose, ("account",), "; by node, a run counts at each of its nodes", FAILURE_KEYS)


_SELECTION: Final = {
    "since": Setting("start of the period: 2024-01-31[T12:00:00], or 7d, 12h, 4w ago", str),
    "until": Setting("end of the period, not included", str),
    "month": Setting("2024-01, `this` or `last`", str),
    "quarter": Setting("2024-Q1, `this` or `last`", str),
    "year": Setting("2024, `this` or `last`", str),
    "from": Setting("first day, month or year of the period: 2024-01-31, 2024-01, 2024", str),
    "to": Setting("last day, month or year of the period, included", str),
    "last": Setting(
        "`year`, `quarter`, `month`, `week`, `day`: the last whole one; 30d, 12w, `6 months`: the "
        "time up to now",
        str,
    ),
    "user": Setting("only jobs of this user", str),
    "account": Setting("only jobs of this account", str),
    "cluster": Setting("only jobs of this cluster", str),
    "partition": Setting("only jobs of this partition", str),
    "qos": Setting("only jobs of this QOS", str),
    "timezone": Setting(
        "time zone of days and months; unless given, that of the harvest, or UTC where there were "
        "several",
        str,
        check=time_zone,
    ),
}


def which_jobs(whose: Whose) -> dict[str, Setting]:
    """Return the settings that choose jobs."""
    return _SELECTION | {name: Setting(f"only jobs of this {name}", str) for name in whose.by}


_SPLIT: Final = {
    "split": Setting(
        "`month`, `day`: a run's hours are divided over the months or days in which it ran, pro "
        "rata; `none`: all hours count where the run does. Unless given, hours are divided over "
        "the rows' months or days, and at the ends of the period",
        str,
        check=one_of(("day", "month", "none")),
    ),
}


def which_hours(whose: Whose) -> dict[str, Setting]:
    """Return the settings that choose jobs for sums of hours."""
    return which_jobs(whose) | _SPLIT


PRICES: Final = {
    f"{name}_hour_cost": Setting(
        f"price of a {name.upper()} hour, in any currency: fills the cost columns",
        float,
        check=at_least(0),
    )
    for name in ("cpu", "gpu")
}
"""The prices of hours."""


def groups_of(by: str | Iterable[str], keys: Sequence[str] = KEYS) -> list[str]:
    """Return the columns that a setting ``by`` names; raises UsageError for a wrong one."""
    names = [n.strip() for n in by.split(",")] if isinstance(by, str) else list(by)
    if not names or not set(names) <= set(keys) or len(set(names)) < len(names):
        raise UsageError(
            f"by={','.join(names)!r} does not name what jobs can be grouped by",
            remedy=f"write one or more of {', '.join(keys)}, with commas, each once",
        )
    return names


def of_jobs(
    whose: Whose,
    name: str,
    module: str,
    columns: tuple[Column, ...],
    settings: dict[str, Setting],
    doc: str,
) -> View:
    """Return a view on jobs; module: the module with the function that has the view's name."""
    kept = [column for column in columns if column.name not in MORE or column.name in whose.fills]
    if name != "worst_days":  # its rows are days
        kept[1:1] = (text(by, "Scheduler that ran the jobs.") for by in whose.by)
    return View(
        name=whose.name(name),
        doc=doc,
        build=whose.call(f"views.{module}:{name}"),
        requires=whose.record_types,
        fewest=whose.fewest,
        columns=tuple(attrs.evolve(c, doc=whose.doc(name, c)) for c in kept),
        settings=settings,
    )


def top(doc: str, default: int) -> Setting:
    """Return the setting for the largest number of rows."""
    return Setting(f"{doc}; 0 for all", int, default, within(0, 4 * 10**9))  # as for --rows


def which_waits(whose: Whose, top_doc: str) -> dict[str, Setting]:
    """Return the settings of the days with the longest waits."""
    return {"top": top(top_doc, 10), **which_jobs(whose)}


DAY: Final = "in the time zone of the setting timezone, else of the harvest"

ENDED_OR_NOT: Final = flag("ended", "Whether it ended, by its state, else by its end; null where "
                           "neither is recorded.")  # fmt: skip


@attrs.frozen
class Resource:
    """Something that is allocated for a time.

    name: the first part of its columns' names. unit: the last part. title: its name in texts.
    given, used: how the hours of one run are computed. runs: the runs that have it.
    """

    name: str
    unit: str
    title: str
    given: str
    used: str
    runs: str

    def column(self, what: str = "") -> str:
        """Return a column name: ``cpu_wasted_hours`` for ``wasted``, else ``cpu_hours``."""
        return "_".join(filter(None, (self.name, what, self.unit)))


_RAN: Final = "runs that ran"

RESOURCES: Final = (
    Resource("cpu", "hours", "CPU hours", "elapsed times CPUs", "CPU time of their {unit}s", _RAN),
    Resource(
        "gpu", "hours", "GPU hours", "elapsed times GPUs",
        "elapsed times the utilisation of the GPUs", "runs that ran with GPUs",
    ),
    Resource(
        "mem", "gib_hours", "GiB hours of memory", "elapsed times memory",
        "elapsed times the most memory that one {unit} used", _RAN,
    ),
    Resource(
        "timelimit", "hours", "Hours of time limit", "the limits", "elapsed time", "completed runs"
    ),
)  # fmt: skip
"""What is allocated for a time: CPUs, GPUs, memory, and the time itself."""
