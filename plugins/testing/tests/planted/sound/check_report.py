"""The report planted.summary, and what every report promises."""

from typing import ClassVar

from check_views import harvested

from harvest_testing import ReportConformance


class TestSummary(ReportConformance):
    report = "planted.summary"
    examples: ClassVar = {"top": "1"}
    dataset = harvested
