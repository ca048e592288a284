"""Rules on a study: reliability of its times, lost scans, and excluded data.

Limits follow from the study's methods. Receivers are notified of a scan at the same moment, so
differences between their times are differences between clocks (see ``views.clock_check``). A scan
is measured by its receivers' times and its files (``views.offload``).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from harvest import Finding, Rule, Threshold
from harvest.toolkit.amounts import count_in_words

if TYPE_CHECKING:
    import polars as pl

NOTHING: Final = "neither status nor file"
"""Text in column ``missing`` for a scan without any data (``views.failed``)."""

_rule = partial(Rule, reports=("ncem.comparison",))
_on_scans = partial(_rule, view="ncem.failed_scans", settings={"show": "all"})
_on_clocks = partial(_rule, view="ncem.clock_check")
_on_receivers = partial(
    _on_clocks,
    settings={"per": "receiver"},
    unable="a receiver that was alone in all its scans: harvest the statuses of all four",
)


def _clocks_apart(rows: pl.DataFrame, total: int, *, seconds: float) -> Iterator[Finding]:
    for receiver, offset, low, high, lacking, scans in rows.select(_OF_CLOCK).iter_rows():
        clock, part, advice = f"not steady, from {low:,.6g} to {high:,.6g} s", "Middle 80 %", ""
        if lacking is not None and max(offset - low, high - offset) <= seconds:
            clock, part = f"{abs(offset):,.6g} s {'ahead' if offset > 0 else 'behind'}", "Median"
            advice = (
                f"Harvest again with --set ncem.clock_offset.{receiver}={round(lacking, 3):.12g}s, "
                "and synchronise the receivers by NTP or PTP."
            )
        yield Finding(
            "high",
            f"Receiver {receiver}: clock {clock}",
            f"{part} of {count_in_words(scans, 'scan')}, compared with all receivers; "
            f"{seconds:g} s are allowed.",
            {"receiver": receiver},
            advice=advice,
        )


_OF_CLOCK: Final = (
    *("receiver", "median_offset_s", "low_offset_s", "high_offset_s"),
    *("suggested_clock_offset_s", "n"),
)


def _wrong_zone(rows: pl.DataFrame, total: int) -> Iterator[Finding]:
    columns = ("receiver", "zone_offset_s", "n_zone", "n")
    for receiver, offset, wrong, scans in rows.select(columns).iter_rows():
        ahead = "ahead" if offset > 0 else "behind"
        yield Finding(
            "high",
            f"Receiver {receiver}: time zone wrong by {abs(offset) / 3600:g} h",
            f"Its times are {abs(offset):,.0f} s {ahead} in {wrong:,} of "
            f"{count_in_words(scans, 'scan')}; durations leave these times out.",
            {"receiver": receiver},
        )


def _scans(
    rows: pl.DataFrame,
    total: int,
    *,
    by: str,
    largest: bool = False,
    headline: str,
    detail: str,
    **limits: float,
) -> Iterator[Finding]:
    """Report scans in one finding: their number and the limits, and the worst scan by a column."""
    worst = rows.sort(by, "scan_number", descending=[largest, False]).row(0, named=True)
    some = f"{rows.height:,} of {count_in_words(total, 'scan')}"
    yield Finding("medium", headline.format(some=some, **limits), detail.format(**worst))


def _scans_lost(rows: pl.DataFrame, total: int, *, share: float) -> Iterator[Finding]:
    for (method, missing), lost in rows.group_by("method", "missing", maintain_order=True):
        scans, first = lost["n_method"][0], lost["scan_number"].sort()[0]
        # scans that were not harvested, or never acquired, also leave nothing
        nothing = missing == NOTHING
        what = "left no file and no status" if nothing else f"lost: {missing}"
        yield Finding(
            "high" if not nothing and lost.height > share * scans else "medium",
            f"{lost.height:,} of {scans:,} {_OF_METHOD[str(method)]} {what}",
            f"First of them: scan {first}.",
            {"method": str(method), "missing": str(missing)},
        )


_OF_METHOD: Final = {
    "streaming": "streamed scans",
    "file_transfer": "file-transfer scans",
    "both": "scans of both methods",
}


def _empty_files(rows: pl.DataFrame, total: int) -> Iterator[Finding]:
    files = count_in_words(int(rows["empty_files"].sum()), "file")
    yield Finding(
        "high",
        f"{rows.height:,} of {count_in_words(total, 'scan')} have empty files",
        f"{files} of 0 bytes. First of these scans: {rows['scan_number'].sort()[0]}.",
    )


def _scans_left_out(rows: pl.DataFrame, total: int) -> Iterator[Finding]:
    """Report each reason in a finding, and name the scans that the study has elsewhere."""
    streamed, unplaced = rows["n_streamed"][0], rows["n_unplaced"][0]
    others = [f"{count_in_words(streamed, 'other scan')} were streamed"] if streamed else []
    if unplaced:
        others.append(f"the study names no method for {count_in_words(unplaced, 'scan')}")
    rest = f" Besides, {' and '.join(others)}." if others else ""
    counts = rows["excluded"].value_counts(sort=True)
    for reason, count in counts.sort("count", "excluded", descending=[True, False]).iter_rows():
        yield Finding(
            "medium" if count * 10 > total else "low",
            f"{count:,} of {total:,} file-transfer scans left out of the offload",
            f"Reason: {reason}.{rest}",
            {"excluded": reason},
        )


def _clock_too_coarse(rows: pl.DataFrame, total: int) -> Iterator[Finding]:
    for size, method, warning in rows.select("size", "method", "warning").iter_rows():
        yield Finding(
            "medium",
            f"{size} by {method}: clock too coarse to tell outliers",
            f"{str(warning)[:1].upper()}{warning[1:]}.",
            {"size": size, "method": method},
            ("coarse_clock",),
        )


RULES: Final = (
    _on_receivers(
        name="ncem.wrong_zone",
        doc="A receiver that stamps local time as UTC, or the reverse, is hours from the others; "
        "with its time a scan of seconds would take hours.",
        where="n_zone > 0",
        columns=("receiver", "zone_offset_s", "n_zone", "n", "median_offset_s"),
        judge=_wrong_zone,
        advice="Correct the time zone of the receiver; to count its times, harvest again with "
        "what is lacking (--set ncem.clock_offset.RECEIVER=7h).",
        reference="receivers learn of a scan at the same moment; zones lie whole or half hours "
        "apart, and clocks without synchronisation up to 5 minutes",
        numerator="takes in which a receiver lies whole or half hours, give or take 5 min, from "
        "the majority of receivers",
        denominator="takes that it and another receiver reported",
        judged="receivers that reported a scan together with others; scan 0 is left out",
    ),
    _on_receivers(
        name="ncem.clocks_apart",
        doc="A receiver whose clock differs from the others' shifts every time that starts or "
        "ends with it, so a comparison of methods may compare clocks.",
        among="coalesce(n_zone * 2 < n, true)",
        where="abs(median_offset_s) > {seconds} or median_offset_s - low_offset_s > {seconds} "
        "or high_offset_s - median_offset_s > {seconds}",
        columns=(*_OF_CLOCK, "n_beyond"),
        judge=_clocks_apart,
        advice="See the offset of each scan in ncem.clock_check. Harvest scans with one offset on "
        "their own: their findings name what to add. Synchronise the receivers by NTP or PTP.",
        reference="receivers learn of a scan at the same moment; the study's own limit is 2 s",
        numerator="its median minus that of all receivers, or a decile's distance from it, s",
        judged="receivers that reported a scan together with others and whose zone is right in "
        "more than half of them; scan 0 is left out",
        thresholds={"seconds": Threshold(2, "seconds from the median of all receivers")},
    ),
    _on_clocks(
        name="ncem.scans_apart",
        doc="Scans whose receivers' times disagree: a late receiver or a stepping clock.",
        among="scan_number <> 0",
        where="clock_spread_s > {seconds}",
        columns=("scan_number", "take", "clock_spread_s", "worst_receiver", "worst_offset_s"),
        judge=partial(
            _scans,
            by="clock_spread_s",
            largest=True,
            headline="{some}: receivers disagree by more than {seconds:g} s",
            detail="Largest difference: {clock_spread_s:,.6g} s, in scan {scan_number}.",
        ),
        advice="Look at the worst receiver of each scan; where it is always the same one, its "
        "clock is wrong, else the receiver was busy or started late.",
        reference="receivers learn of a scan at the same moment; the study's own limit is 2 s",
        numerator="scans whose receivers' times lie farther apart than the threshold",
        denominator="scans with two or more receivers",
        judged="scans that two receivers of the right zone reported; scan 0 is left out",
        unable="a scan of which fewer than two statuses are there: harvest those of all receivers",
        thresholds={"seconds": Threshold(2, "seconds between the first and the last receiver")},
    ),
    _on_clocks(
        name="ncem.receivers_missing",
        doc="A scan without the status of some receiver may have begun earlier than it seems.",
        among="scan_number <> 0",
        where="receivers < {receivers}",
        columns=("scan_number", "take", "receivers", "first_receiver_time"),
        judge=partial(
            _scans,
            by="receivers",
            headline="{some} have fewer than {receivers:g} receiver statuses",
            detail="Fewest: {receivers}. First and last times of these scans may be missing.",
        ),
        advice="Harvest the status files of all receivers, or leave these scans out.",
        reference="the 4D Camera has four receivers",
        numerator="scans with statuses of fewer receivers than the detector has",
        denominator="scans with a status",
        judged="scans of which some receiver has a status; scan 0 is left out",
        unable="nothing: each of these scans has a status",
        thresholds={"receivers": Threshold(4, "receivers that the detector has")},
    ),
    _on_scans(
        name="ncem.scans_lost",
        doc="Scans that the study has, without the files that their method leaves.",
        among="scan_number <> 0 and method is not null",
        where="lost",
        columns=("scan_number", "take", "method", "missing", "n_method", "first_receiver_time"),
        judge=_scans_lost,
        advice="Look for the files where they were written, and for the job that should have "
        "written them; harvest them, or note the scan as lost.",
        reference="the study's scan ranges; a streamed scan becomes an HDF5 file, one for file "
        "transfer leaves data files",
        numerator="scans without a file of the kind that their method leaves",
        denominator="scans in the study's ranges of the method",
        judged="scans in a range of the study of which something was harvested; scan 0 is left out",
        unable="a method of which no file was harvested at all: harvest the directory, or the "
        "table, of the HDF5 files (streaming) or data files (file transfer)",
        thresholds={
            "share": Threshold(0.01, "share of a method's scans from which it is a high finding")
        },
    ),
    _on_scans(
        name="ncem.scans_stopped",
        doc="Scans of which a receiver did not get to the end.",
        among="scan_number <> 0 and receivers is not null",
        where="progress < {percent}",
        columns=("scan_number", "take", "progress", "receivers", "first_receiver_time"),
        judge=partial(
            _scans,
            by="progress",
            headline="{some} did not reach {percent:g} %",
            detail="They stopped early, or still ran when they were harvested. Lowest: "
            "{progress:.3g} %, scan {scan_number}.",
        ),
        advice="Harvest again when all scans have ended; one that stays below was aborted, or a "
        "receiver lost data of it: take it again.",
        reference="the key progress of receiver statuses, in percent",
        numerator="scans whose least progress of any receiver is below the threshold",
        denominator="scans whose receivers say a progress",
        judged="scans with a status; scan 0 is left out",
        unable="CSV tables of receiver times say no progress: harvest the status files "
        "(4dstem_rec_status_*.json)",
        thresholds={"percent": Threshold(100, "percent at which a scan is complete")},
    ),
    _on_scans(
        name="ncem.empty_files",
        doc="Data or HDF5 files without a byte: the scan is not in them.",
        among="scan_number <> 0 and (data_files > 0 or h5_files > 0)",
        where="empty_files > 0",
        columns=("scan_number", "take", "empty_files", "data_files", "h5_files"),
        judge=_empty_files,
        advice="Write them again from the copy that is left, and look for a full disk or a job "
        "that was killed.",
        reference="the file system's sizes",
        numerator="scans with a data or HDF5 file of 0 bytes",
        denominator="scans whose files' sizes are known",
        judged="scans with a data or HDF5 file; scan 0 is left out",
        unable="CSV tables of file times say no sizes: harvest the directories of the files",
    ),
    _on_scans(
        name="ncem.files_too_old",
        doc="Files from before their scan began: a wrong clock, or a scan number used again.",
        among="scan_number <> 0 and (last_written is not null or write_time is not null)",
        where="early",
        columns=("scan_number", "take", "first_receiver_time", "last_written", "write_time"),
        judge=partial(
            _scans,
            by="scan_number",
            headline="{some} have files older than the scan",
            detail="The files were written before the first receiver time. First of these scans: "
            "{scan_number}.",
        ),
        advice="See ncem.clock_check for the receivers' clocks; give what the files' clock lacks "
        "(--set ncem.clock_offset.ncem=..., .nersc=...).",
        reference="data are written after the receivers heard of the scan",
        numerator="scans with a last data file or a first HDF5 file from before the first receiver "
        "time",
        denominator="scans with a file and a receiver time that can be trusted",
        judged="scans with a data or HDF5 file; scan 0 is left out",
        unable="no receiver status was harvested of them (4dstem_rec_status_*.json, or a table of "
        "receiver times)",
    ),
    _rule(
        name="ncem.scans_left_out",
        doc="Scans for file transfer that the mean offload does not count, with the reason.",
        view="ncem.offload",
        among="scan_number <> 0 and coalesce(due, true)",
        where="due and excluded is not null",
        columns=(
            *("scan_number", "take", "excluded", "first_receiver_time", "data_files"),
            *("n_streamed", "n_unplaced"),
        ),
        judge=_scans_left_out,
        advice="Harvest what is missing: statuses of the receivers, data files.",
        reference="the study's definition of offload: last write minus earliest receiver time",
        numerator="scans that are left out of the mean offload",
        denominator="scans in the study's ranges for file transfer",
        judged="scans in a range for file transfer; those in one for streaming alone, and scan 0, "
        "are none of its business",
        unable="a scan in no range of the study: give the file of ranges (--set study=FILE); or no "
        "data files were harvested",
    ),
    _rule(
        name="ncem.clock_too_coarse",
        doc="Durations measured by a clock whose steps are as large as their spread: what counts "
        "as an outlier is then decided by rounding.",
        view="ncem.outliers",
        among="n > 1",
        where="warning is not null",
        columns=("size", "method", "n", "n_outliers", "clock_step_s", "warning"),
        judge=_clock_too_coarse,
        advice="Compare medians, or the statistics with outliers; measure with a finer clock.",
        reference="Tukey's fences, 1.5 times the distance of the quartiles",
        numerator="distance of the quartiles of the durations, s",
        denominator="step of the coarser of their two clocks, s",
        judged="sizes and methods with two durations that count, or more",
        unable="nothing: each duration that counts has a clock",
    ),
)
