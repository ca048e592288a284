"""Declarations of the views: settings, columns and their descriptions.

First columns that several views share, then views of durations, then views of scans.
"""

from typing import Final

from harvest import Column, Setting, View
from harvest.columns import (
    amount,
    count,
    flag,
    named,
    number,
    passed_on,
    path,
    rate,
    seconds,
    size,
    text,
    time,
)
from harvest.toolkit.settings import one_of

STUDY: Final = Setting("TOML file with the study's scan ranges, sizes and limits")
OF_DURATIONS: Final = {
    "study": STUDY,
    "max_elapsed": Setting("longest elapsed allowed, such as 29m; overrides the study's", str),
    "save_correction": Setting("whether to subtract the study's save time", bool, True),
}
ALL_TYPES: Final = ("slurm.job", "distiller.job", "ncem.receiver_status", "ncem.data_file")


def per(*words: str) -> dict[str, Setting]:
    """Declare the setting ``per``; the first of the words is its default."""
    return {"per": Setting("what a row stands for", str, words[0], one_of(words))}


SCAN: Final = number("scan_number")
TAKE: Final = number("take", "Which acquisition of this scan number it is, by time from 1: "
                     "receivers with one UUID.")  # fmt: skip
UUID: Final = named("uuid", "Id of the acquisition, as the receivers give it; null from CSV "
                    "tables.")  # fmt: skip
RECEIVERS: Final = count("receivers", "Receivers that reported the take; null where none did.")
LEFT_OUT: Final = count("receivers_left_out", "Receivers whose time is not counted, as it lies "
                        "whole or half hours from the others' or nothing shows which are right; "
                        "null where none reported the take.")  # fmt: skip
PROGRESS: Final = amount("progress", "How far the receiver got that got least far; null where no "
                         "status says it, as in CSV tables.", "%", ",.1f")  # fmt: skip
FIRST_RECEIVER: Final = number("first_receiver", "Number of the receiver whose time is the "
                               "earliest that counts; of several the lowest; null without "
                               "any.")  # fmt: skip
FIRST_TIME: Final = time("first_receiver_time", "Earliest time of the receivers, in UTC, with "
                         "their clocks' offsets added and those of a wrong zone left out; null "
                         "without any.")  # fmt: skip
LAST_TIME: Final = time("last_receiver_time", "Latest time of the receivers, in UTC, with their "
                        "clocks' offsets added and those of a wrong zone left out; null without "
                        "any.")  # fmt: skip
DATA: Final = amount("data_gb", "Data volume of a scan of that size, in 10^9 bytes: the study's, "
                     "else positions x detector pixels x bytes per pixel; null where the size is "
                     "unknown.", "GB", ",.2f")  # fmt: skip
MODULES: Final = count("modules", "Detector modules of which the take has data files; null where "
                       "names say no module, as in CSV tables.")  # fmt: skip
THROUGHPUT: Final = rate("bytes_per_s", "Throughput of the scan: data_gb / duration_s; null where "
                         "one is unknown, or the duration is not above 0.")  # fmt: skip
DATA_FILES: Final = count("data_files", "Data files, or last writes of a CSV table, of the take; "
                          "null where no data file of any scan was harvested.")  # fmt: skip
EXCLUDED: Final = text("excluded", "Why the row does not count; null where it does.")


def size_by(method: str) -> Column:
    """Declare the column of the size, by the ranges of a method."""
    return text("size", "Size of the scan, as 128x128, by the study's ranges with method "
                f"{method}; null outside of them.")  # fmt: skip


def ends_by(method: str) -> tuple[Column, Column]:
    """Declare the columns of the limits of a scan's range with a method."""
    return (
        number("first_scan", f"First scan number of its range with {method}; null in none."),
        number("last_scan", f"Last scan number of its range with {method}; null in none."),
    )


_FILE_TRANSFER: Final = (
    number("job_id", "Number of the Slurm job, by the accounting or else by Distiller; null where "
           "Distiller knows none."),
    text("size", "Size of the scan by Distiller, as 128x128; null where it is unknown."),
    seconds("duration_s", "Time that file transfer took: elapsed_s + offload_s - "
            "save_correction_s; null where the size, the elapsed time or the offload is "
            "unknown."),
    seconds("elapsed_s", "Time that the Slurm job ran, without suspensions; null where the "
            "accounting lacks it."),
    seconds("offload_s", "The study's offload for the size, else the mean of its scans that count "
            "in ncem.offload; null where neither is known."),
    THROUGHPUT,
    EXCLUDED,
    seconds("save_correction_s", "What is subtracted for saving, by the study: 2 x (real - blank); "
            "0 without or with save_correction=off; null where the size is unknown."),
    *passed_on("name", "user", "state", "start_time"),
    DATA,
    number("scan_id"),
    seconds("distiller_elapsed_s", "How long the job ran, as Distiller keeps it; null where it "
            "does not."),
    *passed_on("qos"),
    number("exit_code"),
    number("exit_signal"),
    *passed_on("req_nodes", "submit_time", "end_time"),
    seconds("timelimit_s"),
)  # fmt: skip

