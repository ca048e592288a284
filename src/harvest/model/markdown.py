"""Documentation of a record type, as Markdown."""

from __future__ import annotations

from .arrow import arrow_type
from .record import RecordType

__all__ = ["markdown"]


def markdown(record_type: RecordType) -> str:
    """A section with the description, the place in the metadata map and a table of columns."""
    lines = [
        f"## {record_type.name}",
        "",
        record_type.doc,
        "",
        f"Version {record_type.version}; layer {record_type.layer}, level {record_type.level}.",
        "",
        "| column | type | unit | role | meaning |",
        "|---|---|---|---|---|",
    ]
    for column in record_type.columns:
        kind = str(arrow_type(column.python_type)).replace("|", "\\|")
        kind += "" if column.nullable else ", required"
        doc = " ".join(column.doc.split()).replace("|", "\\|")
        lines.append(
            f"| `{column.name}` | {kind} | {column.unit or ''} | {column.role or ''} | {doc} |"
        )
    return "\n".join(lines) + "\n"
