"""Build the view ``io.gains``: jobs, the largest possible gain first."""

from typing import Final

import polars as pl

from harvest import DatasetReader, Rule
from harvest.model.frames import types_of
from harvest.toolkit.frames import condition
from harvest_toolkit.frames import deferred, fraction, known_sum, whole_nanoseconds

from ..rules import RULES
from ..rules.words import NamesWorst
from .declared.jobs import GAIN_COLUMNS
from .jobs import jobs as jobs_of
from .posix_files import posix_files, requests
from .processes import ranks

VIEWS: Final = {
    "io.jobs": jobs_of,
    "io.requests": requests,
    "io.posix_files": posix_files,
    "io.ranks": ranks,
}
"""The functions that build the views that rules check."""

JOB: Final = ("run", "job", "began")

_LATE = pl.col("late_s") * (pl.col("largest_log") - 1)
_REDUNDANT = pl.col("seconds") * fraction("redundant_bytes", "bytes")

CONCERNED: Final[dict[str, tuple[str | pl.Expr, str]]] = {
    **dict.fromkeys(
        ("io.small_requests", "io.small_requests_shared", "io.random_access"), ("seconds", "op")
    ),
    "io.redundant": (_REDUNDANT, "op"),
    **dict.fromkeys(("io.independent_mpiio", "io.blocking_mpiio"), ("mpiio_s", "op")),
    **dict.fromkeys(("io.stdio", "io.many_stdio_requests"), ("stdio_s", "all")),
    **dict.fromkeys(("io.misaligned_file", "io.misaligned_memory"), ("posix_s", "all")),
    "io.no_mpiio": ("io_s", "all"),
    "io.mostly_metadata": ("meta_s", "meta"),
    "io.long_metadata": ("meta_s", "meta"),
    **dict.fromkeys(("io.unequal_bytes", "io.stragglers"), (_LATE, "all")),
    "io.unequal_processes": (pl.col("time_share") * pl.col("process_s"), "all"),
    "io.slow_ranks": (pl.col("seconds") - pl.col("median_s"), "all"),
}
"""By rule: the process time in seconds that a row of its view concerns, and its part of the I/O.

The parts ``read``, ``write`` (from the column ``op``) and ``meta`` do not overlap; ``all`` may
overlap them. Other rules concern no time.
"""

_WORDS = pl.col("certainty").explode().drop_nulls().unique().sort()
_REQUESTS = pl.col("reads").cast(pl.Int128) + pl.col("writes")


def gains(
    dataset: DatasetReader, *, run: str | None = None, job: int | None = None, per: str = "job"
) -> pl.LazyFrame:
    """Return a row per job with findings, or per job and finding; the largest gain first."""
    built = {name: build(dataset, run=run, job=job) for name, build in VIEWS.items()}

    def compute() -> pl.DataFrame:
        views = {name: frame.collect() for name, frame in built.items()}
        jobs = views["io.jobs"].select(
            *JOB, "pid", "program", "processes", "wall_s", "largest_log", "process_s"
        )
        found = []
        for name, rows in views.items():
            lacking = [c for c in ("largest_log", "process_s") if c not in rows.columns]
            rows = rows.join(jobs.select(*JOB, *lacking), on=JOB, how="left", nulls_equal=True)
            found += [_chosen(rule, rows) for rule in RULES if rule.view == name]
        per_part = (
            pl.concat(found)
            .group_by(*JOB, "finding", "part")
            .agg(
                _WORDS.alias("certainty"),
                seconds=(known_sum(whole_nanoseconds("seconds")) / 1e9).round(9),
            )
        )
        per_finding = _summed(per_part, [*JOB, "finding"])
        rows = per_finding if per == "finding" else _by_job(per_part, per_finding)
        ran = pl.when(pl.col("seconds").is_not_null()).then("process_s")
        return (
            rows.join(jobs, on=JOB, how="left", nulls_equal=True)
            # the gain is at most the time that the processes ran
            .with_columns(seconds=pl.min_horizontal("seconds", ran))
            .with_columns(hours=pl.col("seconds") / 3600, share=fraction("seconds", "process_s"))
            .sort(
                *("hours", "run", "began", "job", "finding"),
                descending=[True, False, False, False, False],
                nulls_last=True,
            )
        )

    return deferred(compute, types_of(GAIN_COLUMNS))


def _chosen(rule: Rule, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that meet a rule's condition, with the time that they concern."""
    numbers = {name: threshold.value for name, threshold in rule.thresholds.items()}
    seconds, part = CONCERNED.get(rule.name, (pl.lit(None, pl.Float64), "all"))
    spent = pl.col(seconds) if isinstance(seconds, str) else seconds
    unsure = []
    if isinstance(rule.judge, NamesWorst) and rule.judge.watched:
        unsure.append(pl.when(pl.col(rule.judge.watched) < _REQUESTS).then(pl.lit("part")))
    if isinstance(rule.judge, NamesWorst) and rule.judge.at_least:
        unsure.append(pl.when(rule.judge.at_least).then(pl.lit("lower_bound")))
    return rows.filter(condition(rule.condition(numbers), rows)).select(
        *JOB,
        finding=pl.lit(rule.name),
        part=pl.col("op") if part == "op" else pl.lit(part),
        seconds=spent.cast(pl.Float64),
        certainty=pl.concat_list("certainty", *unsure).list.drop_nulls(),
    )


def _summed(parts: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Combine the parts of findings: the sum of those that do not overlap, or the largest other."""
    apart = [
        pl.col("seconds").filter(pl.col("part") == word).max() for word in ("read", "write", "meta")
    ]
    together = pl.col("seconds").filter(pl.col("part") == "all").max()
    known = pl.col("seconds").is_not_null().any()
    most = pl.max_horizontal(pl.sum_horizontal(apart), together)
    return parts.group_by(by).agg(
        seconds=pl.when(known).then(most),
        certainty=_WORDS,
        findings=pl.col("finding").unique().sort(),
    )


def _by_job(parts: pl.DataFrame, per_finding: pl.DataFrame) -> pl.DataFrame:
    """Combine the findings of each job in a row, the one that concerns most time first."""
    names = pl.col("finding").sort_by(
        "seconds", "finding", descending=[True, False], nulls_last=True
    )
    named = per_finding.group_by(JOB).agg(findings=names, finding=names.first())
    return _summed(parts, [*JOB]).drop("findings").join(named, on=JOB, nulls_equal=True)
