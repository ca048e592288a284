"""Columns that several views of scans have in common."""

from typing import Final

from harvest import Column
from harvest.columns import amount, count, flag, number, path, size, text, time

from ..measures import DEFAULT, DIRECTORY, GROUPINGS, METRICS
from .settings import WITHIN


def metric(name: str) -> Column:
    """Declare the column of a metric; directories count as objects."""
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
"""Columns of the keys of groups."""


def keys_without(*names: str) -> tuple[Column, ...]:
    """Return the key columns except those by which a view already divides each group."""
    return tuple(key for name, key in KEYS.items() if name not in names)


DIRECTORIES: Final = (
    path(DIRECTORY, GROUPINGS[DIRECTORY]),
    count("depth", "Directories between it and the root; 0 for the root itself."),
)
"""Columns of a directory and its depth."""

_FIRST: Final = ("size_bytes", "inodes", "files", "allocated_bytes", "hard_links")

METRICS_BY_SIZE: Final = tuple(
    metric(name) for name in dict.fromkeys((*_FIRST, *DEFAULT, *METRICS))
)
"""Columns of all metrics, the most useful first."""

DATA: Final = {
    "size_bytes": size("size_bytes", "Logical size of these objects with a known size; null where "
                       "all are unknown."),
    "inodes": count("inodes", "Objects without directories, each counted once at its first "
                    "path."),
    "allocated_bytes": size("allocated_bytes", "Allocated size of these objects with a known "
                            "allocated size; null where all are unknown."),
}  # fmt: skip
"""Columns of sums that exclude directories."""

KNOWN: Final = {
    "inodes": count("known_inodes", "Objects with all values that decide membership, without "
                    "directories, hard links once; null where there are none."),
    "size_bytes": size("known_size_bytes", "Logical size of the objects in known_inodes with a "
                       "known size; null where all are unknown."),
}  # fmt: skip
"""Denominators of shares: columns of objects for which membership in the part is known."""

UNDECIDED: Final = "null where none is known to be and some may be"
"""Description of when a part is unknown."""

SCAN: Final = text("scan", "The scan: its time in UTC, the path of a list without a time, or all.")

NOW: Final = text("now", "Ages count from this time, in UTC: that of the scan, or the one given.")
