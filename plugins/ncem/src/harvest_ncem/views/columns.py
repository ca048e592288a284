"""What the columns of the views of the study mean, the most important first.

What has no doc here is passed on from a record type, whose columns explain it.
"""

from __future__ import annotations

from typing import Final

from harvest import Column

__all__ = ["CLOCK_CHECK", "FAILED_SCANS", "FILE_TRANSFER", "OFFLOAD", "OUTLIERS", "STREAMING"]


def _seconds(name: str, doc: str | None = None) -> Column:
    return Column(name, unit="s", format="seconds", doc=doc)


def _number(name: str, doc: str | None = None) -> Column:
    """A number that names something: it is not counted with."""
    return Column(name, format="d", doc=doc)


_SCAN: Final = _number("scan_number")
_TAKE: Final = _number(
    "take", "Which acquisition of this scan number it is, by time from 1: receivers with one UUID."
)
_UUID: Final = Column(
    "uuid",
    format="id",
    doc="Id of the acquisition, as the receivers give it; null from CSV tables.",
)
_RECEIVERS: Final = Column(
    "receivers", doc="Receivers that reported the take; null where none did."
)
_LEFT_OUT: Final = Column(
    "receivers_left_out",
    doc="Receivers whose time is not counted, as it lies whole or half hours from the others' or "
    "nothing shows which are right; null where none reported the take.",
)
_PROGRESS: Final = Column(
    "progress",
    unit="%",
    format=",.1f",
    doc="How far the receiver got that got least far; null where no status says it, as in CSV "
    "tables.",
)
_FIRST_RECEIVER: Final = _number(
    "first_receiver",
    "Number of the receiver whose time is the earliest that counts; of several the lowest; null "
    "without any.",
)
_FIRST_TIME: Final = Column(
    "first_receiver_time",
    doc="Earliest time of the receivers, in UTC, with their clocks' offsets added and those of a "
    "wrong zone left out; null without any.",
)
_LAST_TIME: Final = Column(
    "last_receiver_time",
    doc="Latest time of the receivers, in UTC, with their clocks' offsets added and those of a "
    "wrong zone left out; null without any.",
)
_DATA: Final = Column(
    "data_gb",
    unit="GB",
    format=",.2f",
    doc="Data volume of a scan of that size, in 10^9 bytes: the study's, else positions x detector "
    "pixels x bytes per pixel; null where the size is not known.",
)
_EXCLUDED: Final = Column("excluded", doc="Why the row does not count; null where it does.")


def _size(method: str) -> Column:
    return Column(
        "size",
        doc=f"Size of the scan, as 128x128, by the study's ranges with method {method}; null "
        "outside of them.",
    )


def _ends(method: str) -> tuple[Column, Column]:
    return (
        _number("first_scan", f"First scan number of its range with {method}; null in none."),
        _number("last_scan", f"Last scan number of its range with {method}; null in none."),
    )


_DATA_FILES: Final = Column(
    "data_files",
    doc="Data files, or last writes of a CSV table, of the take; null where no data file of any "
    "scan was harvested.",
)

OFFLOAD: Final = (
    _SCAN,
    _size("file_transfer"),
    _seconds(
        "offload_s",
        "last_written minus first_receiver_time; null where either is not known, below 0 where "
        "clocks disagree.",
    ),
    _EXCLUDED,
    Column("n", doc="Scans of the range that count (per=range)."),
    _seconds("mean_s", "Mean offload_s of the scans that count (per=range); null without any."),
    _seconds("median_s", "Median offload_s of the scans that count (per=range); null without any."),
    _seconds(
        "std_s",
        "Standard deviation of offload_s of the scans that count, that of a sample (n - 1); null "
        "for fewer than two (per=range).",
    ),
    _seconds("min_s", "Shortest offload_s of the scans that count (per=range); null without any."),
    _seconds("max_s", "Longest offload_s of the scans that count (per=range); null without any."),
    Column("n_excluded", doc="Scans of the range that do not count (per=range)."),
    _FIRST_TIME,
    Column(
        "last_written",
        doc="Last modification of the data files of the take, in UTC, with the offset of NCEM's "
        "clock added; null without any.",
    ),
    _DATA_FILES,
    Column(
        "due",
        doc="Whether the offload should be known: yes in a range for file_transfer, no in one for "
        "streaming alone; null in no range, and where no data file of any scan was harvested.",
    ),
    Column("empty_files", doc="Data files without a byte; null where no size is known."),
    _TAKE,
    _RECEIVERS,
    _LEFT_OUT,
    _PROGRESS,
    _FIRST_RECEIVER,
    _LAST_TIME,
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
    _seconds("range_mean_s", "Mean offload_s of the takes in range_n; null without any."),
    *_ends("file_transfer"),
    _UUID,
)

