"""The conformance kit for reports: the same rows give the same texts and tables."""

from typing import Any, ClassVar

from harvest import Dataset, ReportSpec
from harvest_report import Notes

from .datasets import DatasetKit


class ReportConformance(DatasetKit):
    """Tests of everything that a report promises; an author's test class inherits them.

    report: name of the report.
    """

    report: ClassVar[str]

    def spec(self, dataset: Dataset) -> ReportSpec:
        return dataset.plugins.report(self.report)

    def lines(self, dataset: Dataset, **settings: Any) -> list[str]:
        report = dataset.report(self.report, **settings)
        notes = [item for s in report.sections if isinstance(s, Notes) for item in s.items]
        shown = [f"{table.name}: {row!r}" for table in report.tables for row in table.data.rows()]
        return [report.title, *report.intro, *notes, *shown]
