"""Declarations of views that compare two scans, without directories, or that list paths.

Columns without a doc here have the one of gpfs.file.
"""

from typing import Final

from harvest import Setting
from harvest.columns import amount, count, number, passed_on, path, share, size, text
from harvest.toolkit.settings import one_of

from . import columns, settings

GROUPS: Final = ("user", "group", "fileset", "pool", "top")
"""Groupings in views of changes."""

_WAYS: Final = {
    "created": ("only in the later scan", "later"),
    "deleted": ("only in the earlier scan", "earlier"),
    "modified": ("in both scans with another size or modification time", "later"),
    "renamed": ("in both scans with another path", "later"),
    "moved_in": ("in both scans that were in another group before", "earlier"),
    "moved_out": ("in both scans that are in another group now", "earlier"),
    "accessed": ("in both scans with another access time", "later"),
}
"""Kinds of changes: the objects that have each, and the scan that gives their size."""

_FLOWS: Final = tuple(
    column
    for name, (which, when) in _WAYS.items()
    for column in (
        count(name, f"Objects {which}, hard links once; null where a list lacks the values."),
        size(f"{name}_bytes", f"Logical size in the {when} scan of the measured objects {which}; "
             "null where there are none, or the objects are unknown."),
    )
)  # fmt: skip

_BEFORE_AND_AFTER: Final = (
    *(
        size(f"{name}_bytes", f"Logical size of the measured objects in the {which} scan; null "
             "where there are none.")
        for name, which in (("new", "later"), ("old", "earlier"))
    ),
    *(
        count(f"{name}_inodes", f"Objects in the {which} scan, hard links once; null where only "
              "the other scan records groups.")
        for name, which in (("new", "later"), ("old", "earlier"))
    ),
)  # fmt: skip

_REST: Final = (
    size("grown_bytes", "Growth in size of the objects in both scans. The growth of the group is "
         "this plus created and moved_in, minus deleted and moved_out. Null where none is "
         "measured."),
    count("unmeasured", "Objects without a recorded size in one of their scans; all bytes leave "
          "them out. Null where a list does not record groups."),
    text("old_scan", "The earlier scan: its time in UTC, or the path of its list."),
    text("new_scan", "The later scan: its time in UTC, or the path of its list."),
)  # fmt: skip

CHURN: Final = settings.view(
    "gpfs.churn", "views.change",
    "Objects created, deleted, modified, accessed, renamed and moved between two scans.",
    {
        "old": Setting("the earlier scan; default: the one before the later scan", str),
        "new": settings.TO,
        **settings.PLACE,
    },
    columns.KEYS["top"], *_FLOWS, *_BEFORE_AND_AFTER, *_REST,
)  # fmt: skip

CHANGE: Final = settings.view(
    "gpfs.change", "views.change",
    "Growth between two scans, and the new, deleted, modified and moved data behind it; largest "
    "growth first.",
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
    size("growth_bytes", "new_bytes minus old_bytes; null where either is unknown."),
    amount("growth_percent", "growth_bytes in percent of old_bytes; null where that is not above "
           "0, or either is unknown.", "%", ",.1f"),
    *_BEFORE_AND_AFTER,
    text("state", "new: the earlier scan has no objects of the group; gone: the later one has "
         "none; kept: both have some. Null where a list does not record groups."),
    count("inodes_change", "new_inodes minus old_inodes; null where either is unknown."),
    *_FLOWS,
    *_REST,
)  # fmt: skip

CHANGES: Final = (CHURN, CHANGE)

_WHERE: Final = (path("origin"), number("position"))
_DETAILS: Final = (
    text("user", "Owner's name in the passwd file; null without a file, or not in it."),
    number("uid"),
    size("allocated_bytes"),
    *passed_on("pool", "fileset", "nlink"),
    number("gid"),
    *passed_on("inode"),
    *_WHERE,
    columns.SCAN,
)
"""Columns of views that list each object at its first path."""

