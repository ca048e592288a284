"""Names of hosts, and the lists of them that Slurm writes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import polars as pl

__all__ = ["expand", "short"]

LIMIT: Final = 100_000
"""Hosts that a list may stand for; no cluster has as many, and a damaged list may claim more."""

_PART: Final = re.compile(r"([^,\[\]]*)\[([^\[\]]*)\]|([^,\[\]]+)")
_RANGE: Final = re.compile(r"(\d+)(?:-(\d+))?")


def short(host: pl.Expr) -> pl.Expr:
    """A host's name without its domain, which one record may have and another not."""
    is_address = host.str.contains(r"^[0-9.]+$|:")
    return pl.when(is_address).then(host).otherwise(host.str.extract(r"^([^.]*)"))


def expand(hosts: str) -> list[str]:
    """The hosts of a list such as ``nid[001-003,007],login1`` (``scontrol show hostnames``).

    Empty where the text is not such a list, or stands for more hosts than a cluster has.
    """
    found: list[str] = []
    for item in _items(hosts):
        names = [""]
        position = 0
        for part in _PART.finditer(item):
            if part.start() != position:
                return []
            position = part.end()
            endings = [part[3]] if part[3] is not None else _numbers(part[1], part[2])
            if len(names) * len(endings) > LIMIT:
                return []
            names = [name + ending for name in names for ending in endings]
        if position != len(item):
            return []
        found += [name for name in names if name]
    return found if len(found) <= LIMIT else []


def _items(hosts: str) -> Iterator[str]:
    """What stands between the commas that are outside of brackets."""
    depth, begin = 0, 0
    for place, character in enumerate(hosts):
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            yield hosts[begin:place]
            begin = place + 1
    yield hosts[begin:]


def _numbers(prefix: str, ranges: str) -> list[str]:
    """``nid`` and ``001-003,007``: each number with as many digits as the range begins with."""
    found: list[str] = []
    for text in ranges.split(","):
        span = _RANGE.fullmatch(text)
        if span is None:
            return []
        first, last = span[1], span[2] or span[1]
        if int(last) - int(first) >= LIMIT:
            return []
        numbers = range(int(first), int(last) + 1)
        found += [f"{prefix}{number:0{len(first)}d}" for number in numbers]
    return found
