"""The jobs that the settings choose, and the steps that belong to them.

The steps below the row of a rejected job are those of the rejected job. They must not be counted
for the job above, which may be an earlier run of the same id.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final, cast

import attrs
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from harvest import ReadContext, Reject, SourceError

from ..config import SlurmConfig
from ..window import Window

ELSEWHERE: Final = "belongs to another time slice"
_MICROS: Final = pl.Datetime("us", "UTC")
UNKNOWN_OWNER: Final = "step of a job that is left out, rejected or not in the input"


@attrs.frozen(order=True)
class Lost:
    """A job whose row was rejected.

    position: its place in the input. job_id: empty if it cannot be read.
    """

    position: int
    job_id: str = ""


_AT_BEGIN: Final = re.compile(rb'[\s"]*(\d+(?:_\d+|_\[[^\]]*\]|\+\d+)?)(?!\w)(\.\w)?')
"""The id of a job at the begin of a record, and the mark of a step behind it."""

_IDS: Final = ("JobID", "JobIDRaw")


class LostJobs:
    """Collects the rejects of a context.

    Rejects of neighbouring lines without a row between them are one group: its last position, and
    its last job by the begin of the text or by the record type of the reject.
    """

    def __init__(self, ctx: ReadContext):
        self._runs: list[tuple[int, Lost | None]] = []
        keep = ctx.on_reject or ctx.rejects.append

        def both(reject: Reject) -> None:
            self._add(reject)
            keep(reject)

        ctx.on_reject = both

    def _add(self, reject: Reject) -> None:
        place = reject.position
        if place is None or reject.record_type == "slurm.step":
            return
        job = None
        if self._runs and self._runs[-1][0] + 1 == place:
            _, job = self._runs.pop()
        begin = _AT_BEGIN.match(reject.raw)
        if begin is not None and not begin[2]:
            job = Lost(place, begin[1].decode())
        elif reject.record_type == "slurm.job":
            job = Lost(place)
        self._runs.append((place, job))

    def take(self, names: Sequence[str]) -> list[Lost]:
        """Return the jobs since the last call, in order; names: the fields of the dump.

        A record that begins with its id shows whether it is a job or a step. If the id is
        elsewhere, a line that could not be divided into fields may be any job.
        """
        found = [job for _, job in self._runs if job]
        if names[0] not in _IDS:
            found = [Lost(last) for last, _ in self._runs]
        elif names[0] == "JobIDRaw" and "JobID" in names:  # another spelling than that of steps
            found = [Lost(job.position) for job in found]
        self._runs.clear()
        return sorted(found)


@attrs.frozen
class Condition:
    """One condition on jobs.

    setting: the user's setting. column: the column of jobs that it checks.
    keep: returns which rows of that column stay. reason: the reason to count the others under.
    """

    setting: str
    column: str
    keep: Callable[[Any], Any]
    reason: str


@attrs.frozen
class Slice:
    """The rows that belong to one slice of time.

    stray: it is the call for jobs that were cancelled before they became eligible.
    """

    window: Window
    start: datetime
    stop: datetime
    stray: bool

    def _inside(self, end: pl.Expr) -> pl.Expr:
        here = (end >= self.start) & (end < self.stop)
        if self.stop == self.window.until:
            return here.fill_null(True) | (end >= self.stop)
        return here.fill_null(False)

    def jobs(self, table: pl.DataFrame) -> pl.Series:
        """Return the jobs in the slice, by their end; jobs without an end are in the last slice."""
        bounds = pl.Series("stop", [right for _, right in self.window.bounds()], _MICROS)
        end, eligible = pl.col("end_time"), pl.col("eligible_time")
        # the end of the slice that the job ended in
        after = bounds.search_sorted(table["end_time"], side="right")
        table = table.with_columns(stop=bounds.append(pl.Series([None], dtype=_MICROS))[after])
        never = (
            pl.col("state").is_in(["cancelled", "deadline"])
            & (end < self.window.until)
            & (eligible.is_null() | (eligible >= pl.col("stop")))
        ).fill_null(False)
        mine = never if self.stray else ~never & self._inside(end)
        return table.select(mine=mine).to_series()

    def steps(self, table: pl.DataFrame) -> pl.Series:
        """Return the steps in the slice, by their own end or that of the job if it is earlier.

        sacct shows a step only while it runs, and neither step nor job after the job's end.
        """
        own = pl.col("end_time")
        mine = self._inside(pl.min_horizontal("end_time", "job_end"))
        return table.select(
            mine=pl.when(own.is_null()).then("job_here").otherwise(mine).fill_null(False)
        ).to_series()


def conditions_of(config: SlurmConfig) -> list[Condition]:
    """Return the conditions of the settings."""
    code, _, signal = (config.exit_code or "0").partition(":")
    states = [state.lower() for state in config.states]
    other_exit = f"exit code is not {config.exit_code}"
    has_started = f"the job has {'not ' if config.started else ''}started"
    name, qos, nodes = config.name_contains, config.qos_contains, config.req_nodes

    def among(values: Sequence[str]) -> Callable[[Any], Any]:
        return partial(pc.is_in, value_set=pa.array(values, pa.string()))

    every = (
        Condition("name_contains", "name", partial(pc.match_substring, pattern=name),
                  f"name does not contain {name!r}"),
        Condition("qos_contains", "qos", partial(pc.match_substring, pattern=qos),
                  f"QOS does not contain {qos!r}"),
        Condition("req_nodes", "req_nodes", partial(pc.equal, nodes), f"ReqNodes is not {nodes}"),
        Condition("exit_code", "exit_code", partial(pc.equal, int(code)), other_exit),
        Condition("exit_code", "exit_signal",
                  partial(pc.equal, int(signal)) if signal else pc.is_valid, other_exit),
        Condition("started", "start_time", pc.is_valid if config.started else pc.is_null,
                  has_started),
        Condition("users", "user", among(config.users), "user is not in slurm.users"),
        Condition("states", "state", among(states), "state is not in slurm.states"),
    )  # fmt: skip
    return [one for one in every if getattr(config, one.setting) not in (None, ())]


class Selection:
    """Applies conditions to jobs, and the decision on a job to each of its steps.

    sacct prints a job's row and then its steps, so a step belongs to the job above it if the ids
    agree. A rejected row of a job ends the steps of the job above it: what follows belongs to the
    rejected job, perhaps another run of the same id. If ids do not agree (sorted dumps), a step
    stays if a job of its id stayed.

    place: the slice of time, if only its rows are wanted.
    """

    def __init__(self, conditions: list[Condition], where: str, place: Slice | None = None):
        self.conditions = conditions
        self.where = where
        self.place = place
        self.filtered: Counter[str] = Counter()
        self._kept_ids: set[str] = set()
        self._last: pa.RecordBatch | None = None
        self._lost = Lost(-1)

    @property
    def active(self) -> bool:
        """Whether rows can be left out."""
        return bool(self.conditions) or self.place is not None

    def jobs(self, table: pa.Table) -> tuple[pa.Table, pa.RecordBatch]:
        """Decide on jobs, in the order of the input: the rows that stay, and a row for each job.

        The latter has job_id, position, submit_time, end_time, the ``reason`` of the condition that
        leaves the job out, whether it is ``here`` in the slice of time, and why it ``goes``.
        """
        reasons = pa.nulls(table.num_rows, pa.string())
        for one in self.conditions:
            if one.column not in table.column_names:
                raise SourceError(
                    f"slurm.{one.setting} is set, but the dump has no column {one.column}",
                    where=self.where,
                    remedy="remove the setting, or add the field to sacct --format",
                )
            keep = pc.fill_null(one.keep(_array(table, one.column)), False)
            undecided = pc.and_(pc.invert(keep), pc.is_null(reasons))
            reasons = pc.if_else(undecided, one.reason, reasons)
        here = pa.array(np.ones(table.num_rows, bool))
        if self.place is not None:
            looked_at = table.select(["state", "eligible_time", "end_time"])
            here = self.place.jobs(_frame(looked_at)).to_arrow()
        each = {name: _array(table, name) for name in _OF_JOB}
        each |= {"reason": reasons, "here": here}
        each["goes"] = goes = pc.coalesce(reasons, pc.if_else(here, _NONE, ELSEWHERE))
        if self.active:
            self._count(goes)
            table = table.filter(pc.is_null(goes))
            self._kept_ids.update(_array(table, "job_id").to_pylist())
        return table, pa.RecordBatch.from_pydict(each)

    def steps(self, table: pa.Table, jobs: pa.RecordBatch, lost: Sequence[Lost] = ()) -> pa.Table:
        """Return the steps that stay, with position and submit time of the job of each.

        table: the steps, in the order of the input. jobs: the decision on the jobs of the same
            block. lost: jobs that were rejected since the last block.
        """
        if self._last is not None:
            jobs = pa.concat_batches([self._last, jobs])
        if jobs.num_rows:
            self._last = jobs.slice(jobs.num_rows - 1)
        ids, places = _array(table, "job_id"), _array(table, "position").to_numpy()
        above = np.searchsorted(jobs["position"].to_numpy(), places) - 1
        row = pa.array(above, mask=above < 0)
        orphaned, doubtful = self._orphans(ids, places, jobs["position"].take(row), lost)
        own = pc.fill_null(pc.equal(jobs["job_id"].take(row), ids), False)
        own = pc.and_(own, pc.invert(orphaned))
        mine = jobs.take(pc.if_else(own, row, pa.scalar(None, row.type)))
        table = table.append_column("job_position", mine["position"])
        table = table.append_column("job_submit_time", mine["submit_time"])
        if not self.active:
            return table
        why = mine["goes"]
        if self.place is not None:
            looked_at = pa.table(
                [_array(table, "end_time"), mine["end_time"], mine["here"]],
                ["end_time", "job_end", "job_here"],
            )
            here = self.place.steps(_frame(looked_at)).to_arrow()
            why = pc.coalesce(mine["reason"], pc.if_else(here, _NONE, ELSEWHERE))
        known = pc.is_in(ids, value_set=pa.array(sorted(self._kept_ids), pa.string()))
        known = pc.and_(known, pc.invert(doubtful))
        why = pc.if_else(own, why, pc.if_else(known, _NONE, UNKNOWN_OWNER))
        self._count(why)
        return table.filter(pc.is_null(why))

    def account(self, ctx: ReadContext) -> None:
        """Report how many rows were left out, and why."""
        for reason, count in sorted(self.filtered.items()):
            ctx.filtered(count, reason)

    def _orphans(self, ids: Any, places: Any, above: Any, lost: Sequence[Lost]) -> tuple[Any, Any]:
        """Return the steps below a rejected row of a job, and those of them that may be its own.

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


_OF_JOB: Final = ("job_id", "position", "submit_time", "end_time")
_NONE: Final = pa.scalar(None, pa.string())
_TIME: Final = pa.timestamp("us", tz="UTC")


def _array(table: pa.Table, name: str) -> Any:
    """Return a column in one piece; times that the dump lacks are null."""
    if name not in table.column_names:
        return pa.nulls(table.num_rows, _TIME)
    column = table[name]
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _frame(table: pa.Table) -> pl.DataFrame:
    return cast("pl.DataFrame", pl.from_arrow(table))