FILE_TRANSFER: Final = View(
    name="ncem.file_transfer",
    doc="Slurm jobs joined to Distiller's rows by Slurm id, with the time that file "
    "transfer took: elapsed plus mean offload, less the correction for saving.",
    build="harvest_ncem.views.file_transfer:build",
    requires=("distiller.job", "slurm.job"),
    fewest=2,
    settings=OF_DURATIONS,
    columns=_FILE_TRANSFER,
)

STREAMING_COLUMNS: Final = (
    SCAN,
    TAKE,
    UUID,
    number("distiller_id"),
    size_by("streaming"),
    DATA,
    *ends_by("streaming"),
    RECEIVERS,
    LEFT_OUT,
    FIRST_RECEIVER,
    FIRST_TIME,
    time("write_time", "Last modification of the HDF5 file, in UTC, with the offset of NERSC's "
         "clock added; null for a take without one."),
    seconds("duration_s", "write_time minus first_receiver_time; null where either is unknown, "
            "below 0 where clocks disagree."),
    THROUGHPUT,
    *passed_on("suffix"),
    size("size_bytes"),
    path("path"),
    EXCLUDED,
)  # fmt: skip

STREAMING: Final = View(
    name="ncem.streaming",
    doc="Per processed file, from the first receiver time of its scan to its write time at NERSC.",
    build="harvest_ncem.views.streaming:build",
    requires=("ncem.receiver_status", "ncem.data_file"),
    settings={"study": STUDY},
    columns=STREAMING_COLUMNS,
    first=(
        *("scan_number", "size", "duration_s", "bytes_per_s", "excluded"),
        *("first_receiver_time", "write_time", "data_gb", "take", "distiller_id", "receivers"),
        *("receivers_left_out", "first_receiver", "first_scan", "last_scan", "size_bytes"),
        *("suffix", "path"),
    ),
)

OUTLIER_COLUMNS: Final = (
    text("size", "Size of the scans, as 128x128."),
    text("method", "file_transfer or streaming."),
    count("n", "Durations that count, outliers too."),
    count("n_outliers", "Durations beyond a fence; one on a fence is inside."),
    seconds("first_quartile_s", "Quartile of the durations, interpolated linearly."),
    seconds("third_quartile_s", "Quartile of the durations, interpolated linearly."),
    seconds("low_fence_s", "first_quartile_s minus 1.5 times the distance of the quartiles."),
    seconds("high_fence_s", "third_quartile_s plus 1.5 times the distance of the quartiles."),
    seconds("clock_step_s", "Step in which the clock counts, as the times show it; of two clocks "
            "the coarser."),
    text("warning", "Why the rule does not suit these durations; null where it does."),
)  # fmt: skip

OUTLIERS: Final = View(
    name="ncem.outliers",
    doc="Per size and method: quartiles and fences of the durations, the number of outliers, "
    "and a warning where the clock is too coarse.",
    build="harvest_ncem.views.outliers:build",
    requires=ALL_TYPES,
    settings=OF_DURATIONS,
    columns=OUTLIER_COLUMNS,
    first=("size", "method", "n", "n_outliers", "low_fence_s"),
)

_OFFLOAD: Final = (
    SCAN,
    size_by("file_transfer"),
    seconds("offload_s", "last_written minus first_receiver_time; null where either is unknown, "
            "below 0 where clocks disagree."),
    EXCLUDED,
    count("n", "Scans of the range that count (per=range)."),
    seconds("mean_s", "Mean offload_s of the scans that count (per=range); null without any."),
    seconds("median_s", "Median offload_s of the scans that count (per=range); null without any."),
    seconds("std_s", "Standard deviation of offload_s of the scans that count, that of a sample (n "
            "- 1); null for fewer than two (per=range)."),
    seconds("min_s", "Shortest offload_s of the scans that count (per=range); null without any."),
    seconds("max_s", "Longest offload_s of the scans that count (per=range); null without any."),
    count("n_excluded", "Scans of the range that do not count (per=range)."),
    FIRST_TIME,
    time("last_written", "Last modification of the data files of the take, in UTC, with the offset "
         "of NCEM's clock added; null without any."),
    DATA_FILES,
    MODULES,
    flag("due", "Whether the offload should be known: yes in a range for file_transfer, no in one "
         "for streaming alone; null in no range, and where no data file of any scan was "
         "harvested."),
    count("empty_files", "Data files without a byte; null where no size is known."),
    TAKE,
    RECEIVERS,
    LEFT_OUT,
    PROGRESS,
    FIRST_RECEIVER,
    LAST_TIME,
    count("range_n", "Takes that count in the same range, or together where the study has no "
          "ranges."),
    count("n_streamed", "Takes of all scans that are not due, as the study streamed them; scan 0 "
          "left out."),
    count("n_unplaced", "Takes of all scans of which it is unknown whether they are due; scan 0 "
          "left out."),
    seconds("range_mean_s", "Mean offload_s of the takes in range_n, of all sizes where the "
            "study has no ranges; null without any."),
    *ends_by("file_transfer"),
    UUID,
)  # fmt: skip

