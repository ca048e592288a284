"""Columns and settings that several views have."""

from __future__ import annotations

from typing import Final

from harvest import Column, Setting
from harvest.columns import amount, count, named, number, rate, text, time
from harvest.toolkit.settings import one_of

STUDY: Final = Setting("TOML file with the study's scan ranges, sizes and limits")
OF_DURATIONS: Final = {
    "study": STUDY,
    "max_elapsed": Setting("longest elapsed allowed, such as 29m; overrides the study's", str),
    "save_correction": Setting("whether to subtract the study's save time", bool, True),
}
ALL_TYPES: Final = ("slurm.job", "distiller.job", "ncem.receiver_status", "ncem.data_file")


def per(*words: str) -> dict[str, Setting]:
    """The setting ``per``; the first of the words is its default."""
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
    """The size by ranges of a method."""
    return text("size", "Size of the scan, as 128x128, by the study's ranges with method "
                f"{method}; null outside of them.")  # fmt: skip


def ends_by(method: str) -> tuple[Column, Column]:
    """The range of a method that a scan is in."""
    return (
        number("first_scan", f"First scan number of its range with {method}; null in none."),
        number("last_scan", f"Last scan number of its range with {method}; null in none."),
    )
