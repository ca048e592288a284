"""The views of scans, their receivers and files, with what their columns mean."""

from __future__ import annotations

from typing import Final

from harvest import Column, Setting, View
from harvest.toolkit.settings import one_of
from harvest_toolkit.columns import number, seconds

from . import shared

_OFFLOAD: Final = (
    shared.SCAN,
    shared.size_by("file_transfer"),
    seconds(
        "offload_s",
        "last_written minus first_receiver_time; null where either is not known, below 0 where "
        "clocks disagree.",
    ),
    shared.EXCLUDED,
    Column("n", doc="Scans of the range that count (per=range)."),
    seconds("mean_s", "Mean offload_s of the scans that count (per=range); null without any."),
    seconds("median_s", "Median offload_s of the scans that count (per=range); null without any."),
    seconds(
        "std_s",
        "Standard deviation of offload_s of the scans that count, that of a sample (n - 1); null "
        "for fewer than two (per=range).",
    ),
    seconds("min_s", "Shortest offload_s of the scans that count (per=range); null without any."),
    seconds("max_s", "Longest offload_s of the scans that count (per=range); null without any."),
    Column("n_excluded", doc="Scans of the range that do not count (per=range)."),
    shared.FIRST_TIME,
    Column(
        "last_written",
        doc="Last modification of the data files of the take, in UTC, with the offset of NCEM's "
        "clock added; null without any.",
    ),
    shared.DATA_FILES,
    shared.MODULES,
    Column(
        "due",
        doc="Whether the offload should be known: yes in a range for file_transfer, no in one for "
        "streaming alone; null in no range, and where no data file of any scan was harvested.",
    ),
    Column("empty_files", doc="Data files without a byte; null where no size is known."),
    shared.TAKE,
    shared.RECEIVERS,
    shared.LEFT_OUT,
    shared.PROGRESS,
    shared.FIRST_RECEIVER,
    shared.LAST_TIME,
    Column(
        "range_n",
        doc="Takes that count in the same range, or together where the study has no ranges.",
    ),
    Column(
        "n_streamed",
        doc="Takes of all scans that are not due, as the study streamed them; scan 0 left out.",
    ),
    Column(
        "n_unplaced",
        doc="Takes of all scans of which it is not known whether they are due; scan 0 left out.",
    ),
    seconds("range_mean_s", "Mean offload_s of the takes in range_n; null without any."),
    *shared.ends_by("file_transfer"),
    shared.UUID,
)

OFFLOAD: Final = View(
    name="ncem.offload",
    doc="Per scan, from the earliest receiver time to the last write of its data files; "
    "with per=range, the statistics of each scan range.",
    build="harvest_ncem.views.offload:build",
    requires=("ncem.receiver_status", "ncem.data_file"),
    settings={"study": shared.STUDY, **shared.per("scan", "range")},
    columns=_OFFLOAD,
)

_APART: Final = (
    "the receiver's time minus the median of the scan's receivers, of those whose zone is right "
    "where there are some"
)
_ALONE: Final = "(per=receiver); null for a receiver that was always alone"

_CLOCK_CHECK: Final = (
    shared.SCAN,
    number("receiver", "Number of the receiver (per=receiver)."),
    seconds("spread_s", "Latest minus earliest time of the receivers."),
    seconds(
        "clock_spread_s", "The same of the receivers whose zone is right; null for fewer than two."
    ),
    seconds("median_offset_s", f"Median over its scans: {_APART} {_ALONE}."),
    Column(
        "unsynchronised",
        doc="Whether the spread, or of a receiver the median offset whatever its sign, exceeds the "
        "threshold; null for a scan with fewer than two receivers.",
    ),
    seconds(
        "suggested_clock_offset_s",
        f"What added to the receiver's times would bring its median offset to 0 {_ALONE}.",
    ),
    number(
        "worst_receiver",
        "Receiver farthest from the median of the scan; of several the lowest; null without any.",
    ),
    seconds("worst_offset_s", f"Offset of the worst receiver: {_APART}."),
    *(
        seconds(f"offset{number}_s", f"Of receiver {number}: {_APART}; null where it is missing.")
        for number in range(4)
    ),
    Column(
        "excluded",
        doc="Why the take does not count: scan 0, or fewer than two receivers; null where it does.",
    ),
    Column(
        "n",
        doc="Takes with at least two receivers that it reported; scan 0 left out (per=receiver).",
    ),
    Column(
        "n_beyond",
        doc=f"Takes in which its offset, whatever its sign, exceeds the threshold {_ALONE}.",
    ),
    Column(
        "n_zone",
        doc="Takes in which its time lies whole or half hours from the others', as if it stamped "
        f"another zone, and is not counted {_ALONE}.",
    ),
    seconds(
        "zone_offset_s",
        "By how many half hours it does so most often; null where its zone is right "
        "(per=receiver).",
    ),
    seconds("mean_offset_s", f"Mean over its scans: {_APART} {_ALONE}."),
    seconds("min_offset_s", f"Least over its scans: {_APART} {_ALONE}."),
    seconds("max_offset_s", f"Largest over its scans: {_APART} {_ALONE}."),
    shared.TAKE,
    shared.RECEIVERS,
    shared.LEFT_OUT,
    shared.FIRST_TIME,
    shared.LAST_TIME,
    shared.UUID,
)

