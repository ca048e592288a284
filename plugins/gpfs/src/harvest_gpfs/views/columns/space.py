"""Columns of the views of who and what uses the space, and where."""

from __future__ import annotations

from typing import Final

import attrs

from harvest import Column

from .shared import (
    DATA,
    DIRECTORIES,
    KEYS,
    KNOWN,
    METRICS_BY_SIZE,
    SCAN,
    UNDECIDED,
    metric,
    number_of_bytes,
    share,
)

__all__ = [
    "DIRECTORY_TREE",
    "EXTENSIONS",
    "GROWTH",
    "HEAT",
    "OWNERS",
    "SMALL",
    "USAGE",
]

USAGE: Final = (*KEYS.values(), *METRICS_BY_SIZE, SCAN)

DIRECTORY_TREE: Final = (*DIRECTORIES, *METRICS_BY_SIZE, SCAN)

GROWTH: Final = (
    Column(
        "scan",
        doc="The scan that the row sums up: its time, in UTC, or the path of a list that does "
        "not say it.",
    ),
    *KEYS.values(),
    *DIRECTORIES,
    metric("size_bytes"),
    number_of_bytes(
        "size_change_bytes",
        "Logical size minus that in the scan before, where a group that it did not have counts "
        "as 0; null for the first scan, for a list without a time, and where one of both "
        "does not say the groups or the size.",
    ),
    metric("inodes"),
    Column(
        "inodes_change",
        doc="Objects minus those in the scan before, where a group that it did not have counts "
        "as 0; null for the first scan, for a list without a time, and where one of both does not "
        "say the groups.",
    ),
    Column(
        "since",
        doc="The scan before, which changes are counted from; in brackets why there is none.",
    ),
    metric("allocated_bytes"),
    metric("files"),
    metric("directories"),
    Column("scan_time", doc="When the scan was made, in UTC; null where the list does not say."),
)

EXTENSIONS: Final = (
    KEYS["extension"],
    *(DATA[name] for name in ("size_bytes", "inodes", "allocated_bytes")),
    SCAN,
)

SMALL: Final = (
    *(key for name, key in KEYS.items() if name != "small"),
    Column(
        "small_inodes",
        doc="Objects whose logical size is known and below the setting below; directories left "
        f"out, hard links once; {UNDECIDED}.",
    ),
    share(
        "small_share",
        "small_inodes as a share of known_inodes; null where there are none.",
    ),
    number_of_bytes(
        "small_allocated_bytes",
        "Allocated size of the small objects, as far as it is known; null where it is of none.",
    ),
    number_of_bytes(
        "small_size_bytes", "Logical size of the small objects; null where small_inodes is."
    ),
    *(DATA[name] for name in ("inodes", "size_bytes", "allocated_bytes")),
    KNOWN["inodes"],
    SCAN,
)

HEAT: Final = (
    *KEYS.values(),
    metric("warm_bytes"),
    metric("warm"),
    *(DATA[name] for name in ("size_bytes", "inodes")),
    Column(
        "mean_heat",
        doc="Mean heat of the objects whose heat is known, exact to a billionth; null where it "
        "is known of none.",
    ),
    metric("hottest"),
    metric("with_heat"),
    SCAN,
)

_PARTS: Final = {
    "cold": f"neither accessed nor modified within the setting cold; {UNDECIDED}, and where "
    "nothing says when the scan was made",
    "small": f"whose logical size is below the setting below; {UNDECIDED}",
}

_KNOWN_PARTS: Final = {
    "cold_known_inodes": Column(
        "cold_known_inodes",
        doc="Objects of which size and kind are known, and whether they are cold; null where "
        "that is none, and where nothing says when the scan was made.",
    ),
    "cold_known_bytes": number_of_bytes(
        "cold_known_bytes", "Logical size of the objects in cold_known_inodes; null where none is."
    ),
    "small_known_inodes": Column(
        "small_known_inodes",
        doc="Objects other than directories whose size is known; null where that is none.",
    ),
    "future_known_inodes": Column(
        "future_known_inodes",
        doc="Objects other than directories of which it is known whether their times lie in the "
        "future; null where that is none, and where nothing says when the scan was made.",
    ),
}
"""What is known of the parts: what shares are of."""

OWNERS: Final = (
    Column(
        "user", doc="Owner's name by the passwd file given; the number as text where it has none."
    ),
    number_of_bytes(
        "size_bytes",
        "Logical size of all objects of the owner, directories too, as far as it is known; null "
        "where it is of none.",
    ),
    share(
        "share", "size_bytes as a share of all_bytes; null where that is 0 or size_bytes not known."
    ),
    Column(
        "files",
        doc="Objects of the owner that are files; null where the kind of none is known.",
    ),
    share(
        "cold_share",
        "cold_size_bytes as a share of cold_known_bytes; null where that is 0 or either is not "
        "known.",
    ),
    share(
        "small_share", "small_inodes as a share of small_known_inodes; null where there are none."
    ),
    Column(
        "unknown",
        doc="Whether the passwd file given lacks the owner; null where none is given, and for "
        "objects whose owner the list does not say.",
    ),
    Column("uid", format="d", doc="Owner's number; null where the list does not say it."),
    metric("inodes"),
    metric("allocated_bytes"),
    Column(
        "data_inodes",
        doc="Objects of the owner other than directories, each once; null where the kind of none "
        "is known.",
    ),
    number_of_bytes(
        "data_bytes",
        "Logical size of the objects other than directories, as far as it is known; null where "
        "it is of none, or no kind is.",
    ),
    *(
        column
        for part, meaning in _PARTS.items()
        for column in (
            Column(f"{part}_inodes", doc=f"Objects other than directories {meaning}."),
            number_of_bytes(
                f"{part}_size_bytes",
                f"Logical size of the objects other than directories {meaning}.",
            ),
            number_of_bytes(
                f"{part}_allocated_bytes",
                f"Allocated size of the objects other than directories {meaning}.",
            ),
        )
    ),
    Column(
        "future_inodes",
        doc="Objects other than directories that were accessed or modified more than a day after "
        "the time in now; "
        f"{UNDECIDED}, and where now is null.",
    ),
    *_KNOWN_PARTS.values(),
    number_of_bytes(
        "all_bytes", "size_bytes of all owners together, the same in each row; null without any."
    ),
    *(
        attrs.evolve(
            column,
            name=f"all_{column.name}",
            doc=f"{column.name} of all owners together, the same in each row; null without any, "
            "and where it is not known of some and 0 of the others.",
        )
        for column in (
            Column("data_inodes"),
            number_of_bytes("data_bytes", ""),
            *_KNOWN_PARTS.values(),
        )
    ),
    Column(
        "now",
        doc="What ages are counted from, in UTC: the time of the scan, or the one given; null "
        "where neither is known.",
    ),
    SCAN,
)
