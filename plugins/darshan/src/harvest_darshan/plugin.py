"""The source, views, rules and report that this distribution offers to harvest."""

from harvest import ReportSpec, Setting, SourceSpec, declare
from harvest.toolkit.settings import at_least, one_of

from .rules import RULES
from .views.declared.files import FILES, PROCESSES, TIMELINE
from .views.declared.jobs import BANDWIDTH, GAINS, JOBS, POSIX_FILES, RANKS, REQUESTS
from .views.declared.shared import ONE_JOB

VIEWS = (FILES, PROCESSES, TIMELINE, JOBS, REQUESTS, POSIX_FILES, RANKS, BANDWIDTH, GAINS)

_RECORD_TYPES = (
    "apmpi apxc bgq daos dfs dxt_segment file h5d h5f heatmap job lustre mdhim mount mpiio "
    "pnetcdf_file pnetcdf_var posix stdio"
)

harvest_sources = declare(
    SourceSpec(
        name="darshan",
        doc="Darshan I/O logs, 3.0 to 3.5: counters, DXT segments, heat maps, Lustre striping",
        factory="harvest_darshan.source:DarshanSource",
        record_types=tuple(f"darshan.{name}" for name in _RECORD_TYPES.split()),
    )
)

harvest_views = declare(*VIEWS)

harvest_rules = declare(*RULES)

harvest_reports = declare(
    ReportSpec(
        name="darshan.io",
        doc="I/O of one job or many: layers, files, request sizes, bytes over time by "
        "process, traced operations.",
        build="harvest_darshan.report.page:io_report",
        requires=("darshan.job",),
        settings={
            **ONE_JOB,
            "top": Setting("number of files, jobs and logs that are listed", int, 20, at_least(1)),
            "by": Setting("order of files", str, "time", one_of(("time", "bytes"))),
        },
    )
)
