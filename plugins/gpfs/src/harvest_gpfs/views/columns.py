"""Columns that several views of scans have."""

from __future__ import annotations

from typing import Final

from harvest import Column
from harvest.columns import amount, count, flag, number, path, size, text, time

from ..measures import DEFAULT, DIRECTORY, GROUPINGS, METRICS
from .settings import WITHIN


def metric(name: str) -> Column:
    """What is counted or summed of a group; directories are objects like others."""
    if name == "hottest":
        return amount(name, METRICS[name])
    kinds = {"bytes": size, "time": time}
    return kinds.get(name.rpartition("_")[2], count)(name, METRICS[name])


_KINDS: Final = {
    "uid": number,
    "gid": number,
    "top": path,
    **dict.fromkeys(("cold", "future", "small"), flag),
}

KEYS: Final = {name: _KINDS.get(name, text)(name, GROUPINGS[name]) for name in WITHIN}
"""What groups are by."""


def keys_without(*names: str) -> tuple[Column, ...]:
    """What groups are by, but what a view divides each group by itself."""
    return tuple(key for name, key in KEYS.items() if name not in names)


DIRECTORIES: Final = (
    path(DIRECTORY, GROUPINGS[DIRECTORY]),
    count("depth", "How many directories below the root it is; 0 for the root itself."),
)
"""A directory among others that it lies in."""

_FIRST: Final = ("size_bytes", "inodes", "files", "allocated_bytes", "hard_links")

METRICS_BY_SIZE: Final = tuple(
    metric(name) for name in dict.fromkeys((*_FIRST, *DEFAULT, *METRICS))
)
"""All that is counted and summed, what people look at first before the others."""

DATA: Final = {
    "size_bytes": size("size_bytes", "Logical size of these objects, as far as it is known; null "
                       "where it is of none."),
    "inodes": count("inodes", "Objects, each once however many paths it has: at the first; "
                    "directories left out."),
    "allocated_bytes": size("allocated_bytes", "Allocated size of these objects, as far as it is "
                            "known; null where it is of none."),
}  # fmt: skip
"""Sums that leave directories out."""

KNOWN: Final = {
    "inodes": count("known_inodes", "Objects of which the list says what decides it, one way or "
                    "the other; directories left out, hard links once; null where that is "
                    "none."),
    "size_bytes": size("known_size_bytes", "Logical size of the objects in known_inodes, as far as "
                       "it is known; null where it is of none."),
}  # fmt: skip
"""What shares are of: the objects that could be in the part, or not, by what the list says."""

UNDECIDED: Final = "null where none is known to be one and some may be"
"""When a part is not known."""

SCAN: Final = text("scan", "The scan that is looked at: its time, in UTC; the path of a list that "
                   "does not say it; or all.")  # fmt: skip

NOW: Final = text("now", "What ages are counted from, in UTC: the time of the scan, or the one "
                  "given.")  # fmt: skip
