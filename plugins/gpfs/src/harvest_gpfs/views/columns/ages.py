"""Columns of the views of how old and how large objects are, and what a policy would free."""

from __future__ import annotations

from typing import Final

from harvest import Column

from .shared import DATA, KEYS, NOW, SCAN, number_of_bytes, share

__all__ = ["AGES", "COLD", "POLICY", "SIZES"]

_CLASSES: Final = tuple(DATA[name] for name in ("size_bytes", "inodes", "allocated_bytes"))

AGES: Final = (
    Column(
        "time",
        doc="access or modify: which time the age is counted from; each object is in a class of "
        "either.",
    ),
    Column(
        "age",
        doc="Class of age; null for objects whose time the list does not say.",
    ),
    *_CLASSES,
    Column(
        "above_days",
        unit="d",
        doc="How many days old the class begins, the limit left out; null for the class in the "
        "future and for unknown ages.",
    ),
    Column(
        "up_to_days",
        unit="d",
        doc="How many days old the class ends, the limit taken in; null for the oldest class and "
        "for unknown ages.",
    ),
    NOW,
    SCAN,
)

SIZES: Final = (
    Column("size", doc="Class of logical size; null for objects whose size the list does not say."),
    *(DATA[name] for name in ("inodes", "size_bytes", "allocated_bytes")),
    Column(
        "above_bytes",
        unit="bytes",
        format=",d",
        doc="Where the class begins, the limit left out, but 0 for the empty class; null for "
        "unknown sizes.",
    ),
    Column(
        "up_to_bytes",
        unit="bytes",
        format=",d",
        doc="Where the class ends, the limit taken in; null for the largest class and for unknown "
        "sizes.",
    ),
    SCAN,
)

COLD: Final = (
    *(key for name, key in KEYS.items() if name != "cold"),
    number_of_bytes(
        "cold_size_bytes",
        "Logical size of the cold objects, as far as it is known; null where it is of none.",
    ),
    share(
        "cold_share",
        "cold_size_bytes as a share of size_bytes; null where that is 0 or either is not known.",
    ),
    Column(
        "cold_inodes",
        doc="Objects that were neither accessed nor modified for the setting age; directories "
        "left out, hard links once.",
    ),
    *_CLASSES,
    number_of_bytes(
        "cold_allocated_bytes",
        "Allocated size of the cold objects, as far as it is known; null where it is of none.",
    ),
    Column(
        "untimed",
        doc="Objects of which the list says neither time; they do not count as cold.",
    ),
    NOW,
    SCAN,
)

POLICY: Final = (
    *(key for name, key in KEYS.items() if name not in ("access_age", "modify_age")),
    Column("days", unit="d", doc="The limit that is tried: what is older would be freed."),
    Column(
        "time",
        doc="What must be older than days: the last access, the last modification, or both, of "
        "which one that is not known is left aside.",
    ),
    number_of_bytes(
        "freed_size_bytes",
        "Logical size of the objects that would be freed, as far as it is known; null where it "
        "is of none.",
    ),
    share(
        "freed_share",
        "freed_size_bytes as a share of size_bytes; null where that is 0 or either is not known.",
    ),
    Column(
        "freed_inodes",
        doc="Objects that would be freed; directories left out, hard links once.",
    ),
    number_of_bytes(
        "freed_allocated_bytes",
        "Allocated size of the objects that would be freed, as far as it is known; null where it "
        "is of none.",
    ),
    *_CLASSES,
    Column(
        "untimed",
        doc="Objects without the time that must be older, or for both without either; no policy "
        "frees them.",
    ),
    NOW,
    SCAN,
)
