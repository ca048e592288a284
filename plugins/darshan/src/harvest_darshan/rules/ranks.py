"""Rules on single processes, which DXT alone records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from harvest import Finding, Rule, Threshold
from harvest.toolkit.amounts import count_in_words, seconds_in_words

from .words import REPORTS, certainty, cost, job_name, severities, taken

if TYPE_CHECKING:
    import polars as pl


def slow_ranks(
    rows: pl.DataFrame, total: int, *, times: float, seconds: float
) -> Iterator[Finding]:
    """Ranks that spend much longer in traced I/O than the others of their program."""
    worst = rows.sort("seconds", "rank", descending=[True, False]).row(0, named=True)
    all_of = severities([cost(share) for share in rows["time_share"]])
    yield Finding(
        cost(worst["time_share"]),
        f"{rows.height:,} of {count_in_words(total, 'traced rank')} ({all_of}) spend over "
        f"{times:g} times as long in reads and writes as the median of their program: the "
        f"longest, rank {worst['rank']} of {job_name(worst)}, "
        f"{seconds_in_words(worst['seconds'])} where the median is "
        f"{seconds_in_words(worst['median_s'])}{taken('these are', worst['time_share'])}.",
        certainty=certainty(rows),
    )


RANK_RULES: Final = (
    Rule(
        name="io.slow_ranks",
        doc="Ranks of an MPI program whose traced reads and writes take much longer than those "
        "of the median rank, over all files.",
        view="io.ranks",
        among="nprocs > 1",
        where="seconds > {seconds} and seconds > {times} * median_s",
        columns=(
            *("job", "pid", "program", "rank", "host", "seconds", "median_s"),
            *("operations", "bytes", "time_share", "certainty"),
        ),
        judge=slow_ranks,
        advice="Compare their bytes with the others': more bytes are uneven work, the same bytes "
        "a slow node or storage target.",
        reference="the stragglers of Darshan's DXT traces (Xu et al., CUG 2017); the limits are "
        "ours",
        numerator="time of a rank in the reads and writes that DXT traced, s",
        denominator="the median of that time over the traced ranks of its log, s",
        judged="ranks with traced operations, of logs of several processes; ranks without any are "
        "left out",
        unable="the logs hold no trace: DXT_ENABLE_IO_TRACE=1 makes Darshan record one",
        thresholds={
            "times": Threshold(2, "times the median of the ranks with traced operations"),
            "seconds": Threshold(1, "seconds in traced operations"),
        },
        requires=("darshan.job",),
        reports=REPORTS,
    ),
)
