"""Columns of the views of who and what uses the space, and where."""

from __future__ import annotations

from typing import Final

from harvest import Column

from .shared import (
    DATA,
    DIRECTORIES,
    KEYS,
    METRICS_BY_SIZE,
    SCAN,
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
        "as 0; null for the first scan and for a list without a time.",
    ),
    metric("inodes"),
    Column(
        "inodes_change",
        doc="Objects minus those in the scan before, where a group that it did not have counts "
        "as 0; null for the first scan and for a list without a time.",
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
        "out, hard links once.",
    ),
    share(
        "small_share",
        "small_inodes as a share of inodes; null where there are none.",
    ),
    number_of_bytes(
        "small_allocated_bytes",
        "Allocated size of the small objects, as far as it is known; null where it is of none.",
    ),
    number_of_bytes("small_size_bytes", "Logical size of the small objects."),
    *(DATA[name] for name in ("inodes", "size_bytes", "allocated_bytes")),
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
    "cold": "neither accessed nor modified within the setting cold; null where nothing says "
    "when the scan was made",
    "small": "whose logical size is below the setting below",
}

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
    Column("files", doc="Objects of the owner that are files."),
    share(
        "cold_share",
        "cold_size_bytes as a share of data_bytes; null where that is 0 or either is not known.",
    ),
    share("small_share", "small_inodes as a share of data_inodes; null where there are none."),
    Column(
        "unknown",
        doc="Whether the passwd file given lacks the owner; null where none is given, and no for "
        "objects without an owner.",
    ),
    Column("uid", format="d", doc="Owner's number; null where the list does not say it."),
    metric("inodes"),
    metric("allocated_bytes"),
    Column("data_inodes", doc="Objects of the owner other than directories, each once."),
    number_of_bytes(
        "data_bytes",
        "Logical size of the objects other than directories, as far as it is known; null where "
        "it is of none.",
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
        "the time in now; null where that is.",
    ),
    number_of_bytes("all_bytes", "size_bytes of all owners together, the same in each row."),
    Column("all_data_inodes", doc="data_inodes of all owners together, the same in each row."),
    number_of_bytes("all_data_bytes", "data_bytes of all owners together, the same in each row."),
    Column(
        "now",
        doc="What ages are counted from, in UTC: the time of the scan, or the one given; null "
        "where neither is known.",
    ),
    SCAN,
)
