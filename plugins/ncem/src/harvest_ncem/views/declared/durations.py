"""The views of durations, by file transfer and by streaming, with what their columns mean."""

from __future__ import annotations

from typing import Final

from harvest import View
from harvest.columns import count, number, passed_on, path, seconds, size, text, time

from . import shared

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
    shared.THROUGHPUT,
    shared.EXCLUDED,
    seconds("save_correction_s", "What is subtracted for saving, by the study: 2 x (real - blank); "
            "0 without or with save_correction=off; null where the size is unknown."),
    *passed_on("name", "user", "state", "start_time"),
    shared.DATA,
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
    settings=shared.OF_DURATIONS,
    columns=_FILE_TRANSFER,
)

STREAMING_COLUMNS: Final = (
    shared.SCAN,
    shared.TAKE,
    shared.UUID,
    number("distiller_id"),
    shared.size_by("streaming"),
    shared.DATA,
    *shared.ends_by("streaming"),
    shared.RECEIVERS,
    shared.LEFT_OUT,
    shared.FIRST_RECEIVER,
    shared.FIRST_TIME,
    time("write_time", "Last modification of the HDF5 file, in UTC, with the offset of NERSC's "
         "clock added; null for a take without one."),
    seconds("duration_s", "write_time minus first_receiver_time; null where either is unknown, "
            "below 0 where clocks disagree."),
    shared.THROUGHPUT,
    *passed_on("suffix"),
    size("size_bytes"),
    path("path"),
    shared.EXCLUDED,
)  # fmt: skip

STREAMING: Final = View(
    name="ncem.streaming",
    doc="Per processed file, from the first receiver time of its scan to its write time at NERSC.",
    build="harvest_ncem.views.streaming:build",
    requires=("ncem.receiver_status", "ncem.data_file"),
    settings={"study": shared.STUDY},
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
    requires=shared.ALL_TYPES,
    settings=shared.OF_DURATIONS,
    columns=OUTLIER_COLUMNS,
    first=("size", "method", "n", "n_outliers", "low_fence_s"),
)
