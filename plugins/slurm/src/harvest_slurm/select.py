"""Which jobs the user asked for, and which steps belong to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, cast

import attrs
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from harvest import SourceError

from .config import SlurmConfig

__all__ = ["Rule", "Selection", "rules_of"]

ELSEWHERE = "belongs to another time slice"
UNKNOWN_OWNER = "step of a job that is left out or not in the input"


@attrs.frozen
class Rule:
    """One condition on jobs.

    column: the job's column that it looks at.  keep: for that column, which rows stay.
    reason: what the others are counted under.
    """

    column: str
    keep: Callable[[Any], Any]
    reason: str
    setting: str = ""


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


class Selection:
    """Applies rules to jobs, and to each step what was decided on its job.

    sacct prints a job's row and then its steps, so the job above a step is its own where the ids
    agree.  Where they do not (sorted dumps), the step stays if a job of its id stayed.
    """

    def __init__(
        self,
        rules: list[Rule],
        where: str,
        first: Callable[[pl.DataFrame], pl.Series] | None = None,
    ):
        self.rules = rules
        self.first = first
        self.where = where
        self.filtered: Counter[str] = Counter()
        self._kept_ids: set[str] = set()
        # the last job of the block before: id, position, submit time, why it was left out
        self._last: dict[str, Any] | None = None

    @property
    def active(self) -> bool:
        """Whether anything can be left out."""
        return bool(self.rules) or self.first is not None

    def jobs(self, table: pa.Table) -> pl.DataFrame:
        """Decide on jobs; per row its id, position, submit time and why it is left out."""
        reasons = pa.nulls(table.num_rows, pa.string())
        if self.first is not None and table.num_rows:
            looked_at = ("end_time", "eligible_time", "state")
            here = self.first(cast("pl.DataFrame", pl.from_arrow(table.select(looked_at))))
            reasons = pc.if_else(here.to_arrow(), reasons, ELSEWHERE)
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
        submit = pl.lit(None, pl.Datetime("us", "UTC"))
        if "submit_time" in table.column_names:
            submit = pl.from_arrow(table["submit_time"])
        frame = pl.DataFrame(
            {
                "job_id": pl.from_arrow(table["job_id"]),
                "position": pl.from_arrow(table["position"]),
                "reason": pl.from_arrow(reasons),
            },
            schema_overrides={"reason": pl.String},
        ).with_columns(submit=submit)
        if self.active:
            counts = frame["reason"].drop_nulls().value_counts()
            self.filtered.update(dict(counts.iter_rows()))
            self._kept_ids.update(frame.filter(pl.col("reason").is_null())["job_id"])
        return frame

    def steps(self, ids: Any, positions: Any, jobs: pl.DataFrame) -> pl.DataFrame:
        """For each step: position and submit time of its job, and whether it stays.

        ids, positions: of the steps, in the order of the input.  jobs: what ``jobs`` gave for the
        same block.
        """
        if self._last is not None:
            jobs = pl.concat([pl.DataFrame([self._last], schema=jobs.schema), jobs])
        steps = pl.DataFrame({"step_job": pl.from_arrow(ids), "position": pl.from_arrow(positions)})
        owned = steps.join_asof(
            jobs.with_columns(job_position="position"), on="position", check_sortedness=False
        ).with_columns(own=(pl.col("step_job") == pl.col("job_id")).fill_null(False))
        if len(jobs):
            self._last = jobs.row(-1, named=True)
        if not self.active:
            return owned.with_columns(keep=pl.lit(True))
        above = pl.col("reason").is_null()
        elsewhere = pl.col("step_job").is_in(list(self._kept_ids)) if self._kept_ids else False
        decided = owned.with_columns(
            keep=pl.when("own").then(above).otherwise(elsewhere),
        ).with_columns(
            why=pl.when("own").then("reason").otherwise(pl.lit(UNKNOWN_OWNER)),
        )
        left_out = decided.filter(~pl.col("keep"))["why"].value_counts()
        self.filtered.update({f"{why}": n for why, n in left_out.iter_rows()})
        return decided
