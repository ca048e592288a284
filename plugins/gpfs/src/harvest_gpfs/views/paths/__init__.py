"""Views that list paths, and the checks of a scan.

What has no doc here is passed on from gpfs.file, whose columns explain it.
"""

from __future__ import annotations

from typing import Final

from harvest import Column, Setting, View
from harvest.toolkit.settings import one_of
from harvest_toolkit.columns import number, path, share, size

from .. import columns, settings

__all__ = ["VIEWS"]

_WHERE: Final = (path("origin"), number("position"))
_DETAILS: Final = (
    Column("user", doc="Owner's name by the passwd file given; null without one, or not in it."),
    number("uid"),
    size("allocated_bytes"),
    Column("pool"),
    Column("fileset"),
    Column("nlink"),
    number("gid"),
    number("inode"),
    *_WHERE,
    columns.SCAN,
)
"""Of views that list an object at its first path."""

_LARGEST: Final = (
    path("path"),
    size("size_bytes"),
    Column("modify_time"),
    Column("access_time"),
    *_DETAILS,
)

LARGEST: Final = View(
    name="gpfs.largest",
    doc="The objects of most bytes.",
    settings={"n": settings.N, "scan": settings.SCAN, "passwd": settings.PASSWD},
    requires=settings.REQUIRES,
    columns=_LARGEST,
    build="harvest_gpfs.views.paths.files:largest",
)

_OLDEST: Final = (
    path("path"),
    Column("modify_time"),
    Column("access_time"),
    Column("change_time"),
    Column("create_time"),
    size("size_bytes"),
    *_DETAILS,
)

OLDEST: Final = View(
    name="gpfs.oldest",
    doc="The objects that were modified, or accessed, longest ago.",
    settings={
        "n": settings.N,
        "by": Setting(
            "which time", str, "modify", one_of(("access", "modify", "change", "create"))
        ),
        "scan": settings.SCAN,
        "passwd": settings.PASSWD,
    },
    requires=settings.REQUIRES,
    columns=_OLDEST,
    build="harvest_gpfs.views.paths.files:oldest",
)

_NO_SIZES: Final = "; null in the one row of a list that says no sizes"

_DUPLICATES: Final = (
    Column("name", doc=f"Last component of the paths{_NO_SIZES}."),
    Column(
        "copies",
        doc=f"Objects other than directories with this name and size, hard links once{_NO_SIZES}.",
    ),
    size("size_bytes", f"Logical size of each of them{_NO_SIZES}."),
    size(
        "extra_bytes",
        f"What all but one of them hold, as contents are alike: (copies - 1) sizes{_NO_SIZES}.",
    ),
    path("first_path", f"First of their paths, by the order of bytes{_NO_SIZES}."),
    path(
        "last_path",
        f"Last of their paths, of each object the first, by the order of bytes{_NO_SIZES}.",
    ),
    Column(
        "all_names",
        doc="Pairs of name and size, at least the setting above, that several objects have, "
        f"shown or not; the same in each row{_NO_SIZES}.",
    ),
    Column(
        "all_extra_copies",
        doc=f"Sum of copies - 1 over all such pairs; the same in each row{_NO_SIZES}.",
    ),
    size(
        "all_extra_bytes",
        f"Sum of extra_bytes over all such pairs; the same in each row{_NO_SIZES}.",
    ),
    share(
        "extra_share",
        "all_extra_bytes as a share of the logical size of all objects but directories, of any "
        "size; null where that is 0 or not known.",
    ),
    columns.SCAN,
)

DUPLICATES: Final = View(
    name="gpfs.duplicates",
    doc="Files of one name and size in several directories: copies, perhaps.",
    settings={
        "above": Setting("bytes that a file has at least", str, "64M"),
        "n": settings.N,
        "scan": settings.SCAN,
    },
    requires=settings.REQUIRES,
    columns=_DUPLICATES,
    build="harvest_gpfs.views.paths.suspects:duplicates",
)

_CROWDED: Final = (
    path("directory", "Directory that the entries lie in directly."),
    Column("entries", doc="Paths listed directly in it; an object counts at each of its paths."),
    Column("files", doc="Entries that are files; null where the kind of none is known."),
    Column(
        "directories", doc="Entries that are directories; null where the kind of none is known."
    ),
    size(
        "size_bytes",
        "Logical size of the entries, at each of their paths, as far as it is known; null where "
        "it is of none.",
    ),
    columns.SCAN,
)

CROWDED: Final = View(
    name="gpfs.crowded",
    doc="Directories of very many entries, the most first.",
    settings={"least": settings.count("entries at least", 10_000), "scan": settings.SCAN},
    requires=settings.REQUIRES,
    columns=_CROWDED,
    build="harvest_gpfs.views.paths.suspects:crowded",
)

_ODD_NAMES: Final = (
    Column("oddities", doc="What is odd about the path; several kinds with commas."),
    path("path"),
    Column("kind"),
    size("size_bytes"),
    number("uid"),
    Column("path_raw"),
    number("inode"),
    *_WHERE,
    columns.SCAN,
)

ODD_NAMES: Final = View(
    name="gpfs.odd_names",
    doc="Paths that scripts stumble over, and why.",
    settings={"scan": settings.SCAN, "kinds": Setting("only these oddities", settings.WORDS)},
    requires=settings.REQUIRES,
    columns=_ODD_NAMES,
    build="harvest_gpfs.views.paths.quality:odd_names",
)

_SCAN_QUALITY: Final = (
    Column(
        "finding",
        doc="fact; gap, what the list does not say; or oddity, what cannot be right or is worth "
        "a look.",
    ),
    Column("check", doc="What was looked for."),
    Column(
        "count",
        doc="How many it was found of: rows, that is paths, or objects or lists where check "
        "says so; null where it is known of none, and the list lacks what it may be of.",
    ),
    Column("meaning", doc="What it means or leads to; empty where the check says all."),
    columns.SCAN,
)

SCAN_QUALITY: Final = View(
    name="gpfs.scan_quality",
    doc="What a list does not say, and what in it cannot be right.",
    settings={"scan": settings.SCAN, "now": settings.NOW},
    requires=settings.REQUIRES,
    columns=_SCAN_QUALITY,
    build="harvest_gpfs.views.paths.quality:scan_quality",
)

VIEWS: Final = (LARGEST, OLDEST, DUPLICATES, CROWDED, ODD_NAMES, SCAN_QUALITY)
