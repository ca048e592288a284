"""One field more in a file whose units have fields by name."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["with_field"]

_DELIMITERS = (b"\t", b"|", b";", b",")


def with_field(data: bytes, name: str, value: str, *, header_lines: int | None) -> bytes | None:
    """The content with a field in each unit: JSON, or a table under one line of names.

    None where it is neither.
    """
    if header_lines == 1:
        return _with_column(data, name.encode(), value.encode())
    try:
        return json.dumps(_with_member(json.loads(data), name, value)).encode()
    except ValueError:
        pass
    lines = data.splitlines(keepends=True)
    changed = [_with_member_in_line(line, name, value) for line in lines]
    return b"".join(changed) if changed != lines else None


def _with_member_in_line(line: bytes, name: str, value: str) -> bytes:
    try:
        found = json.loads(line)
    except ValueError:
        return line
    if not isinstance(found, dict):
        return line
    return json.dumps({**found, name: value}).encode() + b"\n"


def _with_member(found: Any, name: str, value: str) -> Any:
    """An object, or each of a list, with a member more."""
    if isinstance(found, list):
        return [_with_member(item, name, value) for item in found]
    if not isinstance(found, dict):
        raise ValueError("no object")
    return {**found, name: value}


def _with_column(data: bytes, name: bytes, value: bytes) -> bytes | None:
    lines = data.splitlines()
    if not lines:
        return None
    delimiter = max(_DELIMITERS, key=lines[0].count)
    fields = lines[0].count(delimiter)
    if not fields:
        return None
    more = [lines[0] + delimiter + name]
    for line in lines[1:]:
        whole = line.count(delimiter) == fields
        more.append(line + delimiter + value if whole else line)
    return b"\n".join([*more, b""])
