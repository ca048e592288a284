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
        _text(record_type.doc),
        "",
        f"Version {record_type.version}; layer {record_type.layer}, level {record_type.level}.",
        "",
        "| column | type | unit | role | meaning |",
        "|---|---|---|---|---|",
    ]
    for column in record_type.columns:
        kind = _text(str(arrow_type(column.python_type)))
        kind += "" if column.nullable else ", required"
        doc = _text(" ".join(column.doc.split())).replace("|", "\\|")
        lines.append(
            f"| `{column.name}` | {kind} | {column.unit or ''} | {column.role or ''} | {doc} |"
        )
    return "\n".join(lines) + "\n"


def _text(text: str) -> str:
    """Text in which ``map<string, string>`` is no HTML, except where it is code already."""
    pieces = text.split("`")  # odd ones are code
    pieces[::2] = [piece.replace("<", "&lt;") for piece in pieces[::2]]
    return "`".join(pieces)
