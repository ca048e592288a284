"""The views and reports that this distribution offers to harvest."""

from harvest import ReportSpec, declare

from .views import VIEWS

harvest_api = 1

harvest_views = declare(*VIEWS)

harvest_reports = declare(
    ReportSpec(
        name="run.map",
        doc="The metadata map: what was harvested of a run's life, from where, by layer, level "
        "and step; what is missing, and which source would bring it.",
        build="harvest_insight.run_map:run_map",
    )
)
