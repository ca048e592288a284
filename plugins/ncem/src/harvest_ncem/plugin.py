"""Plugin declarations: source, views, reports and rules."""

from collections.abc import Iterable

from harvest import ReportSpec, Rule, SourceSpec, View, hookimpl

from .named_commands import harvest_commands as harvest_commands
from .rules import RULES
from .views.declared import ALL_TYPES, OF_DURATIONS, VIEWS

harvest_api = 1


@hookimpl
def harvest_sources() -> Iterable[SourceSpec]:
    """Declare the source ``ncem``."""
    return [
        SourceSpec(
            name="ncem",
            doc="4D-STEM receiver statuses, data and HDF5 files of NCEM, or their CSV tables",
            factory="harvest_ncem.source:NcemSource",
            record_types=("ncem.data_file", "ncem.receiver_status"),
        )
    ]


@hookimpl
def harvest_views() -> Iterable[View]:
    """Declare the views of the study."""
    return VIEWS


@hookimpl
def harvest_reports() -> Iterable[ReportSpec]:
    """Declare the report of the study's results."""
    return [
        ReportSpec(
            name="ncem.comparison",
            doc="File transfer compared with streaming, per scan size: statistics with and without "
            "outliers, speed-up, histograms.",
            build="harvest_ncem.reports:comparison",
            requires=ALL_TYPES,
            settings=OF_DURATIONS,
        )
    ]


@hookimpl
def harvest_rules() -> Iterable[Rule]:
    """Declare rules on the reliability of the study's times, and on data that it excludes."""
    return RULES
