"""What could go of a file system and whose it is, and how long the space lasts.

What has no doc here is passed on from gpfs.file, whose columns explain it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from harvest import Column, ExporterSpec, Setting, View, hookimpl
from harvest.columns import amount, count, number, passed_on, path, share, size, text, time
from harvest.toolkit.settings import one_of, some_of

from ..views import columns
from ..views.settings import GROUPED, NOW, PASSWD, PEOPLE, SCAN, WORDS, by, view

harvest_api = 1

_KINDS: Final = ("file", "symlink", "other", "unknown")
"""What may be a candidate: never a directory."""

SETTINGS: Final = {
    "age": Setting("how old the time must be: 90d, 1y", str, "1y"),
    "time": Setting(
        "which time must be so old: access, modify, or both of them",
        str,
        "both",
        one_of(("both", "access", "modify")),
    ),
    "above": Setting("bytes that an object has at least: 64M", str, "0"),
    "owner": Setting("only objects of these owners: numbers, or names of passwd", WORDS, ()),
    "under": Setting("only objects in these directories, or below them", WORDS, ()),
    "only": Setting("only paths that one of these patterns fits, as those of exclude", WORDS, ()),
    "exclude": Setting(
        "no path of which a name fits one of these patterns: *.h5, keep, /data/ref*; * is any "
        "text, ? a character; what lies below a directory that fits is left out, too",
        WORDS,
        (),
    ),
    "kind": Setting(
        "what may go; unknown is what the list says no kind of", WORDS, ("file",), some_of(_KINDS)
    ),
    "pool": Setting("only objects in these storage pools", WORDS, ()),
    "scan": SCAN,
    "now": NOW,
    "passwd": PASSWD,
}
"""What chooses candidates."""

CANDIDATES: Final = view(
    "gpfs.candidates", "space.choose",
    "What could go by age, size, owner, place and kind, less what patterns exclude; each "
    "object once, the largest first.",
    SETTINGS,
    path("path", "First of its paths, by the order of bytes."),
    size("size_bytes"),
    text("user", "Owner's name by the passwd file given; null without one, or not in it."),
    *passed_on("access_time", "modify_time"),
    size("allocated_bytes"),
    number("uid"),
    count("paths", "Its paths that the list has: with several hard links, more than one."),
    *passed_on("nlink", "kind", "pool", "fileset"),
    number("gid"),
    *passed_on("inode", "generation", "path_raw"),
    path("origin"),
    number("position"),
    columns.NOW,
    columns.SCAN,
)  # fmt: skip

_ONCE: Final = "directories left out, hard links once"
_NULL: Final = "null where there is none and something is undecided"


def _part(prefix: str, which: str) -> tuple[Column, Column]:
    """How many objects are of a part of what an owner has, and their bytes."""
    return (
        count(f"{prefix}_inodes", f"{which}; {_NULL}."),
        size(f"{prefix}_size_bytes", f"Logical size of {prefix}_inodes, as far as it is known; "
             "null where it is of none, or these are not known."),
    )  # fmt: skip


OWNER_COLUMNS: Final = (
    text("user", "Owner's name by the passwd file given; the number where it has none, null where "
         "the list does not say it."),
    size("size_bytes", "Logical size of the candidates, as far as it is known; null where it is of "
         "none, or inodes is."),
    count("inodes", f"Candidates: objects that could go; {_ONCE}; {_NULL}."),
    size("allocated_bytes", "Allocated size of the candidates, as far as it is known; null where "
         "it is of none, or inodes is."),
    share("share", "size_bytes as a share of owner_size_bytes; null where that is 0 or either is "
          "not known."),
    time("last_touched", "Latest access or modification of a candidate; null without any."),
    number("uid", "Owner's number; null where the list does not say it."),
    *_part("linked", "Candidates with several paths, of which all must go to free the space"),
    *_part(
        "excluded", f"Objects that would be candidates, had they no path that exclude fits; {_ONCE}"
    ),
    *_part(
        "elsewhere",
        "Objects that would be candidates, did some of their hard links not lie elsewhere: outside "
        "of the place, excluded, or not in the list (nlink)",
    ),
    count("undecided_inodes", "Objects that may be candidates or not, for a time, size, kind, pool "
          f"or owner that the list does not say; {_ONCE}."),
    size("owner_size_bytes", "Logical size of all that the owner has, as far as it is known; "
         f"{_ONCE}; null where it is of none."),
    columns.NOW,
    columns.SCAN,
)  # fmt: skip

CANDIDATE_OWNERS: Final = view(
    "gpfs.candidate_owners", "space.choose",
    "What could go of each owner, and what a pattern, a hard link or a missing value keeps; "
    "the owner of most bytes first.",
    SETTINGS,
    *OWNER_COLUMNS,
)  # fmt: skip

_MEASURE: Final = Setting(
    "allocated or size: which bytes; allocated where every scan says them, else size, unless given",
    str,
    None,
    one_of(("allocated", "size")),
)
_USED: Final = size("used_bytes", "Bytes in the last scan, hard links once; null where it does not "
                    "say them.")  # fmt: skip
_OUTLOOK: Final = text("outlook", "When the limit is reached, by the trend, and how sure that is, "
                       "in words.")  # fmt: skip
_BYTES: Final = ("bytes", "bytes")
"""Unit and format of what grows."""

_TREND: Final = (
    time("full_time", "When the straight line through the scans reaches the limit; null where it "
         "does not rise, no limit is given, or fewer than two scans are there."),
    time("earliest_time", "Beginning of the time in which a scan would show it, 9 times of 10, if "
         "the trend stays; null with fewer than three scans, and where it is not reached."),
    time("latest_time", "End of that time; null, too, where it is not sure that the bytes grow at "
         "all."),
    amount("bytes_per_day", "Slope of the straight line (least squares); null with fewer than two "
           "scans.", *_BYTES),
    amount("least_per_day", "Lower end of the slopes, 9 of 10 (Student's t); null with fewer than "
           "three scans.", *_BYTES),
    amount("most_per_day", "Upper end of these slopes; null with fewer than three scans.", *_BYTES),
    count("scans", "How many scans say these bytes: what the line is through; null where none "
          "does."),
    text("first_scan", "The first of them; null where there is none."),
    text("last_scan", "The last of them; null where there is none."),
    text("measure", "Which bytes: allocated or size."),
)  # fmt: skip

FORECAST: Final = view(
    "gpfs.forecast", "space.outlook",
    "How fast a file system, or each group, grows over all scans, and when it reaches a "
    "capacity; from three scans on with how sure that is.",
    {
        "capacity": Setting("bytes there are: 20T; of each group, where there are groups", str),
        "by": by(),
        "measure": _MEASURE,
        **GROUPED,
    },
    *columns.KEYS.values(),
    _USED,
    _OUTLOOK,
    size("capacity_bytes", "The capacity given; null without."),
    share("used_share", "used_bytes as a share of it; null without."),
    *_TREND,
)  # fmt: skip

QUOTAS: Final = view(
    "gpfs.quotas", "space.outlook",
    "What is used of each quota of a file, and when it is reached by the trend over all "
    "scans; the fullest first.",
    {
        "quotas": Setting(
            "file of quotas: what mmrepquota -Y prints, or CSV with kind, name, soft, hard", Path
        ),
        "measure": _MEASURE,
        **PEOPLE,
    },
    text("kind", "user, group or fileset."),
    text("name", "Whose quota it is."),
    _USED,
    size("hard_bytes", "Hard limit of bytes; null without."),
    share("used_share", "used_bytes as a share of the hard limit, or else of the soft one; null "
          "where there is neither, or used_bytes is."),
    _OUTLOOK,
    size("soft_bytes", "Soft limit of bytes; null without."),
    text("fileset", "The fileset in which it is; null where it is of the file system."),
    count("used_inodes", "Objects in the last scan, hard links once; null where it does not say "
          "whose they are."),
    count("soft_inodes", "Soft limit of objects; null without."),
    count("hard_inodes", "Hard limit of objects; null without."),
    *_TREND,
)  # fmt: skip

FILES: Final = ExporterSpec(
    name="gpfs-candidates",
    doc="what could go: lists and mails for owners, a policy of mmapplypolicy; nothing is deleted",
    write="harvest_gpfs.space.files:write",
    settings={
        **SETTINGS,
        "by": Setting("until when owners are asked to look, in their words: 31 March", str),
        "contact": Setting("whom owners may ask", str),
        "mail_domain": Setting("where the users of passwd read mail: example.org", str),
    },
)


@hookimpl
def harvest_views() -> Iterable[View]:
    """What could go, and whose it is; how long the space lasts."""
    return (CANDIDATES, CANDIDATE_OWNERS, FORECAST, QUOTAS)


@hookimpl
def harvest_exporters() -> Iterable[ExporterSpec]:
    """What could go, as files for owners and for ``mmapplypolicy``."""
    return [FILES]
