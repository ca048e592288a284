"""The layout of a list: the bytes between values, and the meaning of each value.

A line is ``INODE GENERATION SNAPSHOT  SHOW -- PATH``, where SHOW is whatever the site's policy
prints. In the record format it is ``...:INODE:GENERATION:...:LENGTH!PATH:LENGTH!POOL;LENGTH!SHOW``.
Both are sequences of steps: a literal, then a value. Both parsers follow these steps.

A site chooses the names of attributes in SHOW: the policy language's own names, or short keys that
its expression prints before each value. ``find`` knows both, and the columns' names. Values with
other names have no column and go to ``extra``. The attributes are described under "File attributes
in SQL expressions" in IBM Storage Scale's administration guide.
"""

from __future__ import annotations

import enum
from datetime import datetime
from typing import Final

import attrs

LONGEST_LINE: Final = 256 * 1024
"""Maximum bytes of a line; on Linux, a path has at most 4 KiB, percent-encoded 12 KiB."""


@attrs.frozen
class Step:
    """One value of a line.

    before: the literal bytes before the value.
    name: name of the value in the list.
    column: column for the value; None: a value that is kept goes to ``extra`` under its name.
    """

    before: bytes
    name: str
    type: Type
    column: str | None = None

    @property
    def kept(self) -> bool:
        return self.column is not None or self.type in (Type.TEXT, Type.COUNTED_TEXT)


@attrs.frozen
class Escaping:
    """How a list is escaped.

    show: SHOW is percent-encoded; path: paths are percent-encoded. Otherwise a newline is ``\\n``
        and a backslash ``\\\\``; in the record format only after a length with a minus sign.
    sure: whether a setting or the list's own lines prove the value of ``path``.
    """

    show: bool
    path: bool
    sure: bool = True


@attrs.frozen(kw_only=True)
class Layout:
    """The format of a list's lines.

    end: the bytes after the last value; then comes the path, or in the record format the line's
        end.
    record: whether this is the record format.
    scan_time: time of the scan, if the list or a setting states it.
    ends_with_trailer: whether lists of this kind end with ``# end rows=N``.
    """

    steps: tuple[Step, ...]
    end: bytes
    record: bool = False
    escaping: Escaping = Escaping(show=False, path=False)
    scan_time: datetime | None = None
    ends_with_trailer: bool = False

    @property
    def escape(self) -> bytes:
        """The byte that starts an escape in SHOW if no length has a minus sign; empty for none."""
        return b"%" if self.escaping.show else b"" if self.record else b"\\"

    @property
    def path_escape(self) -> bytes:
        return b"%" if self.escaping.path else b"" if self.record else b"\\"

    def after(self, index: int) -> bytes:
        following = self.steps[index + 1 :]
        return following[0].before if following else self.end

    @property
    def literals(self) -> tuple[bytes, ...]:
        """The literals before each value and after the last; a record's includes its newline."""
        return (*(step.before for step in self.steps), self.end + b"\n" * self.record)


Show = tuple[tuple[bytes, str], ...]
"""Output of SHOW: pairs of a literal and the name of the value after it."""


def list_layout(
    show: Show, end: bytes, keys: dict[str, Attribute], *, prefixed: bool, gap: bytes
) -> Layout:
    """Build the layout of ``[<N> ]INODE GENERATION SNAPSHOT{gap}SHOW{end} -- PATH``."""
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
    """Build the layout of the record format; show is None without SHOW.

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
        names = [name.lower() for _, name in show]
        for step in _show_steps(show, keys, {"inode", "generation", "pool"}, b""):
            if step.name.lower() in ("path", "path_name") and names.count(step.name.lower()) == 1:
                step = attrs.evolve(step, type=Type.FULL_PATH, column="path")
            elif find(step.name).column == "pool" and step.column is None:
                step = attrs.evolve(step, type=Type.SAME_TEXT, column="pool")
            steps.append(step)
    # names in SHOW take precedence over names of the engine's own fields
    named = {step.name for step in steps[10:]}
    steps[:10] = [
        attrs.evolve(step, name=f"record_{step.name}") if step.name in named else step
        for step in steps[:10]
    ]
    return Layout(steps=tuple(steps), end=end, record=True)


def _show_steps(show: Show, keys: dict[str, Attribute], taken: set[str], gap: bytes) -> list[Step]:
    """Build the steps of SHOW; values without a column of their own go to ``extra``.

    taken: columns that have a value; those of SHOW are added.
    """
    steps = []
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
    """Text format of a value."""

    UNSIGNED = 0  # whole number below 2^64
    WHOLE = 1  # whole number below 2^63
    SIGNED = 2  # like WHOLE, or negative
    KIBIBYTES = 3  # whole number, times 1024
    TIME = 4  # 2026-01-31 12:00:00[.123456], UTC
    REAL = 5  # decimal number, may have an exponent; may be missing
    TEXT = 6  # any text; may be missing
    FLAGS = 7  # MISC_ATTRIBUTES: a letter each
    MODE = 8  # type and permissions as `ls -l` writes them
    SKIPPED = 9  # whole number that is not kept
    # the following types occur only in the record format
    HEX_UNSIGNED = 10
    HEX_WHOLE = 11
    COUNTED_PATH = 12  # LENGTH!PATH below the file system's root
    COUNTED_TEXT = 13  # LENGTH!TEXT
    SHOW_LENGTH = 14  # LENGTH! of the rest of the line
    FULL_PATH = 15  # up to the last occurrence of the next literal
    SAME_TEXT = 16  # must be equal to the text of its column


@attrs.frozen
class Attribute:
    """Meaning of a value.

    column: column of ``gpfs.file``; None if the value goes to ``extra``.
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
"""Attributes by each of their names, in lower case."""


def find(name: str) -> Attribute:
    """Return the attribute with a name; ``EXTRA`` if it has no column."""
    return KNOWN.get(name.lower(), EXTRA)
