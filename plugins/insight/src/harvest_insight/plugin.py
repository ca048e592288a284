"""The views and reports that this distribution offers to harvest."""

from collections.abc import Iterable

from harvest import ReportSpec, View, hookimpl

from .views import VIEWS

harvest_api = 1


@hookimpl
def harvest_views() -> Iterable[View]:
    """Declare the views across sources."""
    return VIEWS


@hookimpl
def harvest_reports() -> Iterable[ReportSpec]:
    """Declare the reports over every dataset."""
    return [
        ReportSpec(
            name="run.map",
            doc="The metadata map: what was harvested of a run's life, from where, by layer, level "
            "and step; what is missing, and which source would bring it.",
            build="harvest_insight.run_map:run_map",
        )
    ]
