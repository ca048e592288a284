"""Python literals in text: task keys, sets of keys, dicts by key.

Content of files is never executed. A scanner that knows strings, brackets and commas splits texts
into items. Only items that look like plain literals, of bounded size and depth, are passed to
:func:`ast.literal_eval`.
"""

import ast
import re
import warnings
from typing import Final

from harvest.toolkit.texts import printable

__all__ = [
    "LiteralFault", "bytes_of_literal", "canonical_key", "dict_items", "key_of_literal",
    "name_in_key", "set_items", "text_of_literal",
]  # fmt: skip

LONGEST_KEY: Final = 64 * 1024
DEEPEST: Final = 40

STRING: Final = r"(?:[bBuU]?(?:'(?:[^'\\\n]|\\[^\n])*+'|\"(?:[^\"\\\n]|\\[^\n])*+\"))"
_NUMBER: Final = r"(?:\d[\d_]*+(?:\.\d*+)?+(?:[eE][+-]?\d++)?+|\.\d++(?:[eE][+-]?\d++)?+)j?"
_LITERAL: Final = re.compile(
    rf"(?:{STRING}|{_NUMBER}|None|True|False|Ellipsis|[ \t(),\[\]{{}}:+-])*+"
)
# repr() prints these inside tuples although they are not literals: NaN, infinities, numpy scalars
_NUMPY: Final = (
    rf"(?:np|numpy)\.(?:u?int|float|bool|str|bytes|datetime|timedelta)\d*_?"
    rf"\((?:-?{_NUMBER}|{STRING}|True|False|-?nan|-?inf)(?:, ?{STRING})?\)"
)
_NEAR: Final = re.compile(rf"({STRING})|\bnan\b|\binf\b|{_NUMPY}")
_TOKEN: Final = re.compile(rf"{STRING}|[\(\[\{{]|[\)\]\}}]|,|:|[^'\"()\[\]{{}},:]++|['\"]")
_STRINGS: Final = re.compile(STRING)
_MARKS: Final = re.compile(r"[()\[\]{},+-]")
_EMPTY_SETS: Final = frozenset({"set()", "frozenset()", "{}", "[]", "()"})
_NOTHING: Final = object()
_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}


class LiteralFault(ValueError):
    """A text that is not the expected literal."""


def canonical_key(text: str) -> str:
    """Return the canonical spelling of a key printed by ``str(key)``.

    A tuple literal becomes Python's spelling of that tuple; any other text stays unchanged.
    """
    if text.startswith("(") and text.endswith(")"):
        value = _literal(text)
        if isinstance(value, tuple):
            return _str(value) or text
    return text


def key_of_literal(text: str) -> str:
    """Return the canonical spelling of a key printed by ``repr(key)``, as in a dict or set.

    Raises LiteralFault when the text is not a literal.
    """
    word = text.strip()
    if not word:
        raise LiteralFault("an item is empty")
    if word[0] in "'\"":
        value = _evaluate(word) if _STRINGS.fullmatch(word) else _NOTHING
        key = _str(value) if isinstance(value, str) else None
        if key is None:
            raise LiteralFault(f"{_excerpt(word)} is not a string literal")
        return canonical_key(key)
    if len(word) > LONGEST_KEY:
        raise LiteralFault(f"{_excerpt(word)} is too long for a key")
    # replace near-literals with numbers, to check whether the rest is a literal
    if _literal(_NEAR.sub(lambda match: match[1] or "0", word)) is _NOTHING:
        raise LiteralFault(f"{_excerpt(word)} is not a literal")
    value = _literal(word)
    return word if value is _NOTHING else (_str(value) or word)


def name_in_key(text: str) -> str | None:
    """Return the name in a key of canonical spelling: the first item of a tuple, at any depth.

    Bytes are decoded. Returns None if the first item is not a text. A key that is not a literal is
    its own name.
    """
    value = _literal(text)
    if not isinstance(value, tuple | bytes):
        return text
    while isinstance(value, tuple):
        value = value[0] if value else None
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return None
    return value if isinstance(value, str) else None


