"""What this distribution offers to harvest."""

from __future__ import annotations

from collections.abc import Iterable

from harvest import ReportSpec, Setting, View, hookimpl
from harvest.toolkit.settings import at_least

from .declared import COMPARE, READ, SIDES

harvest_api = 1


@hookimpl
def harvest_views() -> Iterable[View]:
    """The differences as rows."""
    return [COMPARE]


@hookimpl
def harvest_reports() -> Iterable[ReportSpec]:
    """The differences on a page."""
    return [
        ReportSpec(
            name="dask.compare",
            doc="Runs compared: which side was quicker, which kinds of tasks made the difference, "
            "by phase, graph and worker; failures, memory and bytes; what is new or gone; and how "
            "sure each difference is.",
            build="harvest_dask_runs.compare.report:dask_compare",
            requires=READ,
            settings={
                **SIDES,
                "top": Setting("how many rows each table has at most", int, 20, at_least(1)),
            },
        )
    ]
