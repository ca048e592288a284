"""Names and descriptions of groupings of scans, and of metrics of groups.

``aggregation`` computes them. This module imports nothing large.
"""

from typing import Final

DIRECTORY: Final = "directory"

HEAT_UNIT: Final = 1_000_000_000
"""Number of heat units in a heat of 1; heat is summed in these units."""

GROUPINGS: Final = {
    "uid": "Owner's number.",
    "gid": "Group's number.",
    "user": "Owner's name by the passwd file given; the number where it has none.",
    "group": "Group's name by the group file given; the number where it has none.",
    "top": "Top-level directory: the first directory below the root, or more (top_depth). The root "
    "itself for objects directly in it; null outside the root.",
    DIRECTORY: "Each directory from the root down to depth, with everything below it; null outside "
    "the root.",
    "fileset": "Fileset; null where the list does not record it.",
    "pool": "Storage pool.",
    "kind": "file, directory, symlink or other; null where it is not recorded.",
    "extension": "Last suffix of the name, in lower case; null without one and for directories.",
    "size_bin": "Class of logical size; null where it is unknown.",
    "access_age": "Class of time since the last access; null where it is unknown.",
    "modify_age": "Class of time since the last modification; null where it is unknown.",
    "cold": "Whether neither access nor modification is within cold_days (365 by default); null "
    "where an unknown time could be later.",
    "future": "Whether access or modification is more than future_days (1 by default) after now; "
    "null where an unknown time could be.",
    "small": "Whether the logical size is below small_below (64 KiB by default); null where it is "
    "unknown.",
}
"""Descriptions of groupings by name."""

METRICS: Final = {
    "paths": "Paths listed.",
    "inodes": "Objects, each counted once at its first path.",
    "files": "Objects that are files; null where all kinds are unknown.",
    "directories": "Objects that are directories; null where all kinds are unknown.",
    "symlinks": "Objects that are symbolic links; null where all kinds are unknown.",
    "others": "Objects of another kind, for example sockets; null where all kinds are unknown.",
    "unknown_kind": "Objects whose kind is not recorded.",
    "hard_links": "Extra paths of objects, which count at their first path only.",
    "size_bytes": "Logical size of the objects with a known size; null where all sizes are "
    "unknown, or above 2^63 - 1.",
    "allocated_bytes": "Allocated size of the objects with a known allocated size; null where all "
    "are unknown, or above 2^63 - 1.",
    "unknown_size": "Objects whose size is not recorded, or below 0.",
    "unknown_allocated": "Objects whose allocated size is not recorded, or below 0.",
    "with_heat": "Objects with a recorded heat, from 0 to 2^33.",
    "warm": "Objects with a heat above 0; null where all heats are unknown.",
    "warm_bytes": "Logical size of the objects with a heat above 0; null where heat or size is "
    "unknown for all.",
    "heat_units": f"Sum of the heat in units of 1/{HEAT_UNIT:,}, each object's cut to whole units; "
    "null where all heats are unknown.",
    "hottest": "Largest heat of any path; null where all heats are unknown.",
    "oldest_access_time": "Earliest last access of any path.",
    "newest_access_time": "Latest access of any path.",
    "oldest_modify_time": "Earliest last modification of any path.",
    "newest_modify_time": "Latest modification of any path.",
}
"""Descriptions of metrics by name."""

DEFAULT: Final = ("inodes", "files", "directories", "hard_links", "size_bytes", "allocated_bytes")
"""Default metrics of a result."""

SIZES: Final = "4K,64K,1M,16M,256M,4G,64G,1T"
"""Upper limits of the default size classes."""

AGES: Final = "7d,30d,90d,180d,1y,2y,5y"
"""Upper limits of the default age classes."""