def text_of_literal(text: str) -> str:
    """Return the value of a string literal, without lone surrogates; other texts unchanged."""
    value = _evaluate(text) if _STRINGS.fullmatch(text) else _NOTHING
    return printable(value) if isinstance(value, str) else text


def bytes_of_literal(text: str) -> bytes | None:
    """Return the value of a bytes literal; None for any other text."""
    value = _evaluate(text) if text[:1] == "b" and _STRINGS.fullmatch(text) else None
    return value if isinstance(value, bytes) else None


def _str(value: object) -> str | None:
    try:
        text = str(value)
        text.encode()
    except (ValueError, RecursionError):  # an integer too long to print, a lone surrogate
        return None
    return text


def _literal(text: str) -> object:
    """Return the value of a literal of sane shape and size; ``_NOTHING`` for other texts."""
    return _evaluate(text) if _sane(text) else _NOTHING


def _evaluate(text: str) -> object:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # for example, about an invalid escape in a string
            value: object = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return _NOTHING
    return value


def _sane(text: str) -> bool:
    """Return whether a text has only words of literals and is neither too long nor too deep.

    Each sign may nest an expression, so signs between two commas count as depth.
    """
    if len(text) > LONGEST_KEY or not _LITERAL.fullmatch(text):
        return False
    bare = _STRINGS.sub("", text)
    depth = deepest = signs = 0
    for mark in _MARKS.findall(bare):
        if mark in "([{":
            depth += 1
        elif mark in ")]}":
            depth -= 1
        elif mark == ",":
            signs = 0
        else:
            signs += 1
        deepest = max(deepest, depth + signs)
    return deepest <= DEEPEST


def set_items(text: str) -> list[str]:
    """Split a printed set, frozenset, list or tuple into its items, as texts.

    Raises LiteralFault for any other text.
    """
    word = text.strip()
    if word in _EMPTY_SETS:
        return []
    if word.startswith("frozenset(") and word.endswith(")"):
        word = word.removeprefix("frozenset(")[:-1].strip()
    return [item for (item,) in _items(word, "([{", 1, f"{_excerpt(text)} is not a set of keys")]


def dict_items(text: str) -> list[tuple[str, str]]:
    """Split a printed dict into its keys and values, as texts.

    Raises LiteralFault for any other text.
    """
    fault = f"{_excerpt(text)} is not a dict"
    return [(key, value) for key, value in _items(text.strip(), "{", 2, fault)]


def _items(word: str, brackets: str, parts: int, fault: str) -> list[list[str]]:
    """Split a literal in one of the brackets into items, each of this number of parts."""
    if len(word) < 2 or word[0] not in brackets or word[-1] != _CLOSING[word[0]]:
        raise LiteralFault(fault)
    items = _split(word[1:-1])
    if any(len(item) != parts for item in items):
        raise LiteralFault(fault)
    return items


def _split(text: str) -> list[list[str]]:
    """Split at commas outside brackets and strings, and each item at such colons."""
    items: list[list[str]] = []
    parts: list[str] = []
    open_brackets: list[str] = []
    start = 0
    for match in _TOKEN.finditer(text):
        mark = match[0]
        if mark in _CLOSING:
            if len(open_brackets) >= DEEPEST:
                raise LiteralFault(f"brackets nest deeper than {DEEPEST}")
            open_brackets.append(_CLOSING[mark])
        elif mark in ")]}":
            if not open_brackets or open_brackets.pop() != mark:
                raise LiteralFault(f"a {mark!r} does not fit at character {match.start() + 2}")
        elif mark in ("'", '"'):
            raise LiteralFault(f"a string is never closed at character {match.start() + 2}")
        elif not open_brackets and mark in (",", ":"):
            parts.append(text[start : match.start()].strip())
            start = match.end()
            if mark == ",":
                items.append(parts)
                parts = []
    if open_brackets:
        raise LiteralFault(f"a bracket is never closed: {open_brackets[-1]!r} is missing")
    last = text[start:].strip()
    if last or parts:  # a comma may follow the last item
        items.append([*parts, last])
    return items


def _excerpt(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:60] + "...")