LARGEST: Final = settings.view(
    "gpfs.largest", "views.paths",
    "The largest objects.",
    {"n": settings.N, "scan": settings.SCAN, "passwd": settings.PASSWD},
    path("path"),
    size("size_bytes"),
    *passed_on("modify_time", "access_time"),
    *_DETAILS,
)  # fmt: skip

OLDEST: Final = settings.view(
    "gpfs.oldest", "views.paths",
    "The objects with the oldest modification or access.",
    {
        "n": settings.N,
        "by": Setting(
            "time to sort by", str, "modify", one_of(("access", "modify", "change", "create"))
        ),
        "scan": settings.SCAN,
        "passwd": settings.PASSWD,
    },
    path("path"),
    *passed_on("modify_time", "access_time", "change_time", "create_time"),
    size("size_bytes"),
    *_DETAILS,
)  # fmt: skip

_NO_SIZES: Final = "; null in the only row of a list without sizes"

DUPLICATES: Final = settings.view(
    "gpfs.duplicates", "views.paths",
    "Files of one name and size in several directories, which may be copies.",
    {
        "above": Setting("least size of a file", str, "64M"),
        "n": settings.N,
        "scan": settings.SCAN,
    },
    text("name", f"Last component of the paths{_NO_SIZES}."),
    count("copies", "Objects other than directories with this name and size, hard links "
          f"once{_NO_SIZES}."),
    size("size_bytes", f"Logical size of each of these objects{_NO_SIZES}."),
    size("extra_bytes", "Bytes of all but one of these objects: copies - 1 times "
         f"size_bytes{_NO_SIZES}."),
    path("first_path", f"First of their paths in byte order{_NO_SIZES}."),
    path("last_path", "Last of their paths in byte order, of each object its first "
         f"path{_NO_SIZES}."),
    count("all_names", "All pairs of name and size that several objects share, including rows not "
          f"shown; the same in each row{_NO_SIZES}."),
    count("all_extra_copies", "Sum of copies - 1 over all these pairs; the same in each "
          f"row{_NO_SIZES}."),
    size("all_extra_bytes", "Sum of extra_bytes over all these pairs; the same in each "
         f"row{_NO_SIZES}."),
    share("extra_share", "all_extra_bytes as a share of the logical size of all objects except "
          "directories; null where that is 0 or unknown."),
    columns.SCAN,
)  # fmt: skip

CROWDED: Final = settings.view(
    "gpfs.crowded", "views.paths",
    "Directories with very many entries, the largest first.",
    {"least": settings.count("least number of entries", 10_000), "scan": settings.SCAN},
    path("directory", "Directory that contains the entries directly."),
    count("entries", "Paths directly in it; an object counts at each of its paths."),
    count("files", "Entries that are files; null where all kinds are unknown."),
    count("directories", "Entries that are directories; null where all kinds are unknown."),
    size("size_bytes", "Logical size of the entries with a known size, at each of their paths; "
         "null where all are unknown."),
    columns.SCAN,
)  # fmt: skip

ODD_NAMES: Final = settings.view(
    "gpfs.odd_names", "views.paths",
    "Paths that break scripts, and why.",
    {"scan": settings.SCAN, "kinds": Setting("only these kinds of oddities", settings.WORDS)},
    text("oddities", "Kinds of oddities of the path, separated by commas."),
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
    "Missing, odd and impossible values in a list.",
    {**settings.TIMED},
    text("finding", "fact; gap, a missing value; or oddity, an impossible value or one to check."),
    text("check", "Name of the check."),
    count("count", "Rows, which are paths, that the check found; objects or lists where check says "
          "so. Null where values are missing and it found none."),
    text("meaning", "Meaning or consequence; empty where the name says all."),
    columns.SCAN,
)  # fmt: skip

PATHS: Final = (LARGEST, OLDEST, DUPLICATES, CROWDED, ODD_NAMES, SCAN_QUALITY)
