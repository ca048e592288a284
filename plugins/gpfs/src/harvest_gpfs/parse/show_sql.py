"""The SQL expression of a SHOW clause, as texts and the values between them.

It is read as DuckDB's own tokenizer takes it apart.  "Policies: functions in rules" of IBM Storage
Scale's administration guide says what such an expression may hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, TypeAlias

import duckdb

__all__ = ["concatenated"]

_Piece: TypeAlias = "tuple[str, str]"
"""What DuckDB calls a token's kind, such as ``string_const``, and its text."""

_AS_TEXT: Final = ("varchar", "char")
_ARITHMETIC: Final = frozenset("+-*/(),")


def concatenated(text: str) -> list[tuple[bool, str]]:
    """The operands of a concatenation: whether each is a value, and its text or the value's name.

    A value that is more than an attribute, such as ``FILE_SIZE/1024``, is named as it is written.
    Raises ValueError for what is neither a text nor a value.
    """
    inside = re.fullmatch(r"(?is)\s*show\s*\((.*)\)\s*", text)
    return [_operand(tokens) for tokens in _operands(inside[1] if inside else text)]


def _tokens(text: str) -> Iterator[_Piece]:
    raw = text.encode()
    found = duckdb.tokenize(text)
    ends = [*(place for place, _ in found[1:]), len(raw)]
    for (start, kind), end in zip(found, ends, strict=True):
        name = str(kind).rpartition(".")[2]
        if name != "comment":
            yield name, raw[start:end].decode().strip()


def _operands(text: str) -> Iterator[list[_Piece]]:
    depth, operand = 0, list[_Piece]()
    for token in _tokens(text):
        depth += (token[1] == "(") - (token[1] == ")")
        if token[1] == "||" and depth == 0:
            yield operand
            operand = []
        else:
            operand.append(token)
    yield operand


def _operand(tokens: list[_Piece]) -> tuple[bool, str]:
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
        raise ValueError(f"{written!r} is no value: write VARCHAR(ATTRIBUTE), or a text in quotes")
    return True, "".join(text for _, text in value)


def _value(tokens: list[_Piece]) -> list[_Piece]:
    """What VARCHAR(...) and CHAR(...) make a text of, which may be another of them."""
    while tokens[0][1].lower() in _AS_TEXT and [text for _, text in tokens[1:2]] == ["("]:
        if tokens[-1][1] != ")":
            break
        tokens = tokens[2:-1]
        if [kind for kind, _ in tokens[-2:]] == ["operator", "numeric_const"]:
            tokens = tokens[:-2] if tokens[-2][1] == "," else tokens
        if not tokens:
            raise ValueError("VARCHAR() names no attribute")
    return tokens
