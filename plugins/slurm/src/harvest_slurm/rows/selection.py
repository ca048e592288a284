"""The jobs that the settings choose, and the steps that belong to them.

The steps below the row of a rejected job are those of the rejected job. They must not be counted
for the job above, which may be an earlier run of the same id.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, TypeAlias

import attrs
import polars as pl
import pyarrow as pa

from harvest import ReadContext, Reject, SourceError

from ..config import SlurmConfig
from ..window import Window

ELSEWHERE: Final = "belongs to another time slice"
_MICROS: Final = pl.Datetime("us", "UTC")
UNKNOWN_OWNER: Final = "step of a job that is left out, rejected or not in the input"

Lost: TypeAlias = "tuple[int, str]"
"""A job whose row was rejected: its place in the input, and its id, empty if it cannot be read."""

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
            job = place, begin[1].decode()
        elif reject.record_type == "slurm.job":
            job = place, ""
        self._runs.append((place, job))

    def take(self, names: Sequence[str]) -> list[Lost]:
        """Return the jobs since the last call, in order; names: the fields of the dump.

        A record that begins with its id shows whether it is a job or a step. If the id is
        elsewhere, a line that could not be divided into fields may be any job.
        """
        found = [job for _, job in self._runs if job]
        if names[0] not in _IDS:
            found = [(last, "") for last, _ in self._runs]
        elif names[0] == "JobIDRaw" and "JobID" in names:  # another spelling than that of steps
            found = [(place, "") for place, _ in found]
        self._runs.clear()
        return sorted(found)


@attrs.frozen
class Condition:
    """One condition on jobs.

    setting: the user's setting. keep: which jobs stay, by the column that it checks.
    reason: the reason to count the others under.
    """

    setting: str
    keep: pl.Expr
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

    def jobs(self) -> pl.Expr:
        """Return which jobs are in the slice, by their end; those without one are in the last."""
        end, eligible = pl.col("end_time"), pl.col("eligible_time")
        days = timedelta(days=self.window.days)
        # the end of the slice that the job ended in
        stop = (end.dt.truncate(days) + days).clip(self.window.bounds()[0][1], self.window.until)
        never = (
            pl.col("state").is_in(["cancelled", "deadline"])
            & (end < self.window.until)
            & (eligible.is_null() | (eligible >= stop))
        ).fill_null(False)
        return never if self.stray else ~never & self._inside(end)

    def steps(self) -> pl.Expr:
        """Return which steps are in the slice, by their own end or that of the job if earlier.

        sacct shows a step only while it runs, and neither step nor job after the job's end.
        """
        mine = self._inside(pl.min_horizontal("end_time", "job_end"))
        ended = pl.col("end_time").is_not_null()
        return pl.when(ended).then(mine).otherwise("job_here").fill_null(False)


def conditions_of(config: SlurmConfig) -> list[Condition]:
    """Return the conditions of the settings."""
    code, _, signal = (config.exit_code or "0").partition(":")
    name, qos, nodes = config.name_contains, config.qos_contains, config.req_nodes
    start, by_signal = pl.col("start_time"), pl.col("exit_signal")
    other_exit = f"exit code is not {config.exit_code}"
    every = (
        Condition("name_contains", pl.col("name").str.contains(name or "", literal=True),
                  f"name does not contain {name!r}"),
        Condition("qos_contains", pl.col("qos").str.contains(qos or "", literal=True),
                  f"QOS does not contain {qos!r}"),
        Condition("req_nodes", pl.col("req_nodes") == pl.lit(nodes), f"ReqNodes is not {nodes}"),
        Condition("exit_code", pl.col("exit_code") == int(code), other_exit),
        Condition("exit_code", by_signal == int(signal) if signal else by_signal.is_not_null(),
                  other_exit),
        Condition("started", start.is_not_null() if config.started else start.is_null(),
                  f"the job has {'not ' if config.started else ''}started"),
        Condition("users", pl.col("user").is_in(config.users), "user is not in slurm.users"),
        Condition("states", pl.col("state").is_in([state.lower() for state in config.states]),
                  "state is not in slurm.states"),
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
        self.active = bool(conditions) or place is not None  # whether rows can be left out
        self.filtered: Counter[str] = Counter()
        self._kept_ids: set[str] = set()
        self._last: list[pl.DataFrame] = []

    def jobs(self, table: pa.Table) -> tuple[pa.Table, pl.DataFrame]:
        """Decide on jobs, in the order of the input: the rows that stay, and a row for each job.

        The latter has the ``reason`` of the condition that leaves the job out, whether it is in
        the slice of time (``job_here``), and false as ``lost``, which is true of rejected jobs.
        """
        columns = ["state", "eligible_time"] if self.place is not None else []
        reasons = [pl.lit(None, pl.String)]
        # a block without jobs does not show which columns the dump has
        for one in self.conditions if table.num_rows else ():
            columns += one.keep.meta.root_names()
            if columns[-1] not in table.column_names:
                raise SourceError(
                    f"slurm.{one.setting} is set, but the dump has no column {columns[-1]}",
                    where=self.where,
                    remedy="remove the setting, or add the field to sacct --format",
                )
            reasons.append(pl.when(~one.keep.fill_null(False)).then(pl.lit(one.reason)))
        rows = _frame(table, {*_OF_JOB.values(), *columns})
        rows = rows.select(
            **_OF_JOB,
            reason=pl.coalesce(reasons),
            job_here=pl.lit(True) if self.place is None else self.place.jobs(),
            lost=pl.lit(False),
        )
        if self.active:
            table = self._without(table, rows.select(_goes(pl.col("job_here"))))
            self._kept_ids.update(table["job_id"].to_pylist())
        return table, rows

    def steps(self, table: pa.Table, jobs: pl.DataFrame, lost: Sequence[Lost] = ()) -> pa.Table:
        """Return the steps that stay, with position and submit time of the job of each.

        table: the steps, in the order of the input. jobs: the decision on the jobs of the same
            block. lost: jobs that were rejected since the last block.
        """
        rejected = pl.DataFrame([(*job, True) for job in lost], _LOST, orient="row")
        above = pl.concat([*self._last, jobs, rejected], how="diagonal").sort("job_position")
        self._last = [above.tail(1)]
        steps = _frame(table, ["job_id", "position", "end_time"]).join_asof(
            above, left_on="position", right_on="job_position", coalesce=False
        )
        same, is_lost = pl.col("job") == pl.col("job_id"), pl.col("lost")
        steps = steps.with_columns(
            own=(same & ~is_lost).fill_null(False),
            doubtful=(is_lost & (same | (pl.col("job") == ""))).fill_null(False),
        )
        for name in ("job_position", "job_submit_time"):
            column = steps.select(pl.when("own").then(name)).to_series()
            table = table.append_column(name, column.to_arrow())
        if not self.active:
            return table
        here = pl.lit(True) if self.place is None else self.place.steps()
        known = pl.col("job_id").is_in(list(self._kept_ids)) & ~pl.col("doubtful")
        stranger = pl.when(~known).then(pl.lit(UNKNOWN_OWNER))
        return self._without(
            table, steps.select(pl.when("own").then(_goes(here)).otherwise(stranger))
        )

    def _without(self, table: pa.Table, reasons: pl.DataFrame) -> pa.Table:
        """Count rows by the reason for which they are left out; return the others."""
        why = reasons.to_series()
        self.filtered.update(dict(why.drop_nulls().value_counts().iter_rows()))
        return table.filter(why.is_null().to_arrow())

    def account(self, ctx: ReadContext) -> None:
        """Report how many rows were left out, and why."""
        for reason, count in sorted(self.filtered.items()):
            ctx.filtered(count, reason)


_OF_JOB: Final = {
    "job": "job_id",
    "job_position": "position",
    "job_submit_time": "submit_time",
    "job_end": "end_time",
}
_LOST: Final = {"job_position": pl.Int64, "job": pl.String, "lost": pl.Boolean}


def _goes(here: pl.Expr) -> pl.Expr:
    """Return why a row is left out, null if it stays; here: whether it is in the slice of time."""
    return pl.coalesce("reason", pl.when(~here).then(pl.lit(ELSEWHERE)))


def _frame(table: pa.Table, names: Iterable[str]) -> pl.DataFrame:
    """Return columns as a frame; times that the dump lacks are null."""
    there = set(names).intersection(table.column_names)
    lacking = {name: pl.lit(None, _MICROS) for name in names if name not in there}
    return pl.DataFrame(table.select(sorted(there))).with_columns(**lacking)
