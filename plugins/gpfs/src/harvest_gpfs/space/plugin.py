"""Plugin declarations: deletion candidates, their owners, and forecasts of the space.

Columns without a doc here have the one of gpfs.file.
"""

from pathlib import Path
from typing import Final

from harvest import Column, ExporterSpec, Setting, declare
from harvest.columns import amount, count, number, passed_on, path, share, size, text, time
from harvest.toolkit.settings import one_of, some_of

from ..views import columns
from ..views.settings import GROUPED, NOW, PASSWD, PEOPLE, SCAN, WORDS, by, view

_KINDS: Final = ("file", "symlink", "other", "unknown")
"""Kinds of candidates; directories are never candidates."""

SETTINGS: Final = {
    "age": Setting("least age of a candidate: 90d, 1y", str, "1y"),
    "time": Setting(
        "time that must be this old: access, modify, or both",
        str,
        "both",
        one_of(("both", "access", "modify")),
    ),
    "above": Setting("least size of an object: 64M", str, "0"),
    "owner": Setting("only objects of these owners: numbers, or names in passwd", WORDS, ()),
    "under": Setting("only objects in or below these directories", WORDS, ()),
    "only": Setting(
        "only paths that match one of these patterns, written like those of exclude", WORDS, ()
    ),
    "exclude": Setting(
        "no path with a name that matches one of these patterns: *.h5, keep, /data/ref*. * is any "
        "text, ? is a character; everything below a matching directory is excluded, too",
        WORDS,
        (),
    ),
    "kind": Setting(
        "kinds of candidates; unknown: not recorded", WORDS, ("file",), some_of(_KINDS)
    ),
    "pool": Setting("only objects in these storage pools", WORDS, ()),
    "scan": SCAN,
    "now": NOW,
    "passwd": PASSWD,
}
"""Settings that select candidates."""

CANDIDATES: Final = view(
    "gpfs.candidates", "space.choose",
    "Deletion candidates by age, size, owner, place and kind, without excluded patterns; each "
    "object once, the largest first.",
    SETTINGS,
    path("path", "Its first path in byte order."),
    size("size_bytes"),
    text("user", "Owner's name in the passwd file; null without a file, or not in it."),
    *passed_on("access_time", "modify_time"),
    size("allocated_bytes"),
    number("uid"),
    count("paths", "Its paths in the list: more than one with several hard links."),
    *passed_on("nlink", "kind", "pool", "fileset"),
    number("gid"),
    *passed_on("inode", "generation", "path_raw"),
    path("origin"),
    number("position"),
    columns.NOW,
    columns.SCAN,
)  # fmt: skip

_ONCE: Final = "without directories, hard links once"
_NULL: Final = "null where there is none and some are undecided"


def _part(prefix: str, which: str) -> tuple[Column, Column]:
    return (
        count(f"{prefix}_inodes", f"{which}; {_NULL}."),
        size(f"{prefix}_size_bytes", f"Logical size of {prefix}_inodes with a known size; null "
             "where all are unknown."),
    )  # fmt: skip


CANDIDATE_OWNERS: Final = view(
    "gpfs.candidate_owners", "space.choose",
    "Deletion candidates of each owner, and objects that a pattern, a hard link or a missing value "
    "keeps; largest first.",
    SETTINGS,
    text("user", "Owner's name in the passwd file; the number where it has none, null where it "
         "is not recorded."),
    size("size_bytes", "Logical size of the candidates with a known size; null where all are "
         "unknown, or inodes is null."),
    count("inodes", f"Deletion candidates, {_ONCE}; {_NULL}."),
    size("allocated_bytes", "Allocated size of the candidates with a known allocated size; null "
         "where all are unknown, or inodes is null."),
    share("share", "size_bytes as a share of owner_size_bytes; null where that is 0 or either is "
          "unknown."),
    time("last_touched", "Latest access or modification of a candidate; null without candidates."),
    number("uid", "Owner's number; null where the list does not say it."),
    *_part("linked", "Candidates with several paths; removing all of them frees the space"),
    *_part(
        "excluded", f"Objects that only a pattern of exclude keeps from being candidates, {_ONCE}"
    ),
    *_part(
        "elsewhere",
        "Objects that are not candidates because a hard link is elsewhere: outside the place, "
        "excluded, or not in the list (nlink)",
    ),
    count("undecided_inodes", "Objects without the time, size, kind, pool or owner that would "
          f"decide, {_ONCE}."),
    size("owner_size_bytes", "Logical size of the owner's objects with a known size, "
         f"{_ONCE}; null where all are unknown."),
    columns.NOW,
    columns.SCAN,
)  # fmt: skip

