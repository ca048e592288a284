"""The source, views, rules and report that this distribution offers to harvest."""

from collections.abc import Iterable

from harvest import ReportSpec, Rule, Setting, SourceSpec, View, hookimpl
from harvest.toolkit.settings import at_least, one_of

from .rules import RULES
from .views import VIEWS
from .views.declared.shared import ONE_JOB

harvest_api = 1

_RECORD_TYPES = (
    "apmpi apxc bgq daos dfs dxt_segment file h5d h5f heatmap job lustre mdhim mount mpiio "
    "pnetcdf_file pnetcdf_var posix stdio"
)


@hookimpl
def harvest_sources() -> Iterable[SourceSpec]:
    """Declare the source ``darshan``."""
    return [
        SourceSpec(
            name="darshan",
            doc="Darshan I/O logs, 3.0 to 3.5: counters, DXT segments, heat maps, Lustre striping",
            factory="harvest_darshan.source:DarshanSource",
            record_types=tuple(f"darshan.{name}" for name in _RECORD_TYPES.split()),
        )
    ]


@hookimpl
def harvest_views() -> Iterable[View]:
    """Declare the views of Darshan logs."""
    return VIEWS


@hookimpl
def harvest_rules() -> Iterable[Rule]:
    """Declare the rules on slow I/O and on incomplete logs."""
    return RULES


@hookimpl
def harvest_reports() -> Iterable[ReportSpec]:
    """Declare the report on the I/O of jobs."""
    return [
        ReportSpec(
            name="darshan.io",
            doc="I/O of one job or many: layers, files, request sizes, bytes over time by "
            "process, traced operations.",
            build="harvest_darshan.report.page:io_report",
            requires=("darshan.job",),
            settings={
                **ONE_JOB,
                "top": Setting(
                    "number of files, jobs and logs that are listed", int, 20, at_least(1)
                ),
                "by": Setting("order of files", str, "time", one_of(("time", "bytes"))),
            },
        )
    ]
