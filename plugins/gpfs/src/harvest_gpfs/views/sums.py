"""Declarations of views of space by owner and place, and of the age and size of objects."""

from typing import Final

import attrs

from harvest import Column, Setting
from harvest.columns import amount, count, flag, number, share, size, text, time

from .. import measures
from ..measures import DIRECTORY
from . import columns, settings

USAGE: Final = settings.view(
    "gpfs.usage", "views.usage",
    "Bytes, objects and hard links by owner, directory, fileset or pool, largest first.",
    {
        "by": settings.by("uid"),
        "metrics": settings.MEASURES,
        "scan": settings.SCAN,
        **settings.PLACE,
        "now": settings.NOW,
        **settings.PEOPLE,
    },
    *columns.KEYS.values(), *columns.METRICS_BY_SIZE, columns.SCAN,
)  # fmt: skip

DIRECTORIES: Final = settings.view(
    "gpfs.directories", "views.usage",
    "Each directory down to a depth with everything below it, as du counts.",
    {
        "depth": settings.count("depth below the root", 2, 0),
        "metrics": settings.MEASURES,
        "scan": settings.SCAN,
        "root": settings.ROOT,
    },
    *columns.DIRECTORIES, *columns.METRICS_BY_SIZE, columns.SCAN,
)  # fmt: skip

GROWTH: Final = settings.view(
    "gpfs.growth", "views.usage",
    "Sums of every scan, the newest first, and changes since the previous scan.",
    {"by": settings.by(words=(*settings.WITHIN, DIRECTORY)), **settings.GROUPED},
    text("scan", "The scan: its time in UTC, or the path of a list without a time."),
    *columns.KEYS.values(),
    *columns.DIRECTORIES,
    columns.metric("size_bytes"),
    size("size_change_bytes", "Logical size minus that in the previous scan, in which a missing "
         "group counts as 0. Null for the first scan, for a list without a time, and where one of "
         "both has no groups or sizes."),
    columns.metric("inodes"),
    count("inodes_change", "Objects minus those in the previous scan, in which a missing group "
          "counts as 0. Null for the first scan, for a list without a time, and where one of both "
          "has no groups."),
    text("since", "The previous scan, which changes compare with; in brackets why there is none."),
    columns.metric("allocated_bytes"),
    columns.metric("files"),
    columns.metric("directories"),
    time("scan_time", "When the scan was made, in UTC; null where it is not recorded."),
)  # fmt: skip

_COLD: Final = (
    f"neither accessed nor modified within the setting cold; {columns.UNDECIDED}, or the scan has "
    "no time"
)
_SMALL: Final = f"whose logical size is below the setting below; {columns.UNDECIDED}"

_OWNERS_KNOWN: Final = (
    count("cold_known_inodes", "Objects with known size, kind and times; null where there are "
          "none, or the scan has no time."),
    size("cold_known_bytes", "Logical size of the objects in cold_known_inodes; null where there "
         "are none."),
    count("small_known_inodes", "Objects other than directories with a known size; null where "
          "there are none."),
    count("future_known_inodes", "Objects other than directories with known times; null where "
          "there are none, or the scan has no time."),
)  # fmt: skip
"""Columns of the denominators of shares."""

