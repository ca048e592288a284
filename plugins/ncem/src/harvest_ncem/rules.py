"""Rules on a study: can its times be trusted, and what was left out of it?

Limits come from the study's own methods: receivers get word of a scan at the same moment, so what
lies between their times is their clocks (see ``views.clock_check``), and a scan is measured from
its receivers' times and its files (``views.offload``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from harvest import Finding, Rule, Threshold
from harvest.toolkit.amounts import count_in_words

if TYPE_CHECKING:
    import polars as pl

__all__ = ["RULES"]

_REPORTS: Final = ("ncem.comparison",)


def clocks_apart(rows: pl.DataFrame, total: int, *, seconds: float) -> Iterator[Finding]:
    """A finding per receiver whose clock is off."""
    for receiver, offset, scans in rows.select("receiver", "median_offset_s", "n").iter_rows():
        ahead = "ahead of" if offset > 0 else "behind"
        yield Finding(
            "high",
            f"The clock of receiver {receiver} is {abs(offset):.3g} s {ahead} the others' "
            f"(median of {count_in_words(scans, 'scan')}; {seconds:g} s are allowed).",
            {"receiver": receiver},
        )


def scans_apart(rows: pl.DataFrame, total: int, *, seconds: float) -> Iterator[Finding]:
    """Scans whose receivers disagree, whatever their clocks do as a rule."""
    worst = rows.sort("spread_s", descending=True).row(0, named=True)
    yield Finding(
        "medium",
        f"In {rows.height:,} of {count_in_words(total, 'scan')} the receivers' times lie over "
        f"{seconds:g} s apart; the most, {worst['spread_s']:.3g} s, in scan "
        f"{worst['scan_number']}.",
    )


def receivers_missing(rows: pl.DataFrame, total: int, *, receivers: float) -> Iterator[Finding]:
    """Scans of which not every receiver has a status."""
    fewest = rows["receivers"].min()
    yield Finding(
        "medium",
        f"{rows.height:,} of {count_in_words(total, 'scan')} have statuses of fewer than "
        f"{receivers:g} receivers, the poorest of {fewest}: their first and last times may be "
        "missing.",
    )


def scans_left_out(rows: pl.DataFrame, total: int) -> Iterator[Finding]:
    """A finding per reason."""
    counts = rows["excluded"].value_counts(sort=True)
    for reason, count in counts.sort("count", "excluded", descending=[True, False]).iter_rows():
        yield Finding(
            "medium" if count * 10 > total else "low",
            f"{count:,} of {count_in_words(total, 'scan')} are left out of the offload: {reason}.",
            {"excluded": reason},
        )


def clock_too_coarse(rows: pl.DataFrame, total: int) -> Iterator[Finding]:
    """A finding per size and method whose fences mean little."""
    for size, method, warning in rows.select("size", "method", "warning").iter_rows():
        where = {"size": size, "method": method}
        yield Finding("medium", f"{size} by {method}: {warning}.", where)


RULES: Final = (
    Rule(
        name="ncem.clocks_apart",
        doc="A receiver whose clock differs from the others' shifts every time that starts or "
        "ends with it, so a comparison of methods may compare clocks.",
        view="ncem.clock_check",
        settings={"per": "receiver"},
        where="abs(median_offset_s) > {seconds}",
        columns=("receiver", "median_offset_s", "n", "n_beyond", "suggested_clock_offset_s"),
        judge=clocks_apart,
        advice="Harvest again with the offset that the evidence suggests "
        "(--set ncem.clock_offset.RECEIVER=SECONDS), and synchronise the receivers by NTP or PTP.",
        reference="receivers learn of a scan at the same moment; the study's own limit is 2 s",
        thresholds={"seconds": Threshold(2, "seconds from the median of all receivers")},
        reports=_REPORTS,
    ),
    Rule(
        name="ncem.scans_apart",
        doc="Scans whose receivers' times disagree: a late receiver or a stepping clock.",
        view="ncem.clock_check",
        where="scan_number <> 0 and spread_s > {seconds}",
        columns=("scan_number", "take", "spread_s", "worst_receiver", "worst_offset_s"),
        judge=scans_apart,
        advice="Look at the worst receiver of each scan; where it is always the same one, its "
        "clock is wrong, else the receiver was busy or started late.",
        reference="receivers learn of a scan at the same moment; the study's own limit is 2 s",
        thresholds={"seconds": Threshold(2, "seconds between the first and the last receiver")},
        reports=_REPORTS,
    ),
    Rule(
        name="ncem.receivers_missing",
        doc="A scan without the status of some receiver may have begun earlier than it seems.",
        view="ncem.clock_check",
        where="scan_number <> 0 and receivers < {receivers}",
        columns=("scan_number", "take", "receivers", "first_receiver_time"),
        judge=receivers_missing,
        advice="Harvest the status files of all receivers, or leave these scans out.",
        reference="the 4D Camera has four receivers",
        thresholds={"receivers": Threshold(4, "receivers that the detector has")},
        reports=_REPORTS,
    ),
    Rule(
        name="ncem.scans_left_out",
        doc="Scans that the study's statistics do not count, with the reason.",
        view="ncem.offload",
        where="excluded is not null",
        columns=("scan_number", "take", "excluded", "first_receiver_time", "data_files"),
        judge=scans_left_out,
        advice="Harvest what is missing, or place the scans in the study's ranges.",
        reference="the study's definition of offload: last write minus earliest receiver time",
        reports=_REPORTS,
    ),
    Rule(
        name="ncem.clock_too_coarse",
        doc="Durations measured by a clock whose steps are as large as their spread: what counts "
        "as an outlier is then decided by rounding.",
        view="ncem.outliers",
        requires=("slurm.job", "distiller.job", "ncem.receiver_status", "ncem.data_file"),
        where="warning is not null",
        columns=("size", "method", "n", "n_outliers", "clock_step_s", "warning"),
        judge=clock_too_coarse,
        advice="Compare medians, or the statistics with outliers; measure with a finer clock.",
        reference="Tukey's fences, 1.5 times the distance of the quartiles",
        reports=_REPORTS,
    ),
)