OFFLOAD: Final = View(
    name="ncem.offload",
    doc="Per scan, from the earliest receiver time to the last write of its data files; "
    "with per=range, the statistics of each scan range.",
    build="harvest_ncem.views.offload:build",
    requires=("ncem.receiver_status", "ncem.data_file"),
    settings={"study": STUDY, **per("scan", "range")},
    columns=_OFFLOAD,
)

_APART: Final = (
    "the receiver's time minus the median of the scan's receivers, of those whose zone is right "
    "where there are some"
)
_ALONE: Final = "(per=receiver); null for a receiver that was always alone"

_CLOCK_CHECK: Final = (
    SCAN,
    number("receiver", "Number of the receiver (per=receiver)."),
    seconds("spread_s", "Latest minus earliest time of the receivers."),
    seconds("clock_spread_s", "The same of the receivers whose zone is right; null for fewer than "
            "two."),
    seconds("median_offset_s", f"Median over its scans: {_APART} {_ALONE}."),
    seconds("low_offset_s", f"First decile over its scans in the right zone: {_APART} {_ALONE}."),
    seconds("high_offset_s", f"Last decile over its scans in the right zone: {_APART} {_ALONE}."),
    flag("unsynchronised", "Whether the spread, or of a receiver the median offset or the distance "
         "of a decile from it, whatever its sign, exceeds the threshold; null for a scan with "
         "fewer than two receivers."),
    seconds("suggested_clock_offset_s", "Setting ncem.clock_offset that would bring the median "
            "offset to 0; null where a decile is farther from it than the threshold, so that no "
            f"one offset fits {_ALONE}."),
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
    TAKE,
    RECEIVERS,
    LEFT_OUT,
    FIRST_TIME,
    LAST_TIME,
    UUID,
)  # fmt: skip

CLOCK_CHECK: Final = View(
    name="ncem.clock_check",
    doc="Per scan, the spread between the receivers' clocks, flagged where they are not "
    "synchronised; with per=receiver, each receiver's median offset.",
    build="harvest_ncem.views.clock_check:build",
    requires=("ncem.receiver_status",),
    settings={
        "study": STUDY,
        **per("scan", "receiver"),
        "threshold": Setting(
            "largest difference that counts as synchronised, such as 2s; overrides the study's",
            str,
        ),
    },
    columns=_CLOCK_CHECK,
)

FAILED_COLUMNS: Final = (
    SCAN,
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
    PROGRESS,
    count("empty_files", "Data and HDF5 files of 0 bytes; null where no size is known, as from CSV "
          "tables."),
    flag("early", "Whether a last write of its data files, or its first HDF5 file, is older than "
         "its first receiver time; null where either is unknown."),
    RECEIVERS,
    LEFT_OUT,
    DATA_FILES,
    MODULES,
    count("h5_files", "HDF5 files of the take; null where none of any scan was harvested."),
    FIRST_TIME,
    time("last_written", "Last modification of its data files, in UTC; null without any."),
    time("write_time", "Modification of its first HDF5 file, in UTC; null without any."),
    UUID,
)  # fmt: skip

FAILED_SCANS: Final = View(
    name="ncem.failed_scans",
    doc="Scans that were lost, failed or have gaps, with what went wrong: files that are missing, "
    "empty or older than the scan, receivers that did not get to the end or left nothing.",
    build="harvest_ncem.views.failed:build",
    requires=("ncem.receiver_status", "ncem.data_file"),
    settings={
        "study": STUDY,
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

VIEWS: Final = (OFFLOAD, FILE_TRANSFER, STREAMING, CLOCK_CHECK, FAILED_SCANS, OUTLIERS)