OWNERS: Final = settings.view(
    "gpfs.owners", "views.usage",
    "A row per owner: the data, and how much of them is cold, small or dated in the future.",
    {
        "cold": settings.COLD,
        "below": settings.SMALL,
        **settings.TIMED,
        "passwd": settings.PASSWD,
        "to": Setting("the same as scan, under its name in gpfs.change", str),
    },
    number("uid", "Owner's number; null where it is not recorded."),
    text("user", "Owner's name in the passwd file; the number as text where it has none."),
    flag("unknown", "Whether the passwd file lacks the owner; null without a passwd file, and for "
         "objects without a recorded owner."),
    columns.metric("inodes"),
    count("files", "Objects of the owner that are files; null where all kinds are unknown."),
    size("size_bytes", "Logical size of the owner's objects with a known size, including "
         "directories; null where all are unknown."),
    columns.metric("allocated_bytes"),
    share("share", "size_bytes as a share of all_bytes; null where that is 0 or size_bytes "
          "unknown."),
    count("data_inodes", "Objects of the owner other than directories, each once; null where all "
          "kinds are unknown."),
    size("data_bytes", "Logical size of the objects other than directories with a known size; "
         "null where all sizes or kinds are unknown."),
    *(
        column
        for part, meaning in (("cold", _COLD), ("small", _SMALL))
        for column in (
            count(f"{part}_inodes", f"Objects other than directories {meaning}."),
            size(f"{part}_size_bytes", "Logical size of the objects other than directories "
                 f"{meaning}."),
            size(f"{part}_allocated_bytes", "Allocated size of the objects other than directories "
                 f"{meaning}."),
        )
    ),
    share("cold_share", "cold_size_bytes as a share of cold_known_bytes; null where that is 0 or "
          "either is unknown."),
    share("small_share", "small_inodes as a share of small_known_inodes; null where there are "
          "none."),
    count("future_inodes", "Objects other than directories that were accessed or modified more "
          f"than a day after now; {columns.UNDECIDED}, or now is null."),
    *_OWNERS_KNOWN,
    size("all_bytes", "size_bytes of all owners, the same in each row; null where there are none."),
    *(
        attrs.evolve(
            column,
            name=f"all_{column.name}",
            doc=f"{column.name} of all owners, the same in each row; null where it is unknown for "
            "some and 0 for the others.",
        )
        for column in (count("data_inodes"), size("data_bytes"), *_OWNERS_KNOWN)
    ),
    text("now", "Ages count from this time, in UTC: that of the scan, or the one given; null where "
         "neither is known."),
    count("cold_days", "Days without access and modification from which data are cold."),
    size("small_below", "Logical size below which a file is small."),
    columns.SCAN,
    first=("user", "size_bytes", "share", "files", "cold_share", "small_share", "unknown"),
)  # fmt: skip

HEAT: Final = settings.view(
    "gpfs.heat", "views.usage",
    "File heat in each pool, as the policy engine reports it; most warm bytes first.",
    {"by": settings.by("pool"), "scan": settings.SCAN},
    *columns.KEYS.values(),
    columns.metric("warm_bytes"),
    columns.metric("warm"),
    columns.DATA["size_bytes"],
    columns.DATA["inodes"],
    amount("mean_heat", "Mean heat of the objects with a recorded heat, exact to a billionth; null "
           "where there are none."),
    columns.metric("hottest"),
    columns.metric("with_heat"),
    columns.SCAN,
)  # fmt: skip

EXTENSIONS: Final = settings.view(
    "gpfs.extensions", "views.usage",
    "Objects and bytes by suffix of the name.",
    {"scan": settings.SCAN},
    columns.KEYS["extension"], *columns.DATA.values(), columns.SCAN,
)  # fmt: skip

USES: Final = (USAGE, DIRECTORIES, GROWTH, OWNERS, HEAT, EXTENSIONS)

_IN_CLASS: Final = {
    name: attrs.evolve(
        column,
        doc=f"{str(column.doc).removesuffix('.')}, or the class of all objects is unknown.",
    )
    for name, column in columns.DATA.items()
}


def _bytes(name: str, what: str) -> Column:
    """Declare the column of bytes of a part that also has a count."""
    part = name.partition("_")[0]
    return size(name, f"{what} with a known size; null where all are unknown, or {part}_inodes is "
                "null.")  # fmt: skip


def _exact(name: str, doc: str) -> Column:
    return attrs.evolve(size(name, doc), format=",d")


def _of_known(prefix: str) -> Column:
    """Declare a part's bytes as a share of the bytes for which membership is known."""
    return share(f"{prefix}_share", f"{prefix}_size_bytes as a share of known_size_bytes; null "
                 "where that is 0 or either is unknown.")  # fmt: skip


