"""Names of the values in a SHOW clause's output: from a setting, or from keys in the lines.

DuckDB's tokenizer splits an SQL expression. "Policies: functions in rules" in IBM Storage Scale's
administration guide says what the expression may contain.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias
from urllib.parse import quote

import attrs

from .layout import Show


@attrs.frozen
class Template:
    """The unescaped output of SHOW: pairs of a literal text and the name of the value after it.

    end: the text after the last value.
    """

    parts: tuple[tuple[str, str], ...]
    end: str

    def written(self) -> list[tuple[Show, bytes]]:
        """Return the ways a list may write the texts: unchanged, escaped, or percent-encoded."""
        ways = [
            (tuple((write(text), name) for text, name in self.parts), write(self.end))
            for write in _WRITTEN
        ]
        return list(dict.fromkeys(ways))


_WRITTEN: Final[tuple[Callable[[str], bytes], ...]] = (
    str.encode,
    lambda text: text.replace("\\", "\\\\").replace("\n", "\\n").encode(),
    lambda text: quote(text, safe="").encode(),
    lambda text: quote(text, safe="/").encode(),
)


def template(text: str) -> Template:
    """Parse the template in a setting.

    text: the SQL expression of the SHOW clause (``varchar(file_size) || ' ' || ...``), text with
        names in braces (``{FILE_SIZE} {USER_ID}``), or names and separators (``size|uid``).
    Raises ValueError if the values could not be separated.
    """
    if "||" in text or re.search(r"(?i)\b(?:var)?char\s*\(|^\s*show\s*\(", text):
        inside = re.fullmatch(r"(?is)\s*show\s*\((.*)\)\s*", text)
        pieces = [_operand(tokens) for tokens in _operands(inside[1] if inside else text)]
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
    # the number of blanks before SHOW is taken from the list
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
    """Return the keys in a line's SHOW and the bytes after its last value; None without keys."""
    found = list(_KEY.finditer(text))
    if not found or found[0].start() > 0:
        return None
    mark = found[1]["mark"] if len(found) > 1 else found[0]["mark"]
    end = mark if mark and text.endswith(mark) else b""
    return tuple((match[0], match["key"].decode()) for match in found), end


_Piece: TypeAlias = "tuple[str, str]"
"""Kind of a token in DuckDB's terms, such as ``string_const``, and its text."""

_ARITHMETIC: Final = frozenset("+-*/(),")


def _operands(text: str) -> Iterator[list[_Piece]]:
    import duckdb  # imported late: it takes a tenth of a second

    raw, found = text.encode(), duckdb.tokenize(text)
    ends = [*(place for place, _ in found[1:]), len(raw)]
    depth, operand = 0, list[_Piece]()
    for (start, kind), end in zip(found, ends, strict=True):
        name, word = str(kind).rpartition(".")[2], raw[start:end].decode().strip()
        depth += (word == "(") - (word == ")")
        if word == "||" and depth == 0:
            yield operand
            operand = []
        elif name != "comment":
            operand.append((name, word))
    yield operand


def _operand(tokens: list[_Piece]) -> tuple[bool, str]:
    """Return whether an operand is a value, and its text or name (``FILE_SIZE/1024``)."""
    written = " ".join(text for _, text in tokens)
    if not tokens:
        raise ValueError("an operand of || is missing")
    if [kind for kind, _ in tokens] == ["string_const"]:
        quoted = re.fullmatch(r"'((?:[^']|'')*)'", written)
        if quoted is None:
            raise ValueError(f"{written} is not a text between single quotes")
        return False, quoted[1].replace("''", "'")
    value = _value(tokens)
    for place, (kind, text) in enumerate(value):
        called = value[place + 1 : place + 2] == [("operator", "(")]
        if (kind == "keyword" and not called) or (kind == "operator" and text not in _ARITHMETIC):
            raise ValueError(f"{text} in {written!r} is not understood")
    depth = 0
    for _, text in value:
        depth += (text == "(") - (text == ")")
        if depth < 0:
            break
    if depth or not any(kind == "identifier" for kind, _ in value):
        raise ValueError(f"{written!r} is not a value: write VARCHAR(ATTRIBUTE) or a quoted text")
    return True, "".join(text for _, text in value)


def _value(tokens: list[_Piece]) -> list[_Piece]:
    """Return the argument of VARCHAR(...) or CHAR(...), which may be nested."""
    while tokens[0][1].lower() in ("varchar", "char") and tokens[1:2] == [("operator", "(")]:
        if tokens[-1][1] != ")":
            break
        tokens = tokens[2:-1]
        if [kind for kind, _ in tokens[-2:]] == ["operator", "numeric_const"]:
            tokens = tokens[:-2] if tokens[-2][1] == "," else tokens
        if not tokens:
            raise ValueError("VARCHAR() names no attribute")
    return tokens
