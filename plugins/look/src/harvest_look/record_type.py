"""A record type as Markdown."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from harvest import RecordType

from .markdown import prose

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
    lines = [
        f"## {record_type.name}",
        "",
        prose(record_type.doc),
        "",
        f"Version {record_type.version}; layer {record_type.layer}, level {record_type.level}.",
        "",
        "| column | type | unit | role | meaning |",
        "|---|---|---|---|---|",
    ]
    for column in record_type.columns:
        kind = prose(kinds[column.name])
        doc = prose(" ".join(column.doc.split())).replace("|", "\\|")
        lines.append(
            f"| `{column.name}` | {kind} | {column.unit or ''} | {column.role or ''} | {doc} |"
        )
    return "\n".join(lines) + "\n"
