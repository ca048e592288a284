"""The report planted.summary, and what every report promises."""

from __future__ import annotations

from typing import ClassVar

from check_views import harvested

from harvest_testing import ReportConformance


class TestSummary(ReportConformance):
    report = "planted.summary"
    totals: ClassVar = {"hosts": ("transfers", "size_bytes", "unknown_sizes")}
    sums: ClassVar = {
        ("users", "transfers"): ("planted.per_host", "transfers"),
        ("users", "size_bytes"): ("planted.per_host", "size_bytes"),
    }
    examples: ClassVar = {"top": "1"}
    dataset = harvested