FILE_TRANSFER: Final = (
    _number(
        "job_id",
        "Number of the Slurm job, by the accounting or else by Distiller; null where Distiller "
        "knows none.",
    ),
    Column("size", doc="Size of the scan by Distiller, as 128x128; null where it is not known."),
    _seconds(
        "duration_s",
        "Time that file transfer took: elapsed_s + offload_s - save_correction_s; null where the "
        "size, the elapsed time or the offload is not known.",
    ),
    _seconds(
        "elapsed_s",
        "Time that the Slurm job ran, without suspensions; null where the accounting lacks it.",
    ),
    _seconds(
        "offload_s",
        "The study's offload for the size, else the mean of its scans that count in "
        "ncem.offload; null where neither is known.",
    ),
    _EXCLUDED,
    _seconds(
        "save_correction_s",
        "What is subtracted for saving, by the study: 2 x (real - blank); 0 without or with "
        "save_correction=off; null where the size is not known.",
    ),
    Column("name"),
    Column("user"),
    Column("state"),
    Column("start_time"),
    _DATA,
    _number("scan_id"),
    _seconds(
        "distiller_elapsed_s",
        "How long the job ran, as Distiller keeps it; null where it does not.",
    ),
    Column("qos"),
    _number("exit_code"),
    _number("exit_signal"),
    Column("req_nodes"),
    Column("submit_time"),
    Column("end_time"),
    _seconds("timelimit_s"),
)

STREAMING: Final = (
    _SCAN,
    _size("streaming"),
    _seconds(
        "duration_s",
        "write_time minus first_receiver_time; null where either is not known, below 0 where "
        "clocks disagree.",
    ),
    _EXCLUDED,
    _FIRST_TIME,
    Column(
        "write_time",
        doc="Last modification of the HDF5 file, in UTC, with the offset of NERSC's clock added; "
        "null for a take without one.",
    ),
    _DATA,
    _TAKE,
    _number("distiller_id"),
    _RECEIVERS,
    _LEFT_OUT,
    _FIRST_RECEIVER,
    *_ends("streaming"),
    Column("size_bytes", unit="bytes", format="bytes"),
    Column("suffix"),
    Column("path", format="path"),
    _UUID,
)

_APART: Final = (
    "the receiver's time minus the median of the scan's receivers, of those whose zone is right "
    "where there are some"
)
_ALONE: Final = "(per=receiver); null for a receiver that was always alone"

CLOCK_CHECK: Final = (
    _SCAN,
    _number("receiver", "Number of the receiver (per=receiver)."),
    _seconds("spread_s", "Latest minus earliest time of the receivers."),
    _seconds(
        "clock_spread_s",
        "The same of the receivers whose zone is right; null for fewer than two.",
    ),
    _seconds(
        "median_offset_s",
        f"Median over its scans: {_APART} {_ALONE}.",
    ),
    Column(
        "unsynchronised",
        doc="Whether the spread, or of a receiver the median offset whatever its sign, exceeds the "
        "threshold; null for a scan with fewer than two receivers.",
    ),
    _seconds(
        "suggested_clock_offset_s",
        f"What added to the receiver's times would bring its median offset to 0 {_ALONE}.",
    ),
    _number(
        "worst_receiver",
        "Receiver farthest from the median of the scan; of several the lowest; null without any.",
    ),
    _seconds("worst_offset_s", f"Offset of the worst receiver: {_APART}."),
    *(
        _seconds(f"offset{number}_s", f"Of receiver {number}: {_APART}; null where it is missing.")
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
    _seconds(
        "zone_offset_s",
        "By how many half hours it does so most often; null where its zone is right "
        "(per=receiver).",
    ),
    _seconds("mean_offset_s", f"Mean over its scans: {_APART} {_ALONE}."),
    _seconds("min_offset_s", f"Least over its scans: {_APART} {_ALONE}."),
    _seconds("max_offset_s", f"Largest over its scans: {_APART} {_ALONE}."),
    _TAKE,
    _RECEIVERS,
    _LEFT_OUT,
    _FIRST_TIME,
    _LAST_TIME,
    _UUID,
)

FAILED_SCANS: Final = (
    _SCAN,
    Column(
        "method",
        doc="streaming, file_transfer or both, by the study's ranges; null outside of them.",
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
    Column(
        "n_method",
        doc="Takes of the same method of which it is known whether they are lost.",
    ),
    _PROGRESS,
    Column(
        "empty_files",
        doc="Data and HDF5 files of 0 bytes; null where no size is known, as from CSV tables.",
    ),
    Column(
        "early",
        doc="Whether a last write of its data files, or its first HDF5 file, is older than its "
        "first receiver time; null where either is not known.",
    ),
    _FIRST_TIME,
    Column("last_written", doc="Last modification of its data files, in UTC; null without any."),
    Column("write_time", doc="Modification of its first HDF5 file, in UTC; null without any."),
    _number(
        "take",
        "Which acquisition of this scan number it is, by time from 1; null where "
        "there is neither a status nor a file.",
    ),
    _DATA_FILES,
    Column(
        "h5_files",
        doc="HDF5 files of the take; null where none of any scan was harvested.",
    ),
    _RECEIVERS,
    _LEFT_OUT,
    _UUID,
)

OUTLIERS: Final = (
    Column("size", doc="Size of the scans, as 128x128."),
    Column("method", doc="file_transfer or streaming."),
    Column("n", doc="Durations that count, outliers too."),
    Column("n_outliers", doc="Durations beyond a fence; one on a fence is inside."),
    _seconds("low_fence_s", "first_quartile_s minus 1.5 times the distance of the quartiles."),
    _seconds("first_quartile_s", "Quartile of the durations, interpolated linearly."),
    _seconds("third_quartile_s", "Quartile of the durations, interpolated linearly."),
    _seconds("high_fence_s", "third_quartile_s plus 1.5 times the distance of the quartiles."),
    _seconds(
        "clock_step_s",
        "Step in which the clock counts, as the times show it; of two clocks the coarser.",
    ),
    Column("warning", doc="Why the rule does not suit these durations; null where it does."),
)
