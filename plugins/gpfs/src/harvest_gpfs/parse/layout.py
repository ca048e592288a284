"""What the lines of a list look like: the bytes between values, and what each value means.

A line is ``INODE GENERATION SNAPSHOT  SHOW -- PATH``, where SHOW is whatever the site's policy
prints; in the record format it is ``...:INODE:GENERATION:...:LENGTH!PATH:LENGTH!POOL;LENGTH!SHOW``.
Both are a row of steps: certain bytes, then a value.  Both parsers follow these steps.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

import attrs

from .attributes import Attribute, Type, find

__all__ = ["LONGEST_LINE", "Layout", "Step", "list_layout", "record_layout"]

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
        """Whether the value goes anywhere."""
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
        """The same in paths."""
        return b"%" if self.path_escaped else self._unless_record

    @property
    def _unless_record(self) -> bytes:
        return b"" if self.record else b"\\"

    def after(self, index: int) -> bytes:
        """The bytes that must stand after a step's value."""
        following = index + 1
        return self.steps[following].before if following < len(self.steps) else self.end

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
        steps.append(
            Step(
                gap + before if number == 0 else before,
                label,
                attribute.type if column is not None else Type.TEXT,
                column,
            )
        )
    return steps
