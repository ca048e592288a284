"""Plugin declarations: source, views, reports and rules."""

from harvest import ReportSpec, SourceSpec, declare

from .named_commands import harvest_commands as harvest_commands
from .rules import RULES
from .views.declared import ALL_TYPES, OF_DURATIONS, VIEWS

harvest_sources = declare(
    SourceSpec(
        name="ncem",
        doc="4D-STEM receiver statuses, data and HDF5 files of NCEM, or their CSV tables",
        factory="harvest_ncem.source:NcemSource",
        record_types=("ncem.data_file", "ncem.receiver_status"),
    )
)

harvest_views = declare(*VIEWS)

harvest_reports = declare(
    ReportSpec(
        name="ncem.comparison",
        doc="File transfer compared with streaming, per scan size: statistics with and without "
        "outliers, speed-up, histograms.",
        build="harvest_ncem.reports:comparison",
        requires=ALL_TYPES,
        settings=OF_DURATIONS,
    )
)

harvest_rules = declare(*RULES)