CLOCK_CHECK: Final = View(
    name="ncem.clock_check",
    doc="Per scan, the spread between the receivers' clocks, flagged where they are not "
    "synchronised; with per=receiver, each receiver's median offset.",
    build="harvest_ncem.views.clock_check:build",
    requires=("ncem.receiver_status",),
    settings={
        "study": shared.STUDY,
        **shared.per("scan", "receiver"),
        "threshold": Setting(
            "largest difference that counts as synchronised, such as 2s; overrides the study's",
            str,
        ),
    },
    columns=_CLOCK_CHECK,
)

_FAILED_SCANS: Final = (
    shared.SCAN,
    Column(
        "method",
        doc="streaming, file_transfer or both, by the study's ranges; null outside of them.",
    ),
    Column(
        "fate",
        doc="lost (files of its method are missing), failed (it did not get to the end, or a file "
        "is empty or too old), or gapped (some receivers, modules or numbers are missing): the "
        "first of these; null (show=all) for none.",
    ),
    Column("problem", doc="What went wrong, several with semicolons; null (show=all) for nothing."),
    Column("size", doc="Size of the scan, as 128x128, by the study's ranges; null outside."),
    Column(
        "missing",
        doc="What a lost scan lacks: no HDF5 file where it was streamed, no data file where files "
        "were transferred, or neither status nor file; null for others.",
    ),
    Column(
        "lost",
        doc="Whether the files of its method are missing; null outside of the study's ranges, and "
        "where no file of that kind was harvested of any scan.",
    ),
    Column("n_method", doc="Takes of the same method of which it is known whether they are lost."),
    Column(
        "numbers",
        doc="Scan numbers that the row stands for: of a gap between scans all that are missing, "
        "else 1.",
    ),
    shared.PROGRESS,
    Column(
        "empty_files",
        doc="Data and HDF5 files of 0 bytes; null where no size is known, as from CSV tables.",
    ),
    Column(
        "early",
        doc="Whether a last write of its data files, or its first HDF5 file, is older than its "
        "first receiver time; null where either is not known.",
    ),
    shared.FIRST_TIME,
    Column("last_written", doc="Last modification of its data files, in UTC; null without any."),
    Column("write_time", doc="Modification of its first HDF5 file, in UTC; null without any."),
    number(
        "take",
        "Which acquisition of this scan number it is, by time from 1; null where "
        "there is neither a status nor a file.",
    ),
    shared.DATA_FILES,
    shared.MODULES,
    Column("h5_files", doc="HDF5 files of the take; null where none of any scan was harvested."),
    shared.RECEIVERS,
    shared.LEFT_OUT,
    shared.UUID,
)

FAILED_SCANS: Final = View(
    name="ncem.failed_scans",
    doc="Scans that were lost, failed or have gaps, with what went wrong: files that are missing, "
    "empty or older than the scan, receivers that did not get to the end or left nothing.",
    build="harvest_ncem.views.failed:build",
    requires=("ncem.receiver_status", "ncem.data_file"),
    settings={
        "study": shared.STUDY,
        "show": Setting(
            "all for every scan, those without a problem too",
            str,
            "failed",
            one_of(("failed", "all")),
        ),
    },
    columns=_FAILED_SCANS,
)
