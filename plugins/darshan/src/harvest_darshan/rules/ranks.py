"""Rules on single processes, which DXT alone records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from harvest import Finding, Rule, Threshold
from harvest.toolkit.amounts import count_in_words, seconds_in_words

from .words import REPORTS, cost, job_name

if TYPE_CHECKING:
    import polars as pl

__all__ = ["RANK_RULES"]


def slow_ranks(
    rows: pl.DataFrame, total: int, *, times: float, seconds: float
) -> Iterator[Finding]:
    """Ranks that spend much longer in traced I/O than the others of their program."""
    worst = rows.sort("seconds", "rank", descending=[True, False]).row(0, named=True)
    yield Finding(
        cost(worst["time_share"]),
        f"{rows.height:,} of {count_in_words(total, 'traced rank')} spend over {times:g} times as "
        f"long in reads and writes as the median of their program: the longest, rank "
        f"{worst['rank']} of {job_name(worst)}, {seconds_in_words(worst['seconds'])} where the "
        f"median is {seconds_in_words(worst['median_s'])}.",
    )


RANK_RULES: Final = (
    Rule(
        name="io.slow_ranks",
        doc="Ranks of an MPI program whose traced reads and writes take much longer than those "
        "of the median rank, over all files.",
        view="io.ranks",
        where="nprocs > 1 and seconds > {seconds} and seconds > {times} * median_s",
        columns=(
            *("job", "program", "rank", "host", "seconds", "median_s"),
            *("operations", "bytes", "time_share"),
        ),
        judge=slow_ranks,
        advice="Compare their bytes with the others': more bytes are uneven work, the same bytes "
        "a slow node or storage target.",
        reference="the stragglers of Darshan's DXT traces (Xu et al., CUG 2017); the limits are "
        "ours",
        thresholds={
            "times": Threshold(2, "times the median of the ranks with traced operations"),
            "seconds": Threshold(1, "seconds in traced operations"),
        },
        reports=REPORTS,
    ),
)
