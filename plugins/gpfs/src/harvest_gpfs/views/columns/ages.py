"""Columns of the views of how old and how large objects are, and what a policy would free."""

from __future__ import annotations

from typing import Final

import attrs

from harvest import Column

from .shared import DATA, KEYS, KNOWN, NOW, SCAN, UNDECIDED, number_of_bytes, share

__all__ = ["AGES", "COLD", "POLICY", "SIZES"]

_CLASSES: Final = tuple(DATA[name] for name in ("size_bytes", "inodes", "allocated_bytes"))
_IN_CLASS: Final = {
    name: attrs.evolve(
        DATA[name],
        doc=f"{str(DATA[name].doc).removesuffix('.')}; null, too, where the list puts no object "
        "into a class.",
    )
    for name in ("size_bytes", "inodes", "allocated_bytes")
}

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
    *_IN_CLASS.values(),
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
    *(_IN_CLASS[name] for name in ("inodes", "size_bytes", "allocated_bytes")),
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
        "Logical size of the cold objects, as far as it is known; null where it is of none, or "
        "cold_inodes is.",
    ),
    share(
        "cold_share",
        "cold_size_bytes as a share of known_size_bytes; null where that is 0 or either is not "
        "known.",
    ),
    Column(
        "cold_inodes",
        doc="Objects that were neither accessed nor modified for the setting age; directories "
        f"left out, hard links once; {UNDECIDED}.",
    ),
    *_CLASSES,
    *KNOWN.values(),
    number_of_bytes(
        "cold_allocated_bytes",
        "Allocated size of the cold objects, as far as it is known; null where it is of none, or "
        "cold_inodes is.",
    ),
    Column(
        "untimed",
        doc="Objects that may be cold or not, for a time that the list does not say; shares leave "
        "them out.",
    ),
    NOW,
    SCAN,
)

POLICY: Final = (
    *(key for name, key in KEYS.items() if name not in ("access_age", "modify_age")),
    Column("days", unit="d", doc="The limit that is tried: what is older would be freed."),
    Column(
        "time",
        doc="What must be older than days: the last access, the last modification, or both.",
    ),
    number_of_bytes(
        "freed_size_bytes",
        "Logical size of the objects that would be freed, as far as it is known; null where it "
        "is of none, or freed_inodes is.",
    ),
    share(
        "freed_share",
        "freed_size_bytes as a share of known_size_bytes; null where that is 0 or either is not "
        "known.",
    ),
    Column(
        "freed_inodes",
        doc=f"Objects that would be freed; directories left out, hard links once; {UNDECIDED}.",
    ),
    number_of_bytes(
        "freed_allocated_bytes",
        "Allocated size of the objects that would be freed, as far as it is known; null where it "
        "is of none, or freed_inodes is.",
    ),
    *_CLASSES,
    *KNOWN.values(),
    Column(
        "untimed",
        doc="Objects of which it is not known whether they are older, for a time that the list "
        "does not say; shares leave them out.",
    ),
    NOW,
    SCAN,
)
