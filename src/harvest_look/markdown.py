"""Write record types and tables as Markdown."""

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

import pyarrow as pa

from harvest import RecordType

COLUMNS: Final = ("column", "type", "unit", "role", "meaning")
"""What ``rows_of`` returns of each column."""


def rows_of(record_type: RecordType) -> list[tuple[str | None, ...]]:
    """Return the columns of a record type; Arrow types are ``required`` when never null."""
    rows: list[tuple[str | None, ...]] = []
    for column in record_type.columns:
        field = record_type.arrow_schema.field(column.name)
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        required = "" if field.nullable else ", required"
        rows.append((column.name, f"{kind}{required}", column.unit, column.role, column.doc))
    return rows


def markdown(record_type: RecordType) -> str:
    """Return a section of documentation: description, place in the metadata map, columns."""
    layer, level = record_type.layer, record_type.level
    place = f"Version {record_type.version}; layer {layer}, level {level}."
    columns = described(COLUMNS, rows_of(record_type))
    return section(f"## {record_type.name}", record_type.doc, place, columns)


def section(heading: str, doc: str, remark: str, *tables: Sequence[str]) -> str:
    """Return a section with a description, a remark if there is one, and lines of tables."""
    lines = [heading, "", prose(doc), "", *([remark, ""] if remark else [])]
    return "\n".join([*lines, *(line for table in tables for line in table)])


def described(header: Sequence[str], rows: Iterable[Sequence[str | None]]) -> list[str]:
    """Return the lines of a table whose first column has names and whose others have prose."""
    return table(
        header, [(f"`{name}`", *(prose(text or "") for text in texts)) for name, *texts in rows]
    )


_CODE = re.compile(r"`([^`]*\|[^`]*)`")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table and an empty line; nothing for no rows."""
    lines = [_line(row) for row in rows]
    return [_line(header), "|" + "---|" * len(header), *lines, ""] if lines else []


def _line(cells: Sequence[str]) -> str:
    shown = (_CODE.sub(_code, " ".join(cell.split())).replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(shown)} |"


def _code(found: re.Match[str]) -> str:
    """Write code with a bar as HTML, because renderers disagree on how to escape the bar."""
    return f"<code>{escape(found[1], quote=False).replace('|', '&#124;')}</code>"


def prose(text: str) -> str:
    """Escape ``<`` outside code, so that ``map<string, string>`` does not become HTML."""
    pieces = text.split("`")  # odd ones are code
    pieces[::2] = [piece.replace("<", "&lt;") for piece in pieces[::2]]
    return "`".join(pieces)
