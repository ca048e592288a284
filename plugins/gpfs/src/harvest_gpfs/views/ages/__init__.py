"""Views of how old and how large objects are: classes, and the parts that are cold or small."""

from __future__ import annotations

from typing import Final

import attrs

from harvest import Column, Setting, View
from harvest.columns import count, share, size, text

from ... import measures
from .. import columns, settings

__all__ = ["VIEWS"]

_IN_CLASS: Final = {
    name: attrs.evolve(
        column,
        doc=f"{str(column.doc).removesuffix('.')}; null, too, where the list puts no object into a "
        "class.",
    )
    for name, column in columns.DATA.items()
}


def _part(prefix: str, which: str) -> tuple[Column, Column]:
    """Logical and allocated size of the objects of a part, which are counted, too."""
    return (
        size(f"{prefix}_size_bytes", f"Logical size of the {which}, as far as it is known; null "
             f"where it is of none, or {prefix}_inodes is."),
        size(f"{prefix}_allocated_bytes", f"Allocated size of the {which}, as far as it is known; "
             f"null where it is of none, or {prefix}_inodes is."),
    )  # fmt: skip


def _of_known(prefix: str) -> Column:
    """The bytes of a part as a share of what is known to be in it or not."""
    return share(f"{prefix}_share", f"{prefix}_size_bytes as a share of known_size_bytes; null "
                 "where that is 0 or either is not known.")  # fmt: skip


_POLICY_SIZE, _POLICY_ALLOCATED = _part("freed", "objects that would be freed")
_POLICY: Final = (
    *columns.keys_without("access_age", "modify_age"),
    count("days", "The limit that is tried: what is older would be freed.", "d"),
    text("time", "What must be older than days: the last access, the last modification, or both."),
    _POLICY_SIZE,
    _of_known("freed"),
    count("freed_inodes", "Objects that would be freed; directories left out, hard links once; "
          f"{columns.UNDECIDED}."),
    _POLICY_ALLOCATED,
    *columns.DATA.values(),
    *columns.KNOWN.values(),
    count("untimed", "Objects of which it is not known whether they are older, for a time that the "
          "list does not say; shares leave them out."),
    columns.NOW,
    columns.SCAN,
)  # fmt: skip

POLICY: Final = View(
    name="gpfs.policy",
    doc="What a policy of so many days would free, by time of access, of modification, both; "
    "of each the groups of most bytes first.",
    settings={
        "policy": settings.POLICY,
        "by": settings.by(),
        "scan": settings.SCAN,
        "now": settings.NOW,
        **settings.PLACE,
        **settings.PEOPLE,
    },
    requires=settings.REQUIRES,
    columns=_POLICY,
    build="harvest_gpfs.views.ages.parts:policy",
)

_AGES: Final = (
    text("time", "access or modify: which time the age is counted from; each object is in a class "
         "of either."),
    text("age", "Class of age; null for objects whose time the list does not say."),
    *_IN_CLASS.values(),
    count("above_days", "How many days old the class begins, the limit left out; null for the "
          "class in the future and for unknown ages.", "d"),
    count("up_to_days", "How many days old the class ends, the limit taken in; null for the oldest "
          "class and for unknown ages.", "d"),
    columns.NOW,
    columns.SCAN,
)  # fmt: skip

AGES: Final = View(
    name="gpfs.ages",
    doc="How long ago objects were accessed and modified, in classes.",
    settings={
        "ages": Setting("upper ends of the classes", str, measures.AGES),
        "scan": settings.SCAN,
        "now": settings.NOW,
    },
    requires=settings.REQUIRES,
    columns=_AGES,
    build="harvest_gpfs.views.ages.parts:ages",
)

_SIZES: Final = (
    text("size", "Class of logical size; null for objects whose size the list does not say."),
    *(_IN_CLASS[name] for name in ("inodes", "size_bytes", "allocated_bytes")),
    Column(
        "above_bytes",
        unit="bytes",
        format=",d",
        type=int,
        doc="Where the class begins, the limit left out, but 0 for the empty class; null for "
        "unknown sizes.",
    ),
    Column(
        "up_to_bytes",
        unit="bytes",
        format=",d",
        type=int,
        doc="Where the class ends, the limit taken in; null for the largest class and for unknown "
        "sizes.",
    ),
    columns.SCAN,
)

SIZES: Final = View(
    name="gpfs.sizes",
    doc="How many objects are how large, in classes.",
    settings={
        "sizes": Setting("upper ends of the classes", str, measures.SIZES),
        "scan": settings.SCAN,
    },
    requires=settings.REQUIRES,
    columns=_SIZES,
    build="harvest_gpfs.views.ages.parts:sizes",
)

_COLD_SIZE, _COLD_ALLOCATED = _part("cold", "cold objects")
_COLD: Final = (
    *columns.keys_without("cold"),
    _COLD_SIZE,
    _of_known("cold"),
    count("cold_inodes", "Objects that were neither accessed nor modified for the setting age; "
          f"directories left out, hard links once; {columns.UNDECIDED}."),
    *columns.DATA.values(),
    *columns.KNOWN.values(),
    _COLD_ALLOCATED,
    count("untimed", "Objects that may be cold or not, for a time that the list does not say; "
          "shares leave them out."),
    columns.NOW,
    columns.SCAN,
)  # fmt: skip

COLD: Final = View(
    name="gpfs.cold",
    doc="What was neither accessed nor modified for so long, by groups.",
    settings={
        "by": settings.by("top"),
        "age": Setting("how long: 90d, 1y", str, "1y"),
        "scan": settings.SCAN,
        "now": settings.NOW,
        **settings.PLACE,
        **settings.PEOPLE,
    },
    requires=settings.REQUIRES,
    columns=_COLD,
    build="harvest_gpfs.views.ages.parts:cold",
)

_SMALL: Final = (
    *columns.keys_without("small"),
    count("small_inodes", "Objects whose logical size is known and below the setting below; "
          f"directories left out, hard links once; {columns.UNDECIDED}."),
    share("small_share", "small_inodes as a share of known_inodes; null where there are none."),
    size("small_allocated_bytes", "Allocated size of the small objects, as far as it is known; "
         "null where it is of none."),
    size("small_size_bytes", "Logical size of the small objects; null where small_inodes is."),
    *(columns.DATA[name] for name in ("inodes", "size_bytes", "allocated_bytes")),
    columns.KNOWN["inodes"],
    columns.SCAN,
)  # fmt: skip

SMALL: Final = View(
    name="gpfs.small",
    doc="How many objects are small, and what they take, by groups.",
    settings={
        "by": settings.by("top"),
        "below": settings.SMALL,
        "scan": settings.SCAN,
        **settings.PLACE,
        **settings.PEOPLE,
    },
    requires=settings.REQUIRES,
    columns=_SMALL,
    build="harvest_gpfs.views.ages.parts:small",
)

VIEWS: Final = (POLICY, AGES, SIZES, COLD, SMALL)
