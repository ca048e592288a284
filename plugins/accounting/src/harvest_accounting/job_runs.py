"""What a scheduler's plugin declares of its jobs, and whose jobs a view, report or rule is about.

A scheduler's plugin has one ``JobRuns``.  Its views, reports and rules come from ``views_of``,
``reports_of`` and ``rules_of``.  An entry point of the group ``harvest.job_runs``, named after the
record type, adds its jobs to ``jobs.usage`` and the others over all schedulers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final

import attrs

from harvest import Column, PluginError

if TYPE_CHECKING:
    import polars as pl

    from harvest import DatasetReader

GROUP: Final = "harvest.job_runs"
"""The entry-point group: the record type -> ``module:NAME`` of the JobRuns."""

MORE: Final = (
    "job_id_raw", "het_job_id", "het_offset", "state_by", "undecided_times", "req_mem_per",
    "steps", "ntasks", "user_cpu_s", "system_cpu_s", "max_rss_bytes", "max_disk_read_bytes",
    "max_disk_write_bytes", "gpu_mem_used_bytes",
)  # fmt: skip
"""Columns that the frame of runs may have beyond those that it always has."""

_NOTHING: Final[Mapping[str, Any]] = {}


@attrs.frozen(kw_only=True)
class Words:
    """How texts speak of a scheduler's accounting.

    scheduler: who runs jobs.  record: what records them, at the beginning of a sentence.
    unit: of what the use is measured: of a run, or of a step.
    remedy: how to have a field recorded, where ``{}`` is its name; empty if unknown.
    fields: by column, the field that brings it.
    columns: by column, or view and column (``usage.jobs``), its meaning instead of the general one.
    rules: by rule, ``advice``, ``unable`` and other texts instead of the general ones.
    """

    scheduler: str = "the scheduler"
    record: str = "The accounting"
    unit: str = "run"
    remedy: str = ""
    fields: Mapping[str, str] = _NOTHING
    columns: Mapping[str, str] = _NOTHING
    rules: Mapping[str, Mapping[str, str]] = _NOTHING

    def lacks(self, what: str, column: str) -> str:
        """A sentence on what is not recorded, with the remedy where there is one."""
        field = self.fields.get(column)
        remedy = f": {self.remedy.format(field)}" if self.remedy and field else ""
        return f"{self.record} does not record {what}{remedy}."


@attrs.frozen(kw_only=True, eq=False)
class JobRuns:
    """How a scheduler's record type fills the frame of job runs; see ``frame.FRAME``.

    scheduler: its name, with which its views, reports and rules begin.
    record_type: has a row for each run of a job.
    columns: column of the frame -> that of the record type, where the names differ.
    fills: columns of ``MORE`` that it has, too.
    order: the time by which the runs of a job are distinguished and ordered: ``submit_time`` where
        each run has its own, else ``start_time``.
    source: the source with the setting ``timezone``, the zone of its days; UTC without one.
    runs: ``module:function`` that takes a DatasetReader and gives the frame, where columns of the
        record type alone do not; see ``frame``.
    failed_steps: ``module:function`` that takes a DatasetReader and gives the step of each run that
        failed first; see ``frame.OF_STEP``.
    without_nodes: what ``node_list`` says of a run that did not start.
    words: how texts speak of it.
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
    """Whose jobs views, reports and rules are about: a scheduler's, or those of all.

    prefix: with which their names begin.  record_types: with the runs.
    schedulers: gives the declarations, which are imported when one is asked for.
    by: further columns by which jobs are grouped.
    fewest: of how many schedulers a dataset must have jobs for them to be offered.
    """

    prefix: str
    record_types: tuple[str, ...]
    schedulers: Callable[[], tuple[JobRuns, ...]]
    fills: tuple[str, ...] = ()
    words: Words = Words()
    by: tuple[str, ...] = ()
    fewest: int = 1

    def name(self, name: str) -> str:
        """``slurm.usage`` for ``usage``."""
        return f"{self.prefix}.{name}"

    def doc(self, view: str, column: Column) -> str | None:
        """The meaning of a view's column: in the scheduler's own words, else in general ones."""
        own = self.words.columns
        found = own.get(f"{view}.{column.name}") or own.get(column.name) or column.doc
        return found and self.fill(found)

    def fill(self, text: str) -> str:
        """A text with the names of these jobs: ``{prefix}`` and ``{unit}``."""
        return text.replace("{prefix}", self.prefix).replace("{unit}", self.words.unit)

    def call(self, function: str) -> Callable[..., Any]:
        """A function of this package, ``module:name``, imported when called, over these jobs."""
        return _Call(f"{__package__}.{function}", self)


@attrs.frozen
class _Call:
    target: str
    whose: Whose

    def __call__(self, data: DatasetReader, **settings: Any) -> Any:
        return resolve_name(self.target)(Jobs.of(data, self.whose), **settings)


def of_scheduler(runs: JobRuns) -> Whose:
    """The jobs of one scheduler."""
    return Whose(
        runs.scheduler, (runs.record_type,), lambda: (runs,), fills=runs.fills, words=runs.words
    )


def of_all() -> Whose | None:
    """The jobs of all schedulers whose plugins are installed; None without any."""
    points = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    if not points:
        return None
    names = tuple(dict.fromkeys(point.name for point in points))
    return Whose("jobs", names, lambda: _loaded(points), by=("scheduler",), fewest=2)


def _loaded(points: list[EntryPoint]) -> tuple[JobRuns, ...]:
    """What entry points name; raises PluginError where that is not a declaration of its jobs."""
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
    """The jobs that a view or report is asked about: those of a dataset, of some schedulers.

    schedulers: those of which the dataset has jobs; all if it has none.
    """

    data: DatasetReader
    whose: Whose
    schedulers: tuple[JobRuns, ...]

    @classmethod
    def of(cls, data: DatasetReader, whose: Whose) -> Jobs:
        """The jobs of a dataset."""
        known = whose.schedulers()
        return cls(data, whose, tuple(s for s in known if s.record_type in data) or known)

    @property
    def by(self) -> tuple[str, ...]:
        """Columns that distinguish jobs of several schedulers."""
        return self.whose.by

    @property
    def words(self) -> Words:
        """How texts speak of their accounting."""
        return self.whose.words

    def view(self, name: str, **settings: Any) -> pl.LazyFrame:
        """Another view of these jobs: ``usage`` for ``slurm.usage``."""
        return self.data.view(self.whose.name(name), **settings)
