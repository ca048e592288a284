"""The lines of Prometheus' text exposition format, version 0.0.4.

Read as Prometheus reads them: names and labels of ASCII letters, digits and ``_``; values as Go's
``ParseFloat`` takes them, but neither hexadecimal nor with ``_``; blanks and tabs between tokens;
of escapes, no others than the format has.  https://prometheus.io/docs/instrumenting/exposition_formats/
"""

import math
import re
from typing import Final

import attrs

__all__ = ["TYPES", "Comment", "Described", "ExpositionError", "Sample", "parse"]

TYPES: Final = ("counter", "gauge", "histogram", "summary", "untyped")

_METRIC: Final = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_DESCRIBED: Final = re.compile(r"#[ \t]*(HELP|TYPE)(?:[ \t]+(.*))?", re.ASCII | re.DOTALL)
_NAMED: Final = re.compile(rf"({_METRIC})(?:[ \t]+(.*))?", re.ASCII | re.DOTALL)
_START: Final = re.compile(rf"({_METRIC})[ \t]*", re.ASCII)
_LABEL: Final = re.compile(
    r'[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*', re.ASCII | re.DOTALL
)
_NUMBER: Final = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*(?:e[+-]?[0-9]+)?|\.[0-9]+(?:e[+-]?[0-9]+)?|inf(?:inity)?)|nan",
    re.ASCII | re.IGNORECASE,
)
_STAMP: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_ESCAPE: Final = re.compile(r"\\(.?)", re.DOTALL)


class ExpositionError(ValueError):
    """A line that is none of the format; the message says why."""


@attrs.frozen
class Sample:
    """A sample: name of the metric, labels, value, milliseconds since the epoch if given."""

    name: str
    labels: dict[str, str]
    value: float
    time_ms: int | None


@attrs.frozen
class Described:
    """A line ``# HELP`` or ``# TYPE``: which of them, the metric's name, and what it says."""

    what: str
    name: str
    text: str


@attrs.frozen
class Comment:
    """A line without meaning: a comment, or nothing but blanks."""


def parse(line: str) -> Sample | Described | Comment:
    """What a line says, which is given without its end; raises ExpositionError."""
    text = line.lstrip(" \t")
    if not text:
        return Comment()
    return _comment(text) if text.startswith("#") else _sample(text.rstrip(" \t"))


def _comment(text: str) -> Described | Comment:
    found = _DESCRIBED.fullmatch(text)
    if found is None:
        return Comment()
    what, rest = found[1], found[2] or ""
    named = _NAMED.fullmatch(rest)
    if named is None:
        raise ExpositionError(f"{what} is followed by {rest[:40]!r}, which is no metric's name")
    name, said = named[1], named[2] or ""
    if what == "HELP":
        return Described(what, name, _unescaped(said, {"\\": "\\", "n": "\n"}))
    kind = said.rstrip(" \t")
    if kind not in TYPES:
        raise ExpositionError(f"{kind[:40]!r} is no type; {', '.join(TYPES)} are")
    return Described(what, name, kind)


def _sample(text: str) -> Sample:
    start = _START.match(text)
    if start is None:
        raise ExpositionError(f"{text[:40]!r} does not begin with a metric's name")
    labels: dict[str, str] = {}
    end = start.end()
    if text[end : end + 1] == "{":
        labels, end = _labels(text, end)
    elif not start[0].endswith((" ", "\t")):
        raise ExpositionError(f"no value follows {start[1][:40]!r}")
    words = text[end:].replace("\t", " ").split(" ")
    words = [word for word in words if word]
    if not words or len(words) > 2:
        raise ExpositionError(f"{len(words)} words follow the name, not a value and perhaps a time")
    return Sample(start[1], labels, _number(words[0]), _stamp(words[1]) if words[1:] else None)


def _labels(text: str, start: int) -> tuple[dict[str, str], int]:
    """Labels of a text that has ``{`` at ``start``, and where what follows them begins."""
    labels: dict[str, str] = {}
    place = start + 1
    while True:
        found = _LABEL.match(text, place)
        if found is None:
            break
        if found[1] in labels or found[1] == "__name__":
            raise ExpositionError(f"label {found[1]!r} is there twice, or reserved")
        labels[found[1]] = _unescaped(found[2], {"\\": "\\", '"': '"', "n": "\n"})
        place = found.end()
        if text[place : place + 1] != ",":
            break
        place += 1
    while text[place : place + 1] in (" ", "\t"):
        place += 1
    if text[place : place + 1] != "}":
        raise ExpositionError(f"a label or '}}' is due at {text[place : place + 40]!r}")
    return labels, place + 1


def _unescaped(text: str, known: dict[str, str]) -> str:
    def replaced(escape: re.Match[str]) -> str:
        if escape[1] not in known:
            raise ExpositionError(f"{escape[0]!r} is no escape of the format")
        return known[escape[1]]

    return _ESCAPE.sub(replaced, text)


def _number(text: str) -> float:
    if _NUMBER.fullmatch(text) is None:
        raise ExpositionError(f"value {text[:40]!r} is no number")
    value = float(text)
    if math.isinf(value) and "inf" not in text.lower():
        raise ExpositionError(f"value {text[:40]!r} is out of range")
    return value


def _stamp(text: str) -> int:
    if _STAMP.fullmatch(text) is None:
        raise ExpositionError(f"time {text[:40]!r} is no whole number of milliseconds")
    return int(text)