_MEASURE: Final = Setting(
    "bytes to use, allocated or size; default: allocated if every scan records them, else size",
    str,
    None,
    one_of(("allocated", "size")),
)
_USED: Final = size("used_bytes", "Bytes in the last scan, hard links once; null where they are "
                    "not recorded.")  # fmt: skip
_OUTLOOK: Final = text("outlook", "When the trend reaches the limit of bytes, in words, with its "
                       "uncertainty; before it, other limits that are reached.")  # fmt: skip
_BYTES: Final = ("bytes", "bytes")
"""Unit and format of growth."""

TREND: Final = (
    time("full_time", "When the straight line through the scans reaches the limit; null where it "
         "does not rise, without a limit, or with fewer than two scans."),
    time("earliest_time", "Start of the 90 % interval of that time; null with fewer than three "
         "scans, and where the limit is not reached."),
    time("latest_time", "End of that interval; also null where growth is not certain."),
    amount("bytes_per_day", "Slope of the straight line (least squares); null with fewer than two "
           "scans.", *_BYTES),
    amount("least_per_day", "Lower end of the 90 % interval of the slope (Student's t); null with "
           "fewer than three scans.", *_BYTES),
    amount("most_per_day", "Upper end of this interval; null with fewer than three scans.",
           *_BYTES),
    count("scans", "Scans that record these bytes, which the line goes through; null without "
          "any."),
    text("first_scan", "First of these scans; null without any."),
    text("last_scan", "Last of these scans; null without any."),
    text("measure", "Bytes used: allocated or size."),
)  # fmt: skip

FORECAST: Final = view(
    "gpfs.forecast", "space.outlook",
    "Growth of a file system or group over all scans, and when it reaches a capacity; with a 90 % "
    "interval from three scans on.",
    {
        "capacity": Setting("capacity in bytes, for example 20T; with groups, of each group", str),
        "by": by(),
        "measure": _MEASURE,
        **GROUPED,
    },
    *columns.KEYS.values(),
    _USED,
    _OUTLOOK,
    size("capacity_bytes", "The capacity given; null without one."),
    share("used_share", "used_bytes as a share of capacity_bytes; null without it."),
    *TREND,
)  # fmt: skip

QUOTAS: Final = view(
    "gpfs.quotas", "space.outlook",
    "Use of each quota in a file, and when the trend over all scans reaches it; the fullest first.",
    {
        "quotas": Setting(
            "file of quotas: output of mmrepquota -Y, or CSV with kind, name, soft, hard", Path
        ),
        "measure": _MEASURE,
        **PEOPLE,
    },
    text("kind", "user, group or fileset."),
    text("name", "Name of the user, group or fileset."),
    _USED,
    size("hard_bytes", "Hard limit of bytes; null without one."),
    share("used_share", "used_bytes as a share of the hard limit, or else of the soft limit; null "
          "without either, or where used_bytes is null."),
    _OUTLOOK,
    size("soft_bytes", "Soft limit of bytes; null without one."),
    text("fileset", "Fileset of the quota; null for a quota of the file system."),
    count("used_inodes", "Objects in the last scan, hard links once; null where their owner, group "
          "or fileset is not recorded."),
    count("soft_inodes", "Soft limit of objects; null without one."),
    count("hard_inodes", "Hard limit of objects; null without one."),
    *TREND,
)  # fmt: skip

FILES: Final = ExporterSpec(
    name="gpfs-candidates",
    doc="deletion candidates: lists and mails for owners, a policy; nothing is deleted",
    write="harvest_gpfs.space.files:write",
    settings={
        **SETTINGS,
        "by": Setting("deadline in the mails, as text: 31 March", str),
        "contact": Setting("contact for questions in the mails", str),
        "mail_domain": Setting("mail domain of the users in passwd: example.org", str),
    },
)

harvest_views = declare(CANDIDATES, CANDIDATE_OWNERS, FORECAST, QUOTAS)

harvest_exporters = declare(FILES)
