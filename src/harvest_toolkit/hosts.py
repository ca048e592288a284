"""Names of hosts: which are of one host, and the lists of them that Slurm writes."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator
from typing import Final

import polars as pl

__all__ = ["expand", "host_name", "same_host", "short", "short_name"]

LIMIT: Final = 100_000
"""Hosts that a list may stand for; no cluster has as many, and a damaged list may claim more."""

_PART: Final = re.compile(r"([^,\[\]]*)\[([^\[\]]*)\]|([^,\[\]]+)")
_BRACKETED: Final = re.compile(r"\[([^\[\]]*)\](?::\d*)?")
_RANGE: Final = re.compile(r"(\d+)(?:-(\d+))?")


def host_name(text: str) -> str | None:
    """A host as it is compared: in lower case, without port, brackets and trailing dot.

    Addresses are in their shortest spelling; None where the text names nothing.
    """
    name = text.strip().lower().rstrip(".")
    bracketed = _BRACKETED.fullmatch(name)
    if bracketed is not None:
        name = bracketed[1]
    elif name.count(":") == 1:
        name = name.partition(":")[0].rstrip(".")
    return _address(name) or name or None


def short_name(text: str) -> str | None:
    """A host's name without its domain, which one record may have and another not.

    An address has no domain, and is left whole.
    """
    name = host_name(text)
    return name if name is None or _address(name) else name.partition(".")[0]


def short(host: pl.Expr) -> pl.Expr:
    """``short_name`` of a column: equal for all names that ``same_host`` may hold for one."""
    return _mapped(host, short_name)


def same_host(one: pl.Expr, other: pl.Expr) -> pl.Expr:
    """Whether two names are of one host; null where one of them is null.

    A name is one host with each fuller name that begins with it, as records of one system name a
    host now with its domain, now without.  Two full names that differ are two hosts, and so are
    two addresses: what they have in common is a network.
    """
    name, theirs = (_mapped(each, host_name) for each in (one, other))
    begins = theirs.str.starts_with(name + ".") | name.str.starts_with(theirs + ".")
    return (name == theirs) | (begins & (short(one) == short(other)))


def _mapped(column: pl.Expr, rule: Callable[[str], str | None]) -> pl.Expr:
    """A rule for texts, applied once to each different text of a column."""

    def apply(texts: pl.Series) -> pl.Series:
        known = {text: rule(text) for text in texts.unique().drop_nulls()}
        return texts.replace_strict(known, default=None, return_dtype=pl.String)

    return column.cast(pl.String).map_batches(apply, return_dtype=pl.String, is_elementwise=True)


def _address(name: str) -> str | None:
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return None


def expand(hosts: str) -> list[str]:
    """The hosts of a list such as ``nid[001-003,007],login1`` (``scontrol show hostnames``).

    Empty where the text is not such a list, or stands for more hosts than a cluster has.
    """
    found: list[str] = []
    for item in _items(hosts):
        parts = list(_PART.finditer(item))
        if "".join(part[0] for part in parts) != item:
            return []
        names = [""]
        for part in parts:
            endings = [part[3]] if part[3] is not None else _numbers(part[1], part[2])
            if len(names) * len(endings) > LIMIT:
                return []
            names = [name + ending for name in names for ending in endings]
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
