"""Views of who and what uses the space and where, of how old and how large objects are."""

from __future__ import annotations

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
    "Each directory down to a depth with all that lies below it, as du counts.",
    {
        "depth": settings.count("how many directories below the root", 2, 0),
        "metrics": settings.MEASURES,
        "scan": settings.SCAN,
        "root": settings.ROOT,
    },
    *columns.DIRECTORIES, *columns.METRICS_BY_SIZE, columns.SCAN,
)  # fmt: skip

GROWTH: Final = settings.view(
    "gpfs.growth", "views.usage",
    "Sums of every scan, the newest first, and what changed since the one before.",
    {"by": settings.by(words=(*settings.WITHIN, DIRECTORY)), **settings.GROUPED},
    text("scan", "The scan that the row sums up: its time, in UTC, or the path of a list that does "
         "not say it."),
    *columns.KEYS.values(),
    *columns.DIRECTORIES,
    columns.metric("size_bytes"),
    size("size_change_bytes", "Logical size minus that in the scan before, where a group that it "
         "did not have counts as 0; null for the first scan, for a list without a time, and where "
         "one of both does not say the groups or the size."),
    columns.metric("inodes"),
    count("inodes_change", "Objects minus those in the scan before, where a group that it did not "
          "have counts as 0; null for the first scan, for a list without a time, and where one of "
          "both does not say the groups."),
    text("since", "The scan before, which changes are counted from; in brackets why there is "
         "none."),
    columns.metric("allocated_bytes"),
    columns.metric("files"),
    columns.metric("directories"),
    time("scan_time", "When the scan was made, in UTC; null where the list does not say."),
)  # fmt: skip

_COLD: Final = (
    f"neither accessed nor modified within the setting cold; {columns.UNDECIDED}, and where "
    "nothing says when the scan was made"
)
_SMALL: Final = f"whose logical size is below the setting below; {columns.UNDECIDED}"

_OWNERS_KNOWN: Final = (
    count("cold_known_inodes", "Objects of which size and kind are known, and whether they are "
          "cold; null where that is none, and where nothing says when the scan was made."),
    size("cold_known_bytes", "Logical size of the objects in cold_known_inodes; null where none "
         "is."),
    count("small_known_inodes", "Objects other than directories whose size is known; null where "
          "that is none."),
    count("future_known_inodes", "Objects other than directories of which it is known whether "
          "their times lie in the future; null where that is none, and where nothing says when the "
          "scan was made."),
)  # fmt: skip
"""What is known of the parts: what shares are of."""

OWNER_COLUMNS: Final = (
    number("uid", "Owner's number; null where the list does not say it."),
    text("user", "Owner's name by the passwd file given; the number as text where it has none."),
    flag("unknown", "Whether the passwd file given lacks the owner; null where none is given, and "
         "for objects whose owner the list does not say."),
    columns.metric("inodes"),
    count("files", "Objects of the owner that are files; null where the kind of none is known."),
    size("size_bytes", "Logical size of all objects of the owner, directories too, as far as it is "
         "known; null where it is of none."),
    columns.metric("allocated_bytes"),
    share("share", "size_bytes as a share of all_bytes; null where that is 0 or size_bytes not "
          "known."),
    count("data_inodes", "Objects of the owner other than directories, each once; null where the "
          "kind of none is known."),
    size("data_bytes", "Logical size of the objects other than directories, as far as it is known; "
         "null where it is of none, or no kind is."),
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
          "either is not known."),
    share("small_share", "small_inodes as a share of small_known_inodes; null where there are "
          "none."),
    count("future_inodes", "Objects other than directories that were accessed or modified more "
          f"than a day after the time in now; {columns.UNDECIDED}, and where now is null."),
    *_OWNERS_KNOWN,
    size("all_bytes", "size_bytes of all owners together, the same in each row; null without any."),
    *(
        attrs.evolve(
            column,
            name=f"all_{column.name}",
            doc=f"{column.name} of all owners together, the same in each row; null without any, "
            "and where it is not known of some and 0 of the others.",
        )
        for column in (count("data_inodes"), size("data_bytes"), *_OWNERS_KNOWN)
    ),
    text("now", "What ages are counted from, in UTC: the time of the scan, or the one given; null "
         "where neither is known."),
    count("cold_days", "Days without access and modification from which data are cold."),
    size("small_below", "Logical size below which a file is small."),
    columns.SCAN,
)  # fmt: skip

OWNERS: Final = settings.view(
    "gpfs.owners", "views.usage",
    "A row per owner: what it has, and how much of that is cold, small or of the future.",
    {
        "cold": settings.COLD,
        "below": settings.SMALL,
        **settings.TIMED,
        "passwd": settings.PASSWD,
        "to": Setting("the same as scan, by the word of gpfs.change", str),
    },
    *OWNER_COLUMNS,
    first=("user", "size_bytes", "share", "files", "cold_share", "small_share", "unknown"),
)  # fmt: skip

HEAT: Final = settings.view(
    "gpfs.heat", "views.usage",
    "How warm the files of each pool are, as the policy engine reports it; most warm bytes "
    "first.",
    {"by": settings.by("pool"), "scan": settings.SCAN},
    *columns.KEYS.values(),
    columns.metric("warm_bytes"),
    columns.metric("warm"),
    columns.DATA["size_bytes"],
    columns.DATA["inodes"],
    amount("mean_heat", "Mean heat of the objects whose heat is known, exact to a billionth; null "
           "where it is known of none."),
    columns.metric("hottest"),
    columns.metric("with_heat"),
    columns.SCAN,
)  # fmt: skip

