"""A record type as Markdown, and small pieces of that."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape

import pyarrow as pa

from harvest import RecordType


def types_in_words(record_type: RecordType) -> Mapping[str, str]:
    """The Arrow type of the values of each column, and whether there must be one."""
    found = {}
    for field in record_type.arrow_schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        found[field.name] = f"{kind}{'' if field.nullable else ', required'}"
    return found


def markdown(record_type: RecordType) -> str:
    """A section of documentation: description, place in the metadata map, table of columns."""
    kinds = types_in_words(record_type)
    columns = [
        (f"`{c.name}`", prose(kinds[c.name]), c.unit or "", c.role or "", prose(c.doc))
        for c in record_type.columns
    ]
    lines = [
        f"## {record_type.name}",
        "",
        prose(record_type.doc),
        "",
        f"Version {record_type.version}; layer {record_type.layer}, level {record_type.level}.",
        "",
        *table(("column", "type", "unit", "role", "meaning"), columns),
    ]
    return "\n".join(lines)


_CODE = re.compile(r"`([^`]*\|[^`]*)`")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table and an empty one after it; nothing for no rows."""
    lines = [_line(row) for row in rows]
    return [_line(header), "|" + "---|" * len(header), *lines, ""] if lines else []


def _line(cells: Sequence[str]) -> str:
    shown = (_CODE.sub(_code, " ".join(cell.split())).replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(shown)} |"


def _code(found: re.Match[str]) -> str:
    """Code with a bar as HTML: renderers do not agree whether a bar in code must be escaped."""
    return f"<code>{escape(found[1], quote=False).replace('|', '&#124;')}</code>"


def prose(text: str) -> str:
    """Text in which ``map<string, string>`` is not HTML, except where it is code already."""
    pieces = text.split("`")  # odd ones are code
    pieces[::2] = [piece.replace("<", "&lt;") for piece in pieces[::2]]
    return "`".join(pieces)
