"""What scans can be grouped by, and what is counted and summed of groups: names and meanings.

How each is computed stands in ``aggregation``; nothing heavy is imported here.
"""

from __future__ import annotations

from typing import Final

DIRECTORY: Final = "directory"

HEAT_UNIT: Final = 1_000_000_000
"""Heat is summed in units of 1 / HEAT_UNIT."""

GROUPINGS: Final = {
    "uid": "Owner's number.",
    "gid": "Group's number.",
    "user": "Owner's name by the passwd file given; the number where it has none.",
    "group": "Group's name by the group file given; the number where it has none.",
    "top": "Top-level directory: the first directories below the root, one unless top_depth says "
    "more; the root itself for what lies directly in it, null outside of it.",
    DIRECTORY: "Each directory from the root down to depth, with all that lies below it; null "
    "outside of the root.",
    "fileset": "Fileset; null where the list does not show it.",
    "pool": "Storage pool.",
    "kind": "file, directory, symlink or other; null where nothing says.",
    "extension": "Last suffix of the name, in lower case; null without one and for directories.",
    "size_bin": "Class of logical size; null where it is not known.",
    "access_age": "Class of time since the last access; null where it is not known.",
    "modify_age": "Class of time since the last modification; null where it is not known.",
    "cold": "Whether neither access nor modification came within cold_days, 365 unless said "
    "otherwise; null where a time that is not known could be later.",
    "future": "Whether access or modification came more than future_days, one unless said "
    "otherwise, after the time that ages are counted from; null where a time that is not known "
    "could be.",
    "small": "Whether the logical size is below small_below, 64 KiB unless said otherwise; null "
    "where it is not known.",
}
"""What a group is by, by its name."""

METRICS: Final = {
    "paths": "Paths listed.",
    "inodes": "Objects, each once however many paths it has: at the first.",
    "files": "Objects that are files; null where the kind of none is known.",
    "directories": "Objects that are directories; null where the kind of none is known.",
    "symlinks": "Objects that are symbolic links; null where the kind of none is known.",
    "others": "Objects of another kind, such as sockets; null where the kind of none is known.",
    "unknown_kind": "Objects whose kind the list does not say.",
    "hard_links": "Further paths of objects that are counted at their first path, wherever that "
    "lies.",
    "size_bytes": "Logical size of the objects, as far as it is known; null where it is of none, "
    "and where it is more than 2^63 - 1.",
    "allocated_bytes": "Allocated size of the objects, as far as it is known; null where it is of "
    "none, and where it is more than 2^63 - 1.",
    "unknown_size": "Objects whose size the list does not say, or below zero.",
    "unknown_allocated": "Objects whose allocated size is not known, or below zero.",
    "with_heat": "Objects whose heat the list says, from 0 to 2^33.",
    "warm": "Objects with a heat above zero; null where the heat of none is known.",
    "warm_bytes": "Logical size of the objects with a heat above zero; null where heat and size "
    "are known of none.",
    "heat_units": f"Sum of the heat in units of 1/{HEAT_UNIT:,}, each object's cut to whole units; "
    "null where it is known of none.",
    "hottest": "Largest heat of any path; null where it is known of none.",
    "oldest_access_time": "Earliest last access of any path.",
    "newest_access_time": "Latest access of any path.",
    "oldest_modify_time": "Earliest last modification of any path.",
    "newest_modify_time": "Latest modification of any path.",
}
"""What is counted or summed of a group, by its name."""

DEFAULT: Final = ("inodes", "files", "directories", "hard_links", "size_bytes", "allocated_bytes")
"""The metrics of a result unless others are asked for."""

SIZES: Final = "4K,64K,1M,16M,256M,4G,64G,1T"
"""Upper ends of the classes of size unless others are given."""

AGES: Final = "7d,30d,90d,180d,1y,2y,5y"
"""Upper ends of the classes of age unless others are given."""
