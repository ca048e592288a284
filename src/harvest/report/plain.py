"""A report as plain values (for JSON), and its tables as CSV."""

from __future__ import annotations

from typing import Any

from harvest.model.csv import CSV_TIME, csv_columns

from .model import Notes, Plot, Report, Section, Table

__all__ = ["to_csv", "to_dict"]


def to_csv(table: Table) -> str:
    """The table with the names of its columns and all digits of its values.

    Cells that a spreadsheet would run as formulas are defused by an apostrophe.
    """
    return csv_columns(table.data).write_csv(datetime_format=CSV_TIME)


def to_dict(report: Report) -> dict[str, Any]:
    """Name, title, paragraphs, what it was made from, and the sections in their order."""
    return {
        "report": report.name,
        "title": report.title,
        "intro": list(report.intro),
        "made_from": dict(report.facts),
        "sections": [_section(section) for section in report.sections],
    }


def _section(section: Section) -> dict[str, Any]:
    if isinstance(section, Table):
        return {
            "kind": "table",
            "name": section.name,
            "title": section.title,
            "columns": [
                {"name": c.name, "label": c.label, "unit": c.unit, "doc": c.doc}
                for c in section.columns
            ],
            "rows": section.data.to_dicts(),
            "note": section.note,
        }
    if isinstance(section, Plot):
        return {
            "kind": "plot",
            "name": section.name,
            "title": section.title,
            "alt": section.alt,
        }
    if isinstance(section, Notes):
        return {
            "kind": "notes",
            "name": section.name,
            "title": section.title,
            "items": list(section.items),
        }
    raise TypeError(f"{section!r} is no section of a report")
