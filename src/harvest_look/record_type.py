"""A record type as Markdown."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from harvest import RecordType

from .markdown import prose, table

__all__ = ["markdown", "types_in_words"]


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
