"""What commands that ask a dataset work with: imported when one is called, not for its help."""

from __future__ import annotations

from rich.console import Console

from harvest.commands.asking import answer
from harvest.commands.progress import working
from harvest.commands.tables import how_many, print_json
from harvest_report import Report
from harvest_report.records import Style, print_records, print_rows_as_json
from harvest_report.terminal import show as show_report
from harvest_report.verdict import show_verdict

from .asked import named
from .choice import Choice
from .files import export
from .refusals import refused_values
from .remarks import remarks

__all__ = [
    "Choice",
    "Console",
    "Report",
    "Style",
    "answer",
    "export",
    "how_many",
    "named",
    "print_json",
    "print_records",
    "print_rows_as_json",
    "refused_values",
    "remarks",
    "show_report",
    "show_verdict",
    "working",
]
