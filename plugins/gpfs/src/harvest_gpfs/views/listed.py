"""Views that compare two scans, in which directories do not count, and those that list paths.

What has no doc here is passed on from gpfs.file, whose columns explain it.
"""

from __future__ import annotations

from typing import Final

from harvest import Setting
from harvest.columns import amount, count, number, passed_on, path, share, size, text
from harvest.toolkit.settings import one_of

from . import columns, settings

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
    "gpfs.churn", "views.change",
    "What was created, deleted, modified, accessed, renamed and moved between two scans.",
    {
        "old": Setting("the earlier scan; the one before the other unless given", str),
        "new": settings.TO,
        **settings.PLACE,
    },
    columns.KEYS["top"], *_FLOWS, *_BEFORE_AND_AFTER, *_REST,
)  # fmt: skip

CHANGE: Final = settings.view(
    "gpfs.change", "views.change",
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

CHANGES: Final = (CHURN, CHANGE)

_WHERE: Final = (path("origin"), number("position"))
_DETAILS: Final = (
    text("user", "Owner's name by the passwd file given; null without one, or not in it."),
    number("uid"),
    size("allocated_bytes"),
    *passed_on("pool", "fileset", "nlink"),
    number("gid"),
    *passed_on("inode"),
    *_WHERE,
    columns.SCAN,
)
"""Of views that list an object at its first path."""

LARGEST: Final = settings.view(
    "gpfs.largest", "views.paths",
    "The objects of most bytes.",
    {"n": settings.N, "scan": settings.SCAN, "passwd": settings.PASSWD},
    path("path"),
    size("size_bytes"),
    *passed_on("modify_time", "access_time"),
    *_DETAILS,
)  # fmt: skip

OLDEST: Final = settings.view(
    "gpfs.oldest", "views.paths",
    "The objects that were modified, or accessed, longest ago.",
    {
        "n": settings.N,
        "by": Setting(
            "which time", str, "modify", one_of(("access", "modify", "change", "create"))
        ),
        "scan": settings.SCAN,
        "passwd": settings.PASSWD,
    },
    path("path"),
    *passed_on("modify_time", "access_time", "change_time", "create_time"),
    size("size_bytes"),
    *_DETAILS,
)  # fmt: skip

_NO_SIZES: Final = "; null in the one row of a list that says no sizes"

DUPLICATES: Final = settings.view(
    "gpfs.duplicates", "views.paths",
    "Files of one name and size in several directories: copies, perhaps.",
    {
        "above": Setting("bytes that a file has at least", str, "64M"),
        "n": settings.N,
        "scan": settings.SCAN,
    },
    text("name", f"Last component of the paths{_NO_SIZES}."),
    count("copies", "Objects other than directories with this name and size, hard links "
          f"once{_NO_SIZES}."),
    size("size_bytes", f"Logical size of each of them{_NO_SIZES}."),
    size("extra_bytes", "What all but one of them hold, as contents are alike: (copies - 1) "
         f"sizes{_NO_SIZES}."),
    path("first_path", f"First of their paths, by the order of bytes{_NO_SIZES}."),
    path("last_path", "Last of their paths, of each object the first, by the order of "
         f"bytes{_NO_SIZES}."),
    count("all_names", "Pairs of name and size, at least the setting above, that several objects "
          f"have, shown or not; the same in each row{_NO_SIZES}."),
    count("all_extra_copies", "Sum of copies - 1 over all such pairs; the same in each "
          f"row{_NO_SIZES}."),
    size("all_extra_bytes", "Sum of extra_bytes over all such pairs; the same in each "
         f"row{_NO_SIZES}."),
    share("extra_share", "all_extra_bytes as a share of the logical size of all objects but "
          "directories, of any size; null where that is 0 or not known."),
    columns.SCAN,
)  # fmt: skip

CROWDED: Final = settings.view(
    "gpfs.crowded", "views.paths",
    "Directories of very many entries, the most first.",
    {"least": settings.count("entries at least", 10_000), "scan": settings.SCAN},
    path("directory", "Directory that the entries lie in directly."),
    count("entries", "Paths listed directly in it; an object counts at each of its paths."),
    count("files", "Entries that are files; null where the kind of none is known."),
    count("directories", "Entries that are directories; null where the kind of none is known."),
    size("size_bytes", "Logical size of the entries, at each of their paths, as far as it is "
         "known; null where it is of none."),
    columns.SCAN,
)  # fmt: skip

ODD_NAMES: Final = settings.view(
    "gpfs.odd_names", "views.paths",
    "Paths that scripts stumble over, and why.",
    {"scan": settings.SCAN, "kinds": Setting("only these oddities", settings.WORDS)},
    text("oddities", "What is odd about the path; several kinds with commas."),
    path("path"),
    *passed_on("kind"),
    size("size_bytes"),
    number("uid"),
    *passed_on("path_raw", "inode"),
    *_WHERE,
    columns.SCAN,
)  # fmt: skip

SCAN_QUALITY: Final = settings.view(
    "gpfs.scan_quality", "views.paths",
    "What a list does not say, and what in it cannot be right.",
    {**settings.TIMED},
    text("finding", "fact; gap, what the list does not say; or oddity, what cannot be right or is "
         "worth a look."),
    text("check", "What was looked for."),
    count("count", "How many it was found of: rows, that is paths, or objects or lists where check "
          "says so; null where it is known of none, and the list lacks what it may be of."),
    text("meaning", "What it means or leads to; empty where the check says all."),
    columns.SCAN,
)  # fmt: skip

PATHS: Final = (LARGEST, OLDEST, DUPLICATES, CROWDED, ODD_NAMES, SCAN_QUALITY)
