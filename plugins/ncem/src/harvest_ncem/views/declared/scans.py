"""The views of scans, their receivers and files, with what their columns mean."""

from __future__ import annotations

from typing import Final

from harvest import Setting, View
from harvest.columns import count, flag, number, seconds, text, time
from harvest.toolkit.settings import one_of

from . import shared

_OFFLOAD: Final = (
    shared.SCAN,
    shared.size_by("file_transfer"),
    seconds("offload_s", "last_written minus first_receiver_time; null where either is unknown, "
            "below 0 where clocks disagree."),
    shared.EXCLUDED,
    count("n", "Scans of the range that count (per=range)."),
    seconds("mean_s", "Mean offload_s of the scans that count (per=range); null without any."),
    seconds("median_s", "Median offload_s of the scans that count (per=range); null without any."),
    seconds("std_s", "Standard deviation of offload_s of the scans that count, that of a sample (n "
            "- 1); null for fewer than two (per=range)."),
    seconds("min_s", "Shortest offload_s of the scans that count (per=range); null without any."),
    seconds("max_s", "Longest offload_s of the scans that count (per=range); null without any."),
    count("n_excluded", "Scans of the range that do not count (per=range)."),
    shared.FIRST_TIME,
    time("last_written", "Last modification of the data files of the take, in UTC, with the offset "
         "of NCEM's clock added; null without any."),
    shared.DATA_FILES,
    shared.MODULES,
    flag("due", "Whether the offload should be known: yes in a range for file_transfer, no in one "
         "for streaming alone; null in no range, and where no data file of any scan was "
         "harvested."),
    count("empty_files", "Data files without a byte; null where no size is known."),
    shared.TAKE,
    shared.RECEIVERS,
    shared.LEFT_OUT,
    shared.PROGRESS,
    shared.FIRST_RECEIVER,
    shared.LAST_TIME,
    count("range_n", "Takes that count in the same range, or together where the study has no "
          "ranges."),
    count("n_streamed", "Takes of all scans that are not due, as the study streamed them; scan 0 "
          "left out."),
    count("n_unplaced", "Takes of all scans of which it is unknown whether they are due; scan 0 "
          "left out."),
    seconds("range_mean_s", "Mean offload_s of the takes in range_n; null without any."),
    *shared.ends_by("file_transfer"),
    shared.UUID,
)  # fmt: skip

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
    seconds("clock_spread_s", "The same of the receivers whose zone is right; null for fewer than "
            "two."),
    seconds("median_offset_s", f"Median over its scans: {_APART} {_ALONE}."),
    flag("unsynchronised", "Whether the spread, or of a receiver the median offset whatever its "
         "sign, exceeds the threshold; null for a scan with fewer than two receivers."),
    seconds("suggested_clock_offset_s", "What added to the receiver's times would bring its median "
            f"offset to 0 {_ALONE}."),
    number("worst_receiver", "Receiver farthest from the median of the scan; of several the "
           "lowest; null without any."),
    seconds("worst_offset_s", f"Offset of the worst receiver: {_APART}."),
    *(
        seconds(f"offset{number}_s", f"Of receiver {number}: {_APART}; null where it is missing.")
        for number in range(4)
    ),
    text("excluded", "Why the take does not count: scan 0, or fewer than two receivers; null where "
         "it does."),
    count("n", "Takes with at least two receivers that it reported; scan 0 left out "
          "(per=receiver)."),
    count("n_beyond", "Takes in which its offset, whatever its sign, exceeds the threshold "
          f"{_ALONE}."),
    count("n_zone", "Takes in which its time lies whole or half hours from the others', as if it "
          f"stamped another zone, and is not counted {_ALONE}."),
    seconds("zone_offset_s", "By how many half hours it does so most often; null where its zone is "
            "right (per=receiver)."),
    seconds("mean_offset_s", f"Mean over its scans: {_APART} {_ALONE}."),
    seconds("min_offset_s", f"Least over its scans: {_APART} {_ALONE}."),
    seconds("max_offset_s", f"Largest over its scans: {_APART} {_ALONE}."),
    shared.TAKE,
    shared.RECEIVERS,
    shared.LEFT_OUT,
    shared.FIRST_TIME,
    shared.LAST_TIME,
    shared.UUID,
)  # fmt: skip

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

FAILED_COLUMNS: Final = (
    shared.SCAN,
    number("take", "Which acquisition of this scan number it is, by time from 1; null where there "
           "is neither a status nor a file."),
    text("method", "streaming, file_transfer or both, by the study's ranges; null outside of "
         "them."),
    text("size", "Size of the scan, as 128x128, by the study's ranges; null outside."),
    text("fate", "lost: files of its method are missing; failed: it did not reach the end, or a "
         "file is empty or too old; gapped: receivers, modules or numbers are missing. The first "
         "of these; null (show=all) for none."),
    text("problem", "What went wrong, several with semicolons; null (show=all) for nothing."),
    text("missing", "What a lost scan lacks: no HDF5 file where it was streamed, no data file "
         "where files were transferred, or neither status nor file; null for others."),
    flag("lost", "Whether the files of its method are missing; null outside of the study's ranges, "
         "and where no file of that kind was harvested of any scan."),
    count("n_method", "Takes of the same method of which it is known whether they are lost."),
    count("numbers", "Scan numbers that the row stands for: of a gap between scans all that are "
          "missing, else 1."),
    shared.PROGRESS,
    count("empty_files", "Data and HDF5 files of 0 bytes; null where no size is known, as from CSV "
          "tables."),
    flag("early", "Whether a last write of its data files, or its first HDF5 file, is older than "
         "its first receiver time; null where either is unknown."),
    shared.RECEIVERS,
    shared.LEFT_OUT,
    shared.DATA_FILES,
    shared.MODULES,
    count("h5_files", "HDF5 files of the take; null where none of any scan was harvested."),
    shared.FIRST_TIME,
    time("last_written", "Last modification of its data files, in UTC; null without any."),
    time("write_time", "Modification of its first HDF5 file, in UTC; null without any."),
    shared.UUID,
)  # fmt: skip

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
    columns=FAILED_COLUMNS,
    first=(
        *("scan_number", "method", "fate", "problem", "size", "missing", "lost", "n_method"),
        *("numbers", "progress", "empty_files", "early", "first_receiver_time", "last_written"),
        *("write_time", "take", "data_files", "modules", "h5_files"),
    ),
)
