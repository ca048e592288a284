"""What a SHOW clause prints: named by a setting, or by the keys in a list's lines."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote_from_bytes

import attrs

from .layout import Show

__all__ = ["Template", "keyed", "template"]


@attrs.frozen
class Template:
    """What SHOW prints, not escaped: pairs of text and the name of the value behind it.

    end: the text behind the last value.
    """

    parts: tuple[tuple[str, str], ...]
    end: str

    def written(self) -> list[tuple[Show, bytes]]:
        """The ways in which a list may write it: as it stands, escaped, or percent-encoded."""
        ways = [(tuple((text.encode(), name) for text, name in self.parts), self.end.encode())]
        for safe in (None, "", "/"):
            way = (
                tuple((_escaped(text, safe), name) for text, name in self.parts),
                _escaped(self.end, safe),
            )
            if way not in ways:
                ways.append(way)
        return ways


def _escaped(text: str, safe: str | None) -> bytes:
    raw = text.encode()
    if safe is None:
        return raw.replace(b"\\", b"\\\\").replace(b"\n", b"\\n")
    return quote_from_bytes(raw, safe=safe).encode()


def template(text: str) -> Template:
    """The template that a setting gives.

    text: the SQL expression of the SHOW clause (``varchar(file_size) || ' ' || ...``), text with
        names in braces (``{FILE_SIZE} {USER_ID}``), or names and what stands between them
        (``size|uid``).
    Raises ValueError when the values could not be separated.
    """
    if "||" in text or re.search(r"(?i)\b(?:var)?char\s*\(|^\s*show\s*\(", text):
        from .show_sql import concatenated  # late: DuckDB takes a tenth of a second

        pieces = concatenated(text)
    elif "{" in text:
        pieces = _split(text, r"\{(\w+)\}")
    else:
        pieces = _split(text, r"(\w+)")
    parts: list[tuple[str, str]] = []
    literal = ""
    for is_name, piece in pieces:
        if not is_name:
            literal += piece
            continue
        if parts and not literal:
            raise ValueError(f"nothing stands between {parts[-1][1]} and {piece}")
        if parts:
            _check_mark(literal, parts[-1][1])
        parts.append((literal, piece))
        literal = ""
    if not parts:
        raise ValueError("it names no attribute")
    if literal:
        _check_mark(literal, parts[-1][1])
    first, name = parts[0]
    # how many blanks stand before SHOW is seen in the list
    return Template(((first.lstrip(" "), name), *parts[1:]), literal)


def _check_mark(literal: str, name: str) -> None:
    if literal[0].isalnum() or literal[0] in "+-.%\\" or not literal[0].isascii():
        raise ValueError(
            f"{literal!r} behind {name} begins with {literal[0]!r}, which may belong to the value"
        )


def _split(text: str, names: str) -> list[tuple[bool, str]]:
    pieces = re.split(names, text)
    return [(bool(at % 2), piece) for at, piece in enumerate(pieces) if piece]


_KEY: Final = re.compile(
    rb"(?P<mark>^|(?:%7C|%20|%2C|%3B|[|,; \t])+)(?P<key>[A-Za-z_][A-Za-z0-9_.]*)(?P<is>=|%3D)",
    re.IGNORECASE,
)


def keyed(text: bytes) -> tuple[Show, bytes] | None:
    """The keys in one line's SHOW and the bytes behind its last value; None where it has none."""
    found = list(_KEY.finditer(text))
    if not found or found[0].start() > 0:
        return None
    mark = found[1]["mark"] if len(found) > 1 else found[0]["mark"]
    end = mark if mark and text.endswith(mark) else b""
    return tuple((match[0], match["key"].decode()) for match in found), end
