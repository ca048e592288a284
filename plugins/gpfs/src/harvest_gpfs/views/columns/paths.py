"""Columns of the views that list paths, and of the checks of a scan.

What has no doc here is passed on from gpfs.file, whose columns explain it.
"""

from __future__ import annotations

from typing import Final

from harvest import Column

from .shared import SCAN, number_of_bytes, share

__all__ = ["CROWDED", "DUPLICATES", "LARGEST", "ODD_NAMES", "OLDEST", "SCAN_QUALITY"]

_PATH: Final = Column("path", format="path")
_SIZE: Final = Column("size_bytes", unit="bytes", format="bytes")
_UID: Final = Column("uid", format="d")
_WHERE: Final = (Column("origin", format="path"), Column("position", format="d"))

LARGEST: Final = (
    _PATH,
    _SIZE,
    Column("modify_time"),
    Column("access_time"),
    Column("user", doc="Owner's name by the passwd file given; null without one, or not in it."),
    _UID,
    Column("allocated_bytes", unit="bytes", format="bytes"),
    Column("pool"),
    Column("fileset"),
    Column("nlink"),
    Column("gid", format="d"),
    Column("inode", format="d"),
    *_WHERE,
    SCAN,
)
"""Of the view gpfs.largest, which lists an object at its first path."""

OLDEST: Final = (
    _PATH,
    Column("modify_time"),
    Column("access_time"),
    Column("change_time"),
    Column("create_time"),
    *(column for column in LARGEST if column.name not in ("path", "modify_time", "access_time")),
)

ODD_NAMES: Final = (
    Column("oddities", doc="What is odd about the path; several kinds with commas."),
    _PATH,
    Column("kind"),
    _SIZE,
    _UID,
    Column("path_raw"),
    Column("inode", format="d"),
    *_WHERE,
    SCAN,
)

_NO_SIZES: Final = "; null in the one row of a list that says no sizes"

DUPLICATES: Final = (
    Column("name", doc=f"Last component of the paths{_NO_SIZES}."),
    Column(
        "copies",
        doc=f"Objects other than directories with this name and size, hard links once{_NO_SIZES}.",
    ),
    number_of_bytes("size_bytes", f"Logical size of each of them{_NO_SIZES}."),
    number_of_bytes(
        "extra_bytes",
        f"What all but one of them hold, as contents are alike: (copies - 1) sizes{_NO_SIZES}.",
    ),
    Column(
        "first_path", format="path", doc=f"First of their paths, by the order of bytes{_NO_SIZES}."
    ),
    Column(
        "last_path",
        format="path",
        doc=f"Last of their paths, of each object the first, by the order of bytes{_NO_SIZES}.",
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
    number_of_bytes(
        "all_extra_bytes",
        f"Sum of extra_bytes over all such pairs; the same in each row{_NO_SIZES}.",
    ),
    share(
        "extra_share",
        "all_extra_bytes as a share of the logical size of all objects but directories, of any "
        "size; null where that is 0 or not known.",
    ),
    SCAN,
)

CROWDED: Final = (
    Column("directory", format="path", doc="Directory that the entries lie in directly."),
    Column("entries", doc="Paths listed directly in it; an object counts at each of its paths."),
    Column("files", doc="Entries that are files; null where the kind of none is known."),
    Column(
        "directories", doc="Entries that are directories; null where the kind of none is known."
    ),
    number_of_bytes(
        "size_bytes",
        "Logical size of the entries, at each of their paths, as far as it is known; null where "
        "it is of none.",
    ),
    SCAN,
)

SCAN_QUALITY: Final = (
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
    SCAN,
)
