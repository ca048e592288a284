"""Views of how old and how large objects are: classes, and the parts that are cold or small."""

from __future__ import annotations

from typing import Final

import attrs

from harvest import Column, Setting
from harvest.columns import count, share, size, text

from ... import measures
from .. import columns, settings

_IN_CLASS: Final = {
    name: attrs.evolve(
        column,
        doc=f"{str(column.doc).removesuffix('.')}; null, too, where the list puts no object into a "
        "class.",
    )
    for name, column in columns.DATA.items()
}


def _bytes(name: str, what: str) -> Column:
    """Bytes of the objects of a part, which are counted, too."""
    part = name.partition("_")[0]
    return size(name, f"{what}, as far as it is known; null where it is of none, or {part}_inodes "
                "is.")  # fmt: skip


def _exact(name: str, doc: str) -> Column:
    return attrs.evolve(size(name, doc), format=",d")


def _of_known(prefix: str) -> Column:
    """The bytes of a part as a share of what is known to be in it or not."""
    return share(f"{prefix}_share", f"{prefix}_size_bytes as a share of known_size_bytes; null "
                 "where that is 0 or either is not known.")  # fmt: skip


POLICY: Final = settings.view(
    "gpfs.policy", "views.ages.parts",
    "What a policy of so many days would free, by time of access, of modification, both; "
    "of each the groups of most bytes first.",
    {"policy": settings.POLICY, "by": settings.by(), **settings.TIMED, **settings.GROUPED},
    *columns.keys_without("access_age", "modify_age"),
    count("days", "The limit that is tried: what is older would be freed.", "d"),
    text("time", "What must be older than days: the last access, the last modification, or both."),
    _bytes("freed_size_bytes", "Logical size of the objects that would be freed"),
    _of_known("freed"),
    count("freed_inodes", "Objects that would be freed; directories left out, hard links once; "
          f"{columns.UNDECIDED}."),
    _bytes("freed_allocated_bytes", "Allocated size of the objects that would be freed"),
    *columns.DATA.values(),
    *columns.KNOWN.values(),
    count("untimed", "Objects of which it is not known whether they are older, for a time that the "
          "list does not say; shares leave them out."),
    columns.NOW,
    columns.SCAN,
)  # fmt: skip

AGES: Final = settings.view(
    "gpfs.ages", "views.ages.parts",
    "How long ago objects were accessed and modified, in classes.",
    {"ages": Setting("upper ends of the classes", str, measures.AGES), **settings.TIMED},
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

SIZES: Final = settings.view(
    "gpfs.sizes", "views.ages.parts",
    "How many objects are how large, in classes.",
    {"sizes": Setting("upper ends of the classes", str, measures.SIZES), "scan": settings.SCAN},
    text("size", "Class of logical size; null for objects whose size the list does not say."),
    *(_IN_CLASS[name] for name in ("inodes", "size_bytes", "allocated_bytes")),
    _exact("above_bytes", "Where the class begins, the limit left out, but 0 for the empty class; "
           "null for unknown sizes."),
    _exact("up_to_bytes", "Where the class ends, the limit taken in; null for the largest class "
           "and for unknown sizes."),
    columns.SCAN,
)  # fmt: skip

COLD: Final = settings.view(
    "gpfs.cold", "views.ages.parts",
    "What was neither accessed nor modified for so long, by groups.",
    {
        "by": settings.by("top"),
        "age": Setting("how long: 90d, 1y", str, "1y"),
        **settings.TIMED,
        **settings.GROUPED,
    },
    *columns.keys_without("cold"),
    _bytes("cold_size_bytes", "Logical size of the cold objects"),
    _of_known("cold"),
    count("cold_inodes", "Objects that were neither accessed nor modified for the setting age; "
          f"directories left out, hard links once; {columns.UNDECIDED}."),
    *columns.DATA.values(),
    *columns.KNOWN.values(),
    _bytes("cold_allocated_bytes", "Allocated size of the cold objects"),
    count("untimed", "Objects that may be cold or not, for a time that the list does not say; "
          "shares leave them out."),
    columns.NOW,
    columns.SCAN,
)  # fmt: skip

SMALL: Final = settings.view(
    "gpfs.small", "views.ages.parts",
    "How many objects are small, and what they take, by groups.",
    {"by": settings.by("top"), "below": settings.SMALL, "scan": settings.SCAN, **settings.GROUPED},
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

VIEWS: Final = (POLICY, AGES, SIZES, COLD, SMALL)
