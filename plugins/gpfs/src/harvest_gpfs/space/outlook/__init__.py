"""Views of how long the space lasts: trends over the scans, up to a capacity or to quotas."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from harvest import Setting
from harvest.columns import amount, count, share, size, text, time
from harvest.toolkit.settings import one_of

from ...views import columns
from ...views.settings import GROUPED, PEOPLE, by, view

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
    "gpfs.forecast", "space.outlook.quotas",
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
    "gpfs.quotas", "space.outlook.quotas",
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

VIEWS: Final = (FORECAST, QUOTAS)
