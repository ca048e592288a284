"""Which jobs the user asked for, and which steps belong to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, cast

import attrs
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from harvest import SourceError

from ..config import SlurmConfig
from .lost import Lost

__all__ = ["ELSEWHERE", "Place", "Rule", "Selection", "rules_of"]

ELSEWHERE: Final = "belongs to another time slice"
UNKNOWN_OWNER: Final = "step of a job that is left out, rejected or not in the input"


@attrs.frozen
class Rule:
    """One condition on jobs.

    column: the job's column that it looks at.  keep: for that column, which rows stay.
    reason: what the others are counted under.  setting: what the user wrote.
    """

    column: str
    keep: Callable[[Any], Any]
    reason: str
    setting: str = ""


class Place(Protocol):
    """Which rows belong to one slice of time."""

    def jobs(self, table: pl.DataFrame) -> pl.Series:
        """For jobs with state, eligible_time and end_time: which are of this slice."""

    def steps(self, table: pl.DataFrame) -> pl.Series:
        """For steps with end_time, job_end and job_here: which are of this slice."""


def _contains(word: str) -> Callable[[Any], Any]:
    return lambda column: pc.match_substring(column, word)


def _exit(setting: str) -> tuple[int, int | None]:
    code, _, signal = setting.partition(":")
    return int(code), int(signal) if signal else None


def rules_of(config: SlurmConfig) -> list[Rule]:
    """The conditions that the settings make, in the order in which they count."""
    rules: list[Rule] = []

    def add(setting: str, column: str, keep: Callable[[Any], Any], reason: str) -> None:
        rules.append(Rule(column, keep, reason, f"slurm.{setting}"))

    if config.name_contains is not None:
        word = config.name_contains
        add("name_contains", "name", _contains(word), f"name does not contain {word!r}")
    if config.qos_contains is not None:
        word = config.qos_contains
        add("qos_contains", "qos", _contains(word), f"QOS does not contain {word!r}")
    if config.req_nodes is not None:
        nodes = config.req_nodes
        add("req_nodes", "req_nodes", lambda c: pc.equal(c, nodes), f"ReqNodes is not {nodes}")
    if config.exit_code is not None:
        code, signal = _exit(config.exit_code)
        reason = f"exit code is not {config.exit_code}"
        add("exit_code", "exit_code", lambda c: pc.equal(c, code), reason)
        if signal is not None:
            add("exit_code", "exit_signal", lambda c: pc.equal(c, signal), reason)
    if config.started is not None:
        wanted = config.started
        add(
            "started",
            "start_time",
            lambda c: pc.is_valid(c) if wanted else pc.is_null(c),
            "the job has not started" if wanted else "the job has started",
        )
    if config.users:
        users = pa.array(config.users)
        add("users", "user", lambda c: pc.is_in(c, value_set=users), "user is not in slurm.users")
    if config.states:
        states = pa.array([state.lower() for state in config.states])
        add("states", "state", lambda c: pc.is_in(c, value_set=states), "state not asked for")
    return rules


@attrs.frozen
class Decided:
    """What was decided on jobs, row by row, as their steps need it.

    job_id, position, submit, end: of each job.  reason: the rule that leaves it out, or null.
    here: whether it belongs to this slice of time.  goes: why it is left out, or null.
    """

    job_id: Any
    position: Any
    submit: Any
    end: Any
    reason: Any
    here: Any
    goes: Any

    def last(self) -> Decided:
        """The last job alone."""
        return Decided(*(column[-1:] for column in attrs.astuple(self, recurse=False)))

    def __add__(self, other: Decided) -> Decided:
        mine, theirs = attrs.astuple(self, recurse=False), attrs.astuple(other, recurse=False)
        return Decided(*map(pa.concat_arrays, zip(mine, theirs, strict=True)))


@attrs.frozen
class Owned:
    """What is known of steps: position and submit time of their job, and which stay (None: all)."""

    position: Any
    submit: Any
    keep: Any | None


class Selection:
    """Applies rules to jobs, and to each step what was decided on its job.

    sacct prints a job's row and then its steps, so the job above a step is its own where the ids
    agree.  A rejected row of a job ends the steps of the job above it: what follows belongs to the
    rejected one, perhaps another run of the same id.  Where ids do not agree (sorted dumps), the
    step stays if a job of its id stayed.

    place: where only the rows of a slice of time are wanted.
    """

    def __init__(self, rules: list[Rule], where: str, place: Place | None = None):
        self.rules = rules
        self.where = where
        self.place = place
        self.filtered: Counter[str] = Counter()
        self._kept_ids: set[str] = set()
        self._last: Decided | None = None
        self._lost = Lost(-1)

    @property
    def active(self) -> bool:
        """Whether anything can be left out."""
        return bool(self.rules) or self.place is not None

    def jobs(self, table: pa.Table) -> Decided:
        """Decide on jobs, in the order of the input."""
        rows = table.num_rows
        reasons = pa.nulls(rows, pa.string())
        for rule in self.rules:
            if rule.column not in table.column_names:
                raise SourceError(
                    f"{rule.setting} is set, but the dump has no column for it ({rule.column})",
                    where=self.where,
                    remedy="drop the setting, or ask sacct for that field",
                )
            keep = pc.fill_null(rule.keep(_array(table, rule.column)), False)
            undecided = pc.and_(pc.invert(keep), pc.is_null(reasons))
            reasons = pc.if_else(undecided, rule.reason, reasons)
        here = pa.array(np.ones(rows, bool))
        if self.place is not None:
            looked_at = table.select(["state", "eligible_time", "end_time"])
            here = self.place.jobs(_frame(looked_at)).to_arrow()
        goes = pc.coalesce(reasons, pc.if_else(here, _NONE, ELSEWHERE))
        if self.active:
            self._count(goes)
            kept = _array(table, "job_id").filter(pc.is_null(goes))
            self._kept_ids.update(kept.to_pylist())
        return Decided(
            _array(table, "job_id"),
            _array(table, "position"),
            _array(table, "submit_time"),
            _array(table, "end_time"),
            reasons,
            here,
            goes,
        )

    def steps(self, table: pa.Table, jobs: Decided, lost: Sequence[Lost] = ()) -> Owned:
        """Which job each step belongs to, and whether it stays.

        table: the steps, in the order of the input.  jobs: what ``jobs`` gave for the same block.
        lost: jobs that were rejected since the last block.
        """
        if self._last is not None:
            jobs = self._last + jobs
        if len(jobs.position):
            self._last = jobs.last()
        ids, places = _array(table, "job_id"), _array(table, "position").to_numpy()
        above = np.searchsorted(jobs.position.to_numpy(), places) - 1
        row = pa.array(above, mask=above < 0)
        orphaned, doubtful = self._orphans(ids, places, jobs.position.take(row), lost)
        own = pc.fill_null(pc.equal(jobs.job_id.take(row), ids), False)
        own = pc.and_(own, pc.invert(orphaned))
        row = pc.if_else(own, row, pa.scalar(None, row.type))
        position, submit = jobs.position.take(row), jobs.submit.take(row)
        if not self.active:
            return Owned(position, submit, None)
        why = jobs.goes.take(row)
        if self.place is not None:
            looked_at = pa.table(
                {
                    "end_time": _array(table, "end_time"),
                    "job_end": jobs.end.take(row),
                    "job_here": jobs.here.take(row),
                }
            )
            here = self.place.steps(_frame(looked_at)).to_arrow()
            why = pc.coalesce(jobs.reason.take(row), pc.if_else(here, _NONE, ELSEWHERE))
        known = pc.is_in(ids, value_set=pa.array(sorted(self._kept_ids), pa.string()))
        known = pc.and_(known, pc.invert(doubtful))
        why = pc.if_else(own, why, pc.if_else(known, _NONE, UNKNOWN_OWNER))
        self._count(why)
        return Owned(position, submit, pc.is_null(why))

    def _orphans(self, ids: Any, places: Any, above: Any, lost: Sequence[Lost]) -> tuple[Any, Any]:
        """Which steps stand below a rejected row of a job, and which of them may be its own.

        above: position of the row of a job above each step.
        """
        rejected = [Lost(-1), self._lost, *lost]
        self._lost = rejected[-1]
        at = np.array([item.position for item in rejected])
        names = pa.array([item.job_id for item in rejected])
        last = np.searchsorted(at, places) - 1
        nearest = names.take(pa.array(last))
        orphaned = pc.greater(pa.array(at[last]), pc.fill_null(above, 0))
        own = pc.or_(pc.equal(nearest, ids), pc.equal(nearest, ""))
        return orphaned, pc.and_(orphaned, own)

    def _count(self, reasons: Any) -> None:
        for found in pc.value_counts(reasons.drop_null()).to_pylist():
            self.filtered[found["values"]] += found["counts"]


_NONE: Final = pa.scalar(None, pa.string())
_TIME: Final = pa.timestamp("us", tz="UTC")


def _array(table: pa.Table, name: str) -> Any:
    """A column in one piece; times that the dump does not have are unknown."""
    if name not in table.column_names:
        return pa.nulls(table.num_rows, _TIME)
    column = table[name]
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _frame(table: pa.Table) -> pl.DataFrame:
    return cast("pl.DataFrame", pl.from_arrow(table))
