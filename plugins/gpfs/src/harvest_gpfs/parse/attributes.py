"""File attributes of the policy language, and the columns of ``gpfs.file`` that they fill.

A site's SHOW clause names attributes as it likes: by the policy language's own names, or by the
short keys that its expression prints before each value.  ``find`` knows both, and the columns'
names; every other name is of no column and goes to ``extra``.

The attributes are described under "File attributes in SQL expressions" in IBM Storage Scale's
administration guide.
"""

from __future__ import annotations

import enum
from typing import Final

import attrs

__all__ = ["EXTRA", "KNOWN", "Attribute", "Type", "find"]


class Type(enum.IntEnum):
    """How the text of a value is read."""

    UNSIGNED = 0  # whole number below 2^64
    WHOLE = 1  # whole number below 2^63
    SIGNED = 2  # the same, or below zero
    KIBIBYTES = 3  # whole number, times 1024
    TIME = 4  # 2026-01-31 12:00:00[.123456], UTC
    REAL = 5  # decimal number, may have an exponent; may be missing
    TEXT = 6  # any text; may be missing
    FLAGS = 7  # MISC_ATTRIBUTES: a letter each
    MODE = 8  # type and permissions as `ls -l` writes them
    SKIPPED = 9  # whole number that is not kept
    # the rest occur in the record format alone
    HEX_UNSIGNED = 10
    HEX_WHOLE = 11
    COUNTED_PATH = 12  # LENGTH!PATH below the file system's root
    COUNTED_TEXT = 13  # LENGTH!TEXT
    SHOW_LENGTH = 14  # LENGTH! of all that follows
    FULL_PATH = 15  # up to the last place where what follows it stands
    SAME_TEXT = 16  # must repeat the text of its column


@attrs.frozen
class Attribute:
    """What a value means.

    column: of ``gpfs.file``; None for one that goes to ``extra``.
    """

    column: str | None
    type: Type


EXTRA: Final = Attribute(None, Type.TEXT)

_NAMES: Final = {
    "size_bytes": (Type.WHOLE, "file_size size s"),
    "access_time": (Type.TIME, "access atime ac"),
    "modify_time": (Type.TIME, "modification_time modify mtime mt"),
    "change_time": (Type.TIME, "change ctime"),
    "create_time": (Type.TIME, "creation_time create crtime btime cr"),
    "uid": (Type.SIGNED, "user_id u"),
    "gid": (Type.SIGNED, "group_id g"),
    "heat": (Type.REAL, "file_heat fileheat"),
    "pool": (Type.TEXT, "pool_name"),
    "fileset": (Type.TEXT, "fileset_name"),
    "mode": (Type.MODE, "p"),
    "flags": (Type.FLAGS, "misc_attributes misc m"),
    "nlink": (Type.WHOLE, "nlinks links nl"),
}

KNOWN: Final[dict[str, Attribute]] = {
    name: Attribute(column, kind)
    for column, (kind, names) in _NAMES.items()
    for name in (column, *names.split())
} | {
    "allocated_bytes": Attribute("allocated_bytes", Type.WHOLE),
    **dict.fromkeys(
        ("kb_allocated", "kballoc", "kb", "a"), Attribute("allocated_bytes", Type.KIBIBYTES)
    ),
    "extra": EXTRA,
}
"""Attributes by the names they go by, in lower case."""


def find(name: str) -> Attribute:
    """The attribute that a name stands for; ``EXTRA`` where it is of no column."""
    return KNOWN.get(name.lower(), EXTRA)
