"""Columns of the views that compare two scans.  Directories do not count in them."""

from __future__ import annotations

from typing import Final

from harvest import Column

from .shared import KEYS, number_of_bytes

__all__ = ["CHANGE", "CHURN"]

_CHANGES: Final = {
    "created": ("that only the later scan has", "in the later scan"),
    "deleted": ("that only the earlier scan has", "in the earlier scan"),
    "modified": (
        "of both scans whose size or modification time differs",
        "in the later scan",
    ),
    "renamed": ("of both scans that lost a path and got another", "in the later scan"),
    "moved_in": (
        "of both scans that were in another group before",
        "in the earlier scan",
    ),
    "moved_out": (
        "of both scans that are in another group now",
        "in the earlier scan",
    ),
    "accessed": (
        "of both scans whose access time differs",
        "in the later scan",
    ),
}
"""What may become of objects: which they are, and when their size is taken."""

_FLOWS: Final = tuple(
    column
    for name, (which, when) in _CHANGES.items()
    for column in (
        Column(
            name,
            doc=f"Objects {which}, hard links once; null where a list lacks what says so.",
        ),
        number_of_bytes(
            f"{name}_bytes",
            f"Logical size, {when}, of the objects {which}, of the measured ones; null where "
            "none is, or the objects are not known.",
        ),
    )
)
_UNMEASURED: Final = Column(
    "unmeasured",
    doc="Objects of which a scan that has them does not say the size: all bytes leave them out. "
    "Null where a list does not say which group objects are in.",
)

_BEFORE_AND_AFTER: Final = (
    number_of_bytes(
        "new_bytes",
        "Logical size of the objects in the later scan, of the measured ones; null where none is.",
    ),
    number_of_bytes(
        "old_bytes",
        "Logical size of the objects in the earlier scan, of the measured ones; null where none "
        "is.",
    ),
    Column(
        "new_inodes",
        doc="Objects in the later scan, hard links once; null where its list does not say which "
        "group objects are in, and that of the other does.",
    ),
    Column(
        "old_inodes",
        doc="Objects in the earlier scan, hard links once; null where its list does not say which "
        "group objects are in, and that of the other does.",
    ),
)

_GROWN: Final = number_of_bytes(
    "grown_bytes",
    "What the objects of both scans gained in size, less what they lost; with created and "
    "moved_in, less deleted and moved_out, it is the growth of the group; null where none is "
    "measured.",
)

_SCANS: Final = (
    Column("old_scan", doc="The earlier scan: its time, in UTC, or the path of its list."),
    Column("new_scan", doc="The later scan: its time, in UTC, or the path of its list."),
)

CHURN: Final = (
    KEYS["top"],
    *_FLOWS,
    *_BEFORE_AND_AFTER,
    _GROWN,
    _UNMEASURED,
    *_SCANS,
)

CHANGE: Final = (
    *(KEYS[name] for name in ("user", "group", "fileset", "pool", "top")),
    number_of_bytes("growth_bytes", "new_bytes minus old_bytes; null where either is not known."),
    Column(
        "growth_percent",
        unit="%",
        format=",.1f",
        doc="growth_bytes in percent of old_bytes; null where that is not above 0, or either is "
        "not known.",
    ),
    *_BEFORE_AND_AFTER,
    Column(
        "state",
        doc="new: the earlier scan had no objects of the group; gone: the later one has none; "
        "kept: both have some; null where a list does not say which group objects are in.",
    ),
    Column("inodes_change", doc="new_inodes minus old_inodes; null where either is."),
    *_FLOWS,
    _GROWN,
    _UNMEASURED,
    *_SCANS,
)
