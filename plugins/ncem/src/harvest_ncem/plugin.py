"""What this distribution adds to harvest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from harvest import ReportSpec, Rule, Setting, SourceSpec, View, hookimpl
from harvest.toolkit.settings import one_of

from .rules import RULES

harvest_api = 1

_STUDY = Setting("TOML file with the study's scan ranges, sizes and limits")
_SETTINGS = {
    "study": _STUDY,
    "max_elapsed": Setting("longest elapsed allowed, such as 29m; overrides the study's"),
    "save_correction": Setting("whether to subtract the study's save time", bool, True),
}


def _per(*words: str) -> Setting:
    return Setting("what a row stands for", str, words[0], one_of(words))


_COLUMNS = "harvest_ncem.views.columns:"
_ALL = ("slurm.job", "distiller.job", "ncem.receiver_status", "ncem.data_file")


@hookimpl
def harvest_sources() -> Iterable[SourceSpec]:
    """The source ``ncem``."""
    return [
        SourceSpec(
            name="ncem",
            doc="4D-STEM receiver statuses, data and HDF5 files of NCEM, or their CSV tables",
            factory="harvest_ncem.source:NcemSource",
        )
    ]


VIEWS: Final = (
    View(
        name="ncem.offload",
        doc="Per scan, from the earliest receiver time to the last write of its data files; "
        "with per=range, the statistics of each scan range.",
        build="harvest_ncem.views.offload:build",
        requires=("ncem.receiver_status", "ncem.data_file"),
        columns=_COLUMNS + "OFFLOAD",
        settings={
            "study": _STUDY,
            "per": _per("scan", "range"),
        },
    ),
    View(
        name="ncem.file_transfer",
        doc="Slurm jobs joined to Distiller's rows by Slurm id, with the time that file "
        "transfer took: elapsed plus mean offload, less the correction for saving.",
        build="harvest_ncem.views.file_transfer:build",
        requires=("distiller.job", "slurm.job"),
        columns=_COLUMNS + "FILE_TRANSFER",
        settings=_SETTINGS,
    ),
    View(
        name="ncem.streaming",
        doc="Per processed file, from the first receiver time of its scan to its write time "
        "at NERSC.",
        build="harvest_ncem.views.streaming:build",
        requires=("ncem.receiver_status", "ncem.data_file"),
        columns=_COLUMNS + "STREAMING",
        settings={"study": _STUDY},
    ),
    View(
        name="ncem.clock_check",
        doc="Per scan, the spread between the receivers' clocks, flagged where they are not "
        "synchronised; with per=receiver, each receiver's median offset.",
        build="harvest_ncem.views.clock_check:build",
        requires=("ncem.receiver_status",),
        columns=_COLUMNS + "CLOCK_CHECK",
        settings={
            "study": _STUDY,
            "per": _per("scan", "receiver"),
            "threshold": Setting(
                "largest difference that counts as synchronised, such as 2s; overrides the study's"
            ),
        },
    ),
    View(
        name="ncem.failed_scans",
        doc="Scans that were lost or failed, with what went wrong: files that are missing, empty "
        "or older than the scan, receivers that did not get to the end.",
        build="harvest_ncem.views.failed:build",
        requires=("ncem.receiver_status", "ncem.data_file"),
        columns=_COLUMNS + "FAILED_SCANS",
        settings={
            "study": _STUDY,
            "show": Setting(
                "all for every scan, those without a problem too",
                str,
                "failed",
                one_of(("failed", "all")),
            ),
        },
    ),
    View(
        name="ncem.outliers",
        doc="Per size and method, the quartiles and fences of the durations, how many lie "
        "beyond, and a warning where the clock is too coarse for them.",
        build="harvest_ncem.views.outliers:build",
        requires=_ALL,
        columns=_COLUMNS + "OUTLIERS",
        settings=_SETTINGS,
    ),
)


@hookimpl
def harvest_views() -> Iterable[View]:
    """The views of the study."""
    return VIEWS


@hookimpl
def harvest_reports() -> Iterable[ReportSpec]:
    """The study's result."""
    return [
        ReportSpec(
            name="ncem.comparison",
            doc="File transfer compared with streaming, per scan size: statistics with and without "
            "outliers, speed-up, histograms.",
            build="harvest_ncem.reports:comparison",
            requires=_ALL,
            settings=_SETTINGS,
        )
    ]


@hookimpl
def harvest_rules() -> Iterable[Rule]:
    """Whether the study's times can be trusted, and what was left out of it."""
    return RULES
