"""Columns that several views of scans have."""

from __future__ import annotations

from typing import Final

from harvest import Column
from harvest_toolkit.columns import path, size

from ..measures import DEFAULT, DIRECTORY, GROUPINGS, METRICS
from .settings import WITHIN

__all__ = ["KEYS", "NOW", "SCAN"]


def metric(name: str) -> Column:
    """What is counted or summed of a group; directories are objects like others."""
    doc = METRICS[name]
    return size(name, doc) if name.endswith("_bytes") else Column(name, doc=doc)


_FORMATS: Final = {"uid": "d", "gid": "d", "top": "path"}

KEYS: Final = {
    name: Column(name, format=_FORMATS.get(name), doc=GROUPINGS[name]) for name in WITHIN
}
"""What groups are by."""


def keys_without(*names: str) -> tuple[Column, ...]:
    """What groups are by, but what a view divides each group by itself."""
    return tuple(key for name, key in KEYS.items() if name not in names)


DIRECTORIES: Final = (
    path(DIRECTORY, GROUPINGS[DIRECTORY]),
    Column("depth", doc="How many directories below the root it is; 0 for the root itself."),
)
"""A directory among others that it lies in."""

_FIRST: Final = ("size_bytes", "inodes", "files", "allocated_bytes", "hard_links")

METRICS_BY_SIZE: Final = tuple(
    metric(name) for name in dict.fromkeys((*_FIRST, *DEFAULT, *METRICS))
)
"""All that is counted and summed, what people look at first before the others."""

DATA: Final = {
    "size_bytes": size(
        "size_bytes",
        "Logical size of these objects, as far as it is known; null where it is of none.",
    ),
    "inodes": Column(
        "inodes",
        doc="Objects, each once however many paths it has: at the first; directories left out.",
    ),
    "allocated_bytes": size(
        "allocated_bytes",
        "Allocated size of these objects, as far as it is known; null where it is of none.",
    ),
}
"""Sums that leave directories out."""

KNOWN: Final = {
    "inodes": Column(
        "known_inodes",
        doc="Objects of which the list says what decides it, one way or the other; directories "
        "left out, hard links once; null where that is none.",
    ),
    "size_bytes": size(
        "known_size_bytes",
        "Logical size of the objects in known_inodes, as far as it is known; null where it is of "
        "none.",
    ),
}
"""What shares are of: the objects that could be in the part, or not, by what the list says."""

UNDECIDED: Final = "null where none is known to be one and some may be"
"""When a part is not known."""

SCAN: Final = Column(
    "scan",
    doc="The scan that is looked at: its time, in UTC; the path of a list that does not say it; "
    "or all.",
)

NOW: Final = Column(
    "now", doc="What ages are counted from, in UTC: the time of the scan, or the one given."
)
