"""Views that compare two scans.  Directories do not count in them."""

from __future__ import annotations

from typing import Final

from harvest import Setting
from harvest.columns import amount, count, size, text

from .. import columns, settings

GROUPS: Final = ("user", "group", "fileset", "pool", "top")
"""What changes can be summed by."""

_WAYS: Final = {
    "created": ("that only the later scan has", "later"),
    "deleted": ("that only the earlier scan has", "earlier"),
    "modified": ("of both scans whose size or modification time differs", "later"),
    "renamed": ("of both scans that lost a path and got another", "later"),
    "moved_in": ("of both scans that were in another group before", "earlier"),
    "moved_out": ("of both scans that are in another group now", "earlier"),
    "accessed": ("of both scans whose access time differs", "later"),
}
"""What may become of objects: which they are, and in which scan their size is taken."""

_FLOWS: Final = tuple(
    column
    for name, (which, when) in _WAYS.items()
    for column in (
        count(name, f"Objects {which}, hard links once; null where a list lacks what says so."),
        size(f"{name}_bytes", f"Logical size, in the {when} scan, of the objects {which}, of the "
             "measured ones; null where none is, or the objects are not known."),
    )
)  # fmt: skip

_BEFORE_AND_AFTER: Final = (
    *(
        size(f"{name}_bytes", f"Logical size of the objects in the {which} scan, of the measured "
             "ones; null where none is.")
        for name, which in (("new", "later"), ("old", "earlier"))
    ),
    *(
        count(f"{name}_inodes", f"Objects in the {which} scan, hard links once; null where its "
              "list does not say which group objects are in, and that of the other does.")
        for name, which in (("new", "later"), ("old", "earlier"))
    ),
)  # fmt: skip

_REST: Final = (
    size("grown_bytes", "What the objects of both scans gained in size, less what they lost; with "
         "created and moved_in, less deleted and moved_out, it is the growth of the group; null "
         "where none is measured."),
    count("unmeasured", "Objects of which a scan that has them does not say the size: all bytes "
          "leave them out. Null where a list does not say which group objects are in."),
    text("old_scan", "The earlier scan: its time, in UTC, or the path of its list."),
    text("new_scan", "The later scan: its time, in UTC, or the path of its list."),
)  # fmt: skip

CHURN: Final = settings.view(
    "gpfs.churn", "views.changes.change",
    "What was created, deleted, modified, accessed, renamed and moved between two scans.",
    {
        "old": Setting("the earlier scan; the one before the other unless given", str),
        "new": settings.TO,
        **settings.PLACE,
    },
    columns.KEYS["top"], *_FLOWS, *_BEFORE_AND_AFTER, *_REST,
)  # fmt: skip

CHANGE: Final = settings.view(
    "gpfs.change", "views.changes.change",
    "Who and what grew between two scans, and by what was new, deleted, modified and "
    "moved; the most grown first.",
    {
        "by": settings.by("user", words=GROUPS),
        "from": settings.FROM,
        "to": settings.TO,
        "over": settings.OVER,
        "root": settings.ROOT,
        "top_depth": settings.DEEPER,
        **settings.PEOPLE,
    },
    *(columns.KEYS[name] for name in GROUPS),
    size("growth_bytes", "new_bytes minus old_bytes; null where either is not known."),
    amount("growth_percent", "growth_bytes in percent of old_bytes; null where that is not above "
           "0, or either is not known.", "%", ",.1f"),
    *_BEFORE_AND_AFTER,
    text("state", "new: the earlier scan had no objects of the group; gone: the later one has "
         "none; kept: both have some; null where a list does not say which group objects are in."),
    count("inodes_change", "new_inodes minus old_inodes; null where either is."),
    *_FLOWS,
    *_REST,
)  # fmt: skip

VIEWS: Final = (CHURN, CHANGE)
