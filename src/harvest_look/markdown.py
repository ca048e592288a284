"""Write record types and tables as Markdown."""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape

import pyarrow as pa

from harvest import RecordType


def types_in_words(record_type: RecordType) -> Mapping[str, str]:
    """Return each column's Arrow type, with ``required`` when it is never null."""
    found = {}
    for field in record_type.arrow_schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        found[field.name] = f"{kind}{'' if field.nullable else ', required'}"
    return found


def markdown(record_type: RecordType) -> str:
    """Return a section of documentation: description, place in the metadata map, columns."""
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
