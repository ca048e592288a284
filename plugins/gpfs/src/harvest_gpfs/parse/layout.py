"""The layout of a list: the bytes between values, and the meaning of each value.

A line is ``INODE GENERATION SNAPSHOT  SHOW -- PATH``, where SHOW is whatever the site's policy
prints; in the record format it is ``...:INODE:GENERATION:...:LENGTH!PATH:LENGTH!POOL;LENGTH!SHOW``.
Both are a row of steps: certain bytes, then a value.  Both parsers follow these steps.

SHOW names attributes as a site likes: by the policy language's own names, or by the short keys that
its expression prints before each value.  ``find`` knows both, and the columns' names; every other
name is of no column and goes to ``extra``.  The attributes are described under "File attributes in
SQL expressions" in IBM Storage Scale's administration guide.
"""

from __future__ import annotations

import enum
from datetime import datetime
from typing import Final

import attrs

LONGEST_LINE: Final = 256 * 1024
"""Bytes of a line at most; a path is at most 4 KiB, percent-encoded 12 KiB, on Linux."""


@attrs.frozen
class Step:
    """One value of a line.

    before: the bytes that must stand before it.
    name: what the list calls it.
    column: which one it fills; None: it goes to ``extra`` by its name, if it is kept at all.
    """

    before: bytes
    name: str
    type: Type
    column: str | None = None

    @property
    def kept(self) -> bool:
        return self.column is not None or self.type in (Type.TEXT, Type.COUNTED_TEXT)


@attrs.frozen(kw_only=True)
class Layout:
    """The lines of a list.

    end: the bytes after the last value; the path follows, in the record format the line's end.
    record: the record format.
    escaped: SHOW is percent-encoded; path_escaped: paths are.  Otherwise a newline is ``\\n`` and
        a backslash ``\\\\``, in the record format only behind a length with a minus sign.
    path_escape_sure: whether a setting or the list's own lines prove that.
    scan_time: when the scan was made, where the list or a setting says.
    ends_with_trailer: lists of this kind end with ``# end rows=N``.
    """

    steps: tuple[Step, ...]
    end: bytes
    record: bool = False
    escaped: bool = False
    path_escaped: bool = False
    path_escape_sure: bool = True
    scan_time: datetime | None = None
    ends_with_trailer: bool = False

    @property
    def escape(self) -> bytes:
        """What begins an escape in SHOW, without a minus sign; empty where nothing does."""
        return b"%" if self.escaped else self._unless_record

    @property
    def path_escape(self) -> bytes:
        return b"%" if self.path_escaped else self._unless_record

    @property
    def _unless_record(self) -> bytes:
        return b"" if self.record else b"\\"

    def after(self, index: int) -> bytes:
        following = self.steps[index + 1 :]
        return following[0].before if following else self.end

    @property
    def literals(self) -> tuple[bytes, ...]:
        """The bytes before each value, and those after the last; a record's with its line end."""
        return (*(step.before for step in self.steps), self.end + b"\n" * self.record)


Show = tuple[tuple[bytes, str], ...]
"""What SHOW prints: pairs of bytes and the name of the value behind them."""


def list_layout(
    show: Show, end: bytes, keys: dict[str, Attribute], *, prefixed: bool, gap: bytes
) -> Layout:
    """The layout of ``[<N> ]INODE GENERATION SNAPSHOT{gap}SHOW{end} -- PATH``."""
    steps = [
        Step(b"> " if prefixed else b"", "inode", Type.UNSIGNED, "inode"),
        Step(b" ", "generation", Type.WHOLE, "generation"),
        Step(b" ", "snapshot id", Type.WHOLE, "snapshot_id"),
    ]
    if prefixed:
        steps.insert(0, Step(b"<", "number in <>", Type.SKIPPED))
    steps += _show_steps(show, keys, {"inode", "generation", "snapshot_id"}, gap)
    if not show:
        end = gap
    return Layout(steps=tuple(steps), end=end + b"-- ")


def record_layout(show: Show | None, end: bytes, keys: dict[str, Attribute]) -> Layout:
    """The layout of the record format; show is None where it has no SHOW.

    "Record format" in IBM Storage Scale's administration guide gives the fields.
    """
    steps = [
        Step(b"", "aggregate", Type.TEXT),
        Step(b":", "weight", Type.TEXT),
        Step(b":", "inode", Type.HEX_UNSIGNED, "inode"),
        Step(b":", "generation", Type.HEX_WHOLE, "generation"),
        Step(b":", "size", Type.TEXT),
        Step(b":", "rule", Type.TEXT),
        Step(b":", "resource", Type.TEXT),
        Step(b":", "attr_flags", Type.TEXT),
        Step(b":", "path", Type.COUNTED_PATH, "path"),
        Step(b":", "pool", Type.COUNTED_TEXT, "pool"),
    ]
    if show is not None:
        steps.append(Step(b";", "SHOW's length", Type.SHOW_LENGTH))
        taken = {"inode", "generation", "pool"}
        names = [name.lower() for _, name in show]
        for step in _show_steps(show, keys, taken, b""):
            if step.name.lower() in ("path", "path_name") and names.count(step.name.lower()) == 1:
                step = attrs.evolve(step, type=Type.FULL_PATH, column="path")
            elif find(step.name).column == "pool" and step.column is None:
                step = attrs.evolve(step, type=Type.SAME_TEXT, column="pool")
            steps.append(step)
    # names of the engine's own fields give way to those of SHOW
    named = {step.name for step in steps[10:]}
    steps[:10] = [
        attrs.evolve(step, name=f"record_{step.name}") if step.name in named else step
        for step in steps[:10]
    ]
    return Layout(steps=tuple(steps), end=end, record=True)


def _show_steps(show: Show, keys: dict[str, Attribute], taken: set[str], gap: bytes) -> list[Step]:
    """Steps of SHOW; what fills no column, or one that is filled already, goes to ``extra``."""
    steps = []
    taken = set(taken)
    seen: set[str] = set()
    for number, (before, name) in enumerate(show):
        attribute = keys.get(name) or find(name)
        column = attribute.column if attribute.column not in taken else None
        if column is not None:
            taken.add(column)
        label = name
        while label in seen:  # repeated keys are numbered, so that extra keeps them all
            label = f"{name}#{1 + sum(s == name or s.startswith(f'{name}#') for s in seen)}"
        seen.add(label)
        kind = attribute.type if column is not None else Type.TEXT
        steps.append(Step(before if number else gap + before, label, kind, column))
    return steps


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