POLICY: Final = settings.view(
    "gpfs.policy", "views.usage",
    "What a policy of N days would free, by access time, modification time or both; largest "
    "groups first.",
    {"policy": settings.POLICY, "by": settings.by(), **settings.TIMED, **settings.GROUPED},
    *columns.keys_without("access_age", "modify_age"),
    count("days", "Age limit of the policy; older objects would be freed.", "d"),
    text("time", "Time that must be older than days: access, modify, or both."),
    _bytes("freed_size_bytes", "Logical size of the objects that would be freed"),
    _of_known("freed"),
    count("freed_inodes", "Objects that would be freed, without directories, hard links once; "
          f"{columns.UNDECIDED}."),
    _bytes("freed_allocated_bytes", "Allocated size of the objects that would be freed"),
    *columns.DATA.values(),
    *columns.KNOWN.values(),
    count("untimed", "Objects whose times are not recorded; shares leave them out."),
    columns.NOW,
    columns.SCAN,
)  # fmt: skip

AGES: Final = settings.view(
    "gpfs.ages", "views.usage",
    "Objects by time since last access and last modification, in classes.",
    {"ages": Setting("upper ends of the classes", str, measures.AGES), **settings.TIMED},
    text("time", "access or modify: the time whose age it is; each object counts once for each."),
    text("age", "Class of age; null for objects whose time is not recorded."),
    *_IN_CLASS.values(),
    count("above_days", "Lower end of the class in days, exclusive; null for the class in the "
          "future and for unknown ages.", "d"),
    count("up_to_days", "Upper end of the class in days, inclusive; null for the oldest class and "
          "for unknown ages.", "d"),
    columns.NOW,
    columns.SCAN,
)  # fmt: skip

SIZES: Final = settings.view(
    "gpfs.sizes", "views.usage",
    "Objects by size, in classes.",
    {"sizes": Setting("upper ends of the classes", str, measures.SIZES), "scan": settings.SCAN},
    text("size", "Class of logical size; null for objects whose size is not recorded."),
    *(_IN_CLASS[name] for name in ("inodes", "size_bytes", "allocated_bytes")),
    _exact("above_bytes", "Lower end of the class, exclusive, but 0 for the class of empty "
           "objects; null for unknown sizes."),
    _exact("up_to_bytes", "Upper end of the class, inclusive; null for the largest class and for "
           "unknown sizes."),
    columns.SCAN,
)  # fmt: skip

COLD: Final = settings.view(
    "gpfs.cold", "views.usage",
    "Data neither accessed nor modified for the setting age, by group.",
    {
        "by": settings.by("top"),
        "age": Setting("age from which data are cold: 90d, 1y", str, "1y"),
        **settings.TIMED,
        **settings.GROUPED,
    },
    *columns.keys_without("cold"),
    _bytes("cold_size_bytes", "Logical size of the cold objects"),
    _of_known("cold"),
    count("cold_inodes", "Objects neither accessed nor modified for the setting age, without "
          f"directories, hard links once; {columns.UNDECIDED}."),
    *columns.DATA.values(),
    *columns.KNOWN.values(),
    _bytes("cold_allocated_bytes", "Allocated size of the cold objects"),
    count("untimed", "Objects whose times are not recorded, so cold or not; shares leave them "
          "out."),
    columns.NOW,
    columns.SCAN,
)  # fmt: skip

SMALL: Final = settings.view(
    "gpfs.small", "views.usage",
    "Number and size of small objects, by group.",
    {"by": settings.by("top"), "below": settings.SMALL, "scan": settings.SCAN, **settings.GROUPED},
    *columns.keys_without("small"),
    count("small_inodes", "Objects whose logical size is below the setting below, without "
          f"directories, hard links once; {columns.UNDECIDED}."),
    share("small_share", "small_inodes as a share of known_inodes; null where there are none."),
    size("small_allocated_bytes", "Allocated size of the small objects with a known allocated "
         "size; null where all are unknown."),
    size("small_size_bytes", "Logical size of the small objects; null where small_inodes is."),
    *(columns.DATA[name] for name in ("inodes", "size_bytes", "allocated_bytes")),
    columns.KNOWN["inodes"],
    columns.SCAN,
)  # fmt: skip

CLASSES: Final = (POLICY, AGES, SIZES, COLD, SMALL)
