"""Which jobs the user asked for, and which steps belong to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final, Protocol, cast

import attrs
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from harvest import SourceError

from .config import SlurmConfig

__all__ = ["ELSEWHERE", "Place", "Rule", "Selection", "rules_of"]

ELSEWHERE: Final = "belongs to another time slice"
UNKNOWN_OWNER: Final = "step of a job that is left out or not in the input"


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
    """Tells which rows belong to one slice of time."""

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


_TIME = pl.Datetime("us", "UTC")


class Selection:
    """Applies rules to jobs, and to each step what was decided on its job.

    sacct prints a job's row and then its steps, so the job above a step is its own where the ids
    agree.  Where they do not (sorted dumps), the step stays if a job of its id stayed.

    place: where only the rows of a slice of time are wanted.
    """

    def __init__(self, rules: list[Rule], where: str, place: Place | None = None):
        self.rules = rules
        self.where = where
        self.place = place
        self.filtered: Counter[str] = Counter()
        self._kept_ids: set[str] = set()
        # what was decided on the last job of the block before
        self._last: pl.DataFrame | None = None

    def jobs(self, table: pa.Table) -> pl.DataFrame:
        """Decide on jobs; per row what its steps need to know, and ``reason`` if it goes."""
        reasons = pa.nulls(table.num_rows, pa.string())
        for rule in self.rules:
            if rule.column not in table.column_names:
                raise SourceError(
                    f"{rule.setting} is set, but the dump has no column for it ({rule.column})",
                    where=self.where,
                    remedy="drop the setting, or ask sacct for that field",
                )
            keep = pc.fill_null(rule.keep(table[rule.column].combine_chunks()), False)
            undecided = pc.and_(pc.invert(keep), pc.is_null(reasons))
            reasons = pc.if_else(undecided, rule.reason, reasons)
        columns = {
            name: pl.from_arrow(table[source])
            for name, source in {
                "job_id": "job_id",
                "job_position": "position",
                "submit": "submit_time",
                "job_end": "end_time",
            }.items()
            if source in table.column_names
        }
        frame = pl.DataFrame({**columns, "reason": pl.Series(reasons.to_pylist(), dtype=pl.String)}
                             if self.rules else columns)  # fmt: skip
        frame = frame.with_columns(
            pl.lit(None, kind).alias(name)
            for name, kind in (("submit", _TIME), ("job_end", _TIME), ("reason", pl.String))
            if name not in frame.columns
        ).select("job_id", "job_position", "submit", "job_end", "reason")
        if self.place is None:
            frame = frame.with_columns(here=pl.lit(True))
        else:
            looked_at = table.select(["state", "eligible_time", "end_time"])
            here = self.place.jobs(cast("pl.DataFrame", pl.from_arrow(looked_at)))
            frame = frame.with_columns(here=here)
        why = pl.coalesce("reason", pl.when(~pl.col("here")).then(pl.lit(ELSEWHERE)))
        frame = frame.with_columns(goes=why)
        if self.active:
            self._count(frame["goes"])
            self._kept_ids.update(frame.filter(pl.col("goes").is_null())["job_id"])
        return frame

    @property
    def active(self) -> bool:
        """Whether anything can be left out."""
        return bool(self.rules) or self.place is not None

    def steps(self, table: pa.Table, jobs: pl.DataFrame) -> pl.DataFrame:
        """For each step: ``job_position`` and ``submit`` of its job, and whether to ``keep`` it.

        table: the steps, in the order of the input.  jobs: what ``jobs`` gave for the same block.
        """
        if self._last is not None:
            jobs = pl.concat([self._last, jobs])
        self._last = jobs.tail(1)
        names = ["job_id", "position", *(["end_time"] if self.place is not None else [])]
        steps = cast("pl.DataFrame", pl.from_arrow(table.select(names)))
        owned = steps.join_asof(
            jobs.rename({"job_id": "owner"}),
            left_on="position",
            right_on="job_position",
            coalesce=False,
            check_sortedness=False,
        ).with_columns(own=(pl.col("job_id") == pl.col("owner")).fill_null(False))
        owned = owned.with_columns(
            pl.when("own").then("job_position").alias("job_position"),
            pl.when("own").then("submit").alias("submit"),
        )
        if not self.active:
            return owned.with_columns(keep=pl.lit(True))
        if self.place is None:
            gone = "goes"
        else:
            looked_at = owned.select("end_time", "job_end", job_here="here")
            here = self.place.steps(looked_at)
            away = pl.when(~pl.Series(here)).then(pl.lit(ELSEWHERE))
            owned = owned.with_columns(gone=pl.coalesce("reason", away))
            gone = "gone"
        known = pl.col("job_id").is_in(list(self._kept_ids)) if self._kept_ids else pl.lit(False)
        strange = pl.when(~known).then(pl.lit(UNKNOWN_OWNER))
        owned = owned.with_columns(why=pl.when("own").then(pl.col(gone)).otherwise(strange))
        self._count(owned["why"])
        return owned.with_columns(keep=pl.col("why").is_null())

    def _count(self, reasons: pl.Series) -> None:
        for reason, count in reasons.drop_nulls().value_counts().iter_rows():
            self.filtered[reason] += count
