"""Compare host names, and expand the host lists that Slurm writes."""

import ipaddress
import re
from typing import Final

import polars as pl

from .frames import mapped

__all__ = ["expand", "expanded", "host_name", "same_host", "short", "short_name"]

LIMIT: Final = 100_000
"""Most hosts in a list: more than any cluster has, because a damaged list may claim millions."""

_LIST: Final = re.compile(r"(?:[^\[\]]++|\[[^\[\]]*+\])*+")
_ITEM: Final = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")
_PART: Final = re.compile(r"([^,\[\]]*)\[([^\[\]]*)\]|([^,\[\]]+)")
_BRACKETED: Final = re.compile(r"\[([^\[\]]*)\](?::\d*)?")
_RANGE: Final = re.compile(r"(\d+)(?:-(\d+))?")


def host_name(text: str) -> str | None:
    """Normalize a host name: lower case, without port, brackets and trailing dot.

    Addresses get their shortest spelling; None when the text holds no name.
    """
    name = text.strip().lower().rstrip(".")
    bracketed = _BRACKETED.fullmatch(name)
    if bracketed is not None:
        name = bracketed[1]
    elif name.count(":") == 1:
        name = name.partition(":")[0].rstrip(".")
    return _address(name) or name or None


def short_name(text: str) -> str | None:
    """Return a host's name without its domain, which some records lack.

    An address has no domain and stays whole.
    """
    name = host_name(text)
    return name if name is None or _address(name) else name.partition(".")[0]


def short(host: pl.Expr) -> pl.Expr:
    """Apply ``short_name`` to a column; names that ``same_host`` may match have equal results."""
    return mapped(host, short_name)


def same_host(one: pl.Expr, other: pl.Expr) -> pl.Expr:
    """Check whether two columns name the same host; null where either is null.

    A name matches every longer name that begins with it and a dot, because records of one system
    name a host with or without its domain.  Two different full names are two hosts, as are two
    addresses: their common beginning is a network.
    """
    name, theirs = (mapped(each, host_name) for each in (one, other))
    begins = theirs.str.starts_with(name + ".") | name.str.starts_with(theirs + ".")
    return (name == theirs) | (begins & (short(one) == short(other)))


def _address(name: str) -> str | None:
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return None


def expand(hosts: str) -> list[str]:
    """Expand a list such as ``nid[001-003,007],login1``, as ``scontrol show hostnames`` does.

    Empty when the text is not such a list, or names more than 100,000 hosts.
    """
    found: list[str] = []
    for item in _ITEM.findall(hosts) if _LIST.fullmatch(hosts) else ():
        names = [""]
        for prefix, ranges, plain in _PART.findall(item):
            endings = [plain] if plain else _numbers(prefix, ranges)
            if not endings or len(found) + len(names) * len(endings) > LIMIT:
                return []
            names = [name + ending for name in names for ending in endings]
        found += names
    return found


def expanded(lists: pl.Expr) -> pl.Expr:
    """Apply ``expand`` to a column: the hosts of each list; null where it is unknown."""
    return mapped(lists, expand, pl.List(pl.String))


def _numbers(prefix: str, ranges: str) -> list[str]:
    """Expand ``nid`` and ``001-003,007``; numbers keep the digits of their range's first number."""
    found: list[str] = []
    for text in ranges.split(","):
        span = _RANGE.fullmatch(text)
        if span is None:
            return []
        first, last = span[1], span[2] or span[1]
        if not 0 <= int(last) - int(first) < LIMIT - len(found):
            return []
        numbers = range(int(first), int(last) + 1)
        found += [f"{prefix}{number:0{len(first)}d}" for number in numbers]
    return found
