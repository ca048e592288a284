"""The declaration and states of a scheduler's jobs, and their choice for a view, report or rule.

A scheduler's plugin declares one ``JobRuns``. ``views_of``, ``reports_of`` and ``rules_of`` build
its views, reports and rules. An entry point of the group ``harvest.job_runs``, named after the
record type, adds its jobs to ``jobs.usage`` and the other views over all schedulers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final

import attrs

from harvest import Column, PluginError

if TYPE_CHECKING:
    import polars as pl

    from harvest import DatasetReader

GROUP: Final = "harvest.job_runs"
"""The entry-point group: record type -> ``module:NAME`` of its JobRuns."""

MORE: Final = (
    "job_id_raw", "het_job_id", "het_offset", "state_by", "undecided_times", "req_mem_per",
    "steps", "ntasks", "user_cpu_s", "system_cpu_s", "max_rss_bytes", "max_disk_read_bytes",
    "max_disk_write_bytes", "gpu_mem_used_bytes",
)  # fmt: skip
"""Optional columns of the frame of runs."""

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
"""The kinds of ends: column -> states, in the spelling of every scheduler's record type."""

FAILURES: Final = ("failed", "out_of_memory", "timeout", "node_fail")
"""The groups of states that are failures."""

ENDED: Final = tuple(state for states in ENDS.values() for state in states)
"""The states of runs that ended."""

FAILED: Final = tuple(state for name in FAILURES for state in ENDS[name])
"""The states of runs that failed."""

_NOTHING: Final[Mapping[str, Any]] = {}


@attrs.frozen(kw_only=True)
class Words:
    """The words of a scheduler's accounting, for texts.

    scheduler: the software that runs jobs. record: the source of the data, to begin a sentence.
    unit: what resource use is measured for: a run or a step.
    remedy: how to have a field recorded, with ``{}`` for its name; empty if unknown.
    fields: column -> the scheduler's field that fills it.
    columns: column, or view and column (``usage.jobs``) -> its meaning instead of the general one.
    rules: rule -> ``advice``, ``unable`` and other texts instead of the general ones.
    """

    scheduler: str = "the scheduler"
    record: str = "The accounting"
    unit: str = "run"
    remedy: str = ""
    fields: Mapping[str, str] = _NOTHING
    columns: Mapping[str, str] = _NOTHING
    rules: Mapping[str, Mapping[str, str]] = _NOTHING

    def lacks(self, what: str, column: str) -> str:
        """Say that the accounting does not record something, with the remedy if there is one."""
        field = self.fields.get(column)
        remedy = f": {self.remedy.format(field)}" if self.remedy and field else ""
        return f"{self.record} does not record {what}{remedy}."


@attrs.frozen(kw_only=True, eq=False)
class JobRuns:
    """How a scheduler's record type fills the frame of job runs; see ``frame.FRAME``.

    scheduler: its name, the first part of the names of its views, reports and rules.
    record_type: the record type with one row per run of a job.
    columns: column of the frame -> column of the record type, where the names differ.
    fills: the columns of ``MORE`` that the record type has.
    order: the time that distinguishes and orders the runs of a job: ``submit_time`` if each run has
        its own, else ``start_time``.
    source: the source whose setting ``timezone`` is the zone of its days; None for UTC.
    runs: ``module:function`` that takes a DatasetReader and returns the frame, if the columns of
        the record type alone are not enough; see ``frame``.
    failed_steps: the same for the first failed step of each run; see ``frame.OF_STEP``.
    without_nodes: the text in ``node_list`` of a run that did not start.
    words: its words for texts.
    """

    scheduler: str
    record_type: str
    columns: Mapping[str, str] = _NOTHING
    fills: tuple[str, ...] = ()
    order: str = "submit_time"
    source: str | None = None
    runs: str | None = None
    failed_steps: str | None = None
    without_nodes: str | None = None
    words: Words = Words()


@attrs.frozen(eq=False)
class Whose:
    """The jobs of views, reports and rules: those of one scheduler, or of all.

    prefix: the first part of their names. record_types: the record types of the runs.
    schedulers: returns the declarations, imported on the first call.
    by: further columns by which jobs are grouped.
    fewest: the number of schedulers that a dataset needs for these views and reports.
    """

    prefix: str
    record_types: tuple[str, ...]
    schedulers: Callable[[], tuple[JobRuns, ...]]
    fills: tuple[str, ...] = ()
    words: Words = Words()
    by: tuple[str, ...] = ()
    fewest: int = 1

    def name(self, name: str) -> str:
        """Return the full name of a view or report: ``slurm.usage`` for ``usage``."""
        return f"{self.prefix}.{name}"

    def doc(self, view: str, column: Column) -> str | None:
        """Return the meaning of a view's column: in the scheduler's words, else in general ones."""
        own = self.words.columns
        found = own.get(f"{view}.{column.name}") or own.get(column.name) or column.doc
        return found and self.fill(found)

    def fill(self, text: str) -> str:
        """Fill ``{prefix}`` and ``{unit}`` into a text."""
        return text.replace("{prefix}", self.prefix).replace("{unit}", self.words.unit)

    def call(self, function: str) -> Callable[..., Any]:
        """Return a function of this package, ``module:name``, for these jobs; a call imports it."""
        return partial(_call, f"{__package__}.{function}", self)


def _call(function: str, whose: Whose, data: DatasetReader, **settings: Any) -> Any:
    return resolve_name(function)(Jobs.of(data, whose), **settings)


def of_scheduler(runs: JobRuns) -> Whose:
    """Return the jobs of one scheduler."""
    return Whose(
        runs.scheduler, (runs.record_type,), lambda: (runs,), fills=runs.fills, words=runs.words
    )


def of_all() -> Whose | None:
    """Return the jobs of all schedulers with an installed plugin; None without any."""
    points = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    if not points:
        return None
    names = tuple(dict.fromkeys(point.name for point in points))
    return Whose("jobs", names, lambda: _loaded(points), by=("scheduler",), fewest=2)


def _loaded(points: list[EntryPoint]) -> tuple[JobRuns, ...]:
    """Load entry points; raises PluginError if one does not name a JobRuns of its record type."""
    found = []
    for point in points:
        runs = point.load()
        if not isinstance(runs, JobRuns) or runs.record_type != point.name:
            owner = point.dist.name if point.dist else point.value
            raise PluginError(
                f"{point.value} does not declare the runs of {point.name}",
                where=f"entry point in {GROUP}",
                remedy=f"ask the author of {owner} to name a JobRuns of this record type",
            )
        found.append(runs)
    return tuple(found)


@attrs.frozen
class Jobs:
    """The jobs of a dataset that a view or report reads.

    schedulers: the schedulers with jobs in the dataset; all of them if it has none.
    """

    data: DatasetReader
    whose: Whose
    schedulers: tuple[JobRuns, ...]

    @classmethod
    def of(cls, data: DatasetReader, whose: Whose) -> Jobs:
        """Return the jobs of a dataset."""
        known = whose.schedulers()
        return cls(data, whose, tuple(s for s in known if s.record_type in data) or known)

    @property
    def by(self) -> tuple[str, ...]:
        """The columns that distinguish jobs of several schedulers."""
        return self.whose.by

    @property
    def words(self) -> Words:
        """The words of their accounting."""
        return self.whose.words

    def view(self, name: str, **settings: Any) -> pl.LazyFrame:
        """Return another view of these jobs, for example ``slurm.usage`` for ``usage``."""
        return self.data.view(self.whose.name(name), **settings)