EXTENSIONS: Final = settings.view(
    "gpfs.extensions", "views.usage",
    "Objects and bytes by the suffix of their names.",
    {"scan": settings.SCAN},
    columns.KEYS["extension"], *columns.DATA.values(), columns.SCAN,
)  # fmt: skip

USES: Final = (USAGE, DIRECTORIES, GROWTH, OWNERS, HEAT, EXTENSIONS)

_IN_CLASS: Final = {
    name: attrs.evolve(
        column,
        doc=f"{str(column.doc).removesuffix('.')}; null, too, where the list puts no object into a "
        "class.",
    )
    for name, column in columns.DATA.items()
}


def _bytes(name: str, what: str) -> Column:
    """Bytes of the objects of a part, which are counted, too."""
    part = name.partition("_")[0]
    return size(name, f"{what}, as far as it is known; null where it is of none, or {part}_inodes "
                "is.")  # fmt: skip


def _exact(name: str, doc: str) -> Column:
    return attrs.evolve(size(name, doc), format=",d")


def _of_known(prefix: str) -> Column:
    """The bytes of a part as a share of what is known to be in it or not."""
    return share(f"{prefix}_share", f"{prefix}_size_bytes as a share of known_size_bytes; null "
                 "where that is 0 or either is not known.")  # fmt: skip


POLICY: Final = settings.view(
    "gpfs.policy", "views.usage",
    "What a policy of so many days would free, by time of access, of modification, both; "
    "of each the groups of most bytes first.",
    {"policy": settings.POLICY, "by": settings.by(), **settings.TIMED, **settings.GROUPED},
    *columns.keys_without("access_age", "modify_age"),
    count("days", "The limit that is tried: what is older would be freed.", "d"),
    text("time", "What must be older than days: the last access, the last modification, or both."),
    _bytes("freed_size_bytes", "Logical size of the objects that would be freed"),
    _of_known("freed"),
    count("freed_inodes", "Objects that would be freed; directories left out, hard links once; "
          f"{columns.UNDECIDED}."),
    _bytes("freed_allocated_bytes", "Allocated size of the objects that would be freed"),
    *columns.DATA.values(),
    *columns.KNOWN.values(),
    count("untimed", "Objects of which it is not known whether they are older, for a time that the "
          "list does not say; shares leave them out."),
    columns.NOW,
    columns.SCAN,
)  # fmt: skip

AGES: Final = settings.view(
    "gpfs.ages", "views.usage",
    "How long ago objects were accessed and modified, in classes.",
    {"ages": Setting("upper ends of the classes", str, measures.AGES), **settings.TIMED},
    text("time", "access or modify: which time the age is counted from; each object is in a class "
         "of either."),
    text("age", "Class of age; null for objects whose time the list does not say."),
    *_IN_CLASS.values(),
    count("above_days", "How many days old the class begins, the limit left out; null for the "
          "class in the future and for unknown ages.", "d"),
    count("up_to_days", "How many days old the class ends, the limit taken in; null for the oldest "
          "class and for unknown ages.", "d"),
    columns.NOW,
    columns.SCAN,
)  # fmt: skip

SIZES: Final = settings.view(
    "gpfs.sizes", "views.usage",
    "How many objects are how large, in classes.",
    {"sizes": Setting("upper ends of the classes", str, measures.SIZES), "scan": settings.SCAN},
    text("size", "Class of logical size; null for objects whose size the list does not say."),
    *(_IN_CLASS[name] for name in ("inodes", "size_bytes", "allocated_bytes")),
    _exact("above_bytes", "Where the class begins, the limit left out, but 0 for the empty class; "
           "null for unknown sizes."),
    _exact("up_to_bytes", "Where the class ends, the limit taken in; null for the largest class "
           "and for unknown sizes."),
    columns.SCAN,
)  # fmt: skip

COLD: Final = settings.view(
    "gpfs.cold", "views.usage",
    "What was neither accessed nor modified for so long, by groups.",
    {
        "by": settings.by("top"),
        "age": Setting("how long: 90d, 1y", str, "1y"),
        **settings.TIMED,
        **settings.GROUPED,
    },
    *columns.keys_without("cold"),
    _bytes("cold_size_bytes", "Logical size of the cold objects"),
    _of_known("cold"),
    count("cold_inodes", "Objects that were neither accessed nor modified for the setting age; "
          f"directories left out, hard links once; {columns.UNDECIDED}."),
    *columns.DATA.values(),
    *columns.KNOWN.values(),
    _bytes("cold_allocated_bytes", "Allocated size of the cold objects"),
    count("untimed", "Objects that may be cold or not, for a time that the list does not say; "
          "shares leave them out."),
    columns.NOW,
    columns.SCAN,
)  # fmt: skip

SMALL: Final = settings.view(
    "gpfs.small", "views.usage",
    "How many objects are small, and what they take, by groups.",
    {"by": settings.by("top"), "below": settings.SMALL, "scan": settings.SCAN, **settings.GROUPED},
    *columns.keys_without("small"),
    count("small_inodes", "Objects whose logical size is known and below the setting below; "
          f"directories left out, hard links once; {columns.UNDECIDED}."),
    share("small_share", "small_inodes as a share of known_inodes; null where there are none."),
    size("small_allocated_bytes", "Allocated size of the small objects, as far as it is known; "
         "null where it is of none."),
    size("small_size_bytes", "Logical size of the small objects; null where small_inodes is."),
    *(columns.DATA[name] for name in ("inodes", "size_bytes", "allocated_bytes")),
    columns.KNOWN["inodes"],
    columns.SCAN,
)  # fmt: skip

CLASSES: Final = (POLICY, AGES, SIZES, COLD, SMALL)
