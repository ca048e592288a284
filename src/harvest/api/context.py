"""What a source reports to the core while it reads a partition.

A source yields rows; everything else that happens to its input goes through the context: units
that could not be read, units left out on purpose, units merged into others.  With the rows they
must add up: ``read = written + filtered + folded + rejected``.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import attrs

RAW_LIMIT = 64 * 1024
"""Bytes of a rejected unit that are kept; the reason says how long it was."""


@attrs.frozen
class Reject:
    """One input unit that could not be read.

    origin: absolute path or URI of the input.
    position: its line or record number there, from 1; None where it has none.
    raw: its bytes, cut at 64 KiB.
    reason: what was wrong with it.
    record_type: name of the record type it would have become, where known.
    """

    origin: str
    position: int | None
    raw: bytes
    reason: str
    record_type: str | None = None


@attrs.frozen
class Note:
    """A remark on an input that is worth a reader's attention but loses no data."""

    origin: str
    text: str


@attrs.define
class ReadContext:
    """Counts and keeps what a source reports while reading one partition.

    origin: the partition's origin, used where a call names none.
    scratch: an empty directory for temporary files, removed afterwards; made when asked for.
    on_reject: takes each reject at once; without it they gather in ``rejects``.
    """

    origin: str
    _scratch: Path
    log: logging.Logger = attrs.field(factory=lambda: logging.getLogger("harvest.source"))
    progress: Callable[[int], None] | None = None
    rejects: list[Reject] = attrs.field(factory=list, init=False)
    notes: list[Note] = attrs.field(factory=list, init=False)
    filtered_by: Counter[str] = attrs.field(factory=Counter, init=False)
    folded_by: Counter[str] = attrs.field(factory=Counter, init=False)
    units: int | None = attrs.field(default=None, init=False)
    rejected: int = attrs.field(default=0, init=False)
    on_reject: Callable[[Reject], None] | None = None

    @property
    def scratch(self) -> Path:
        """The directory for temporary files, which is made when it is first asked for."""
        self._scratch.mkdir(parents=True, exist_ok=True)
        return self._scratch

    def read(self, units: int) -> None:
        """Count input units (lines, records) as read.

        A source that never calls it is taken to have read just what it accounted for.
        """
        self.units = (self.units or 0) + units

    def reject(
        self,
        raw: bytes | str,
        reason: str,
        *,
        position: int | None = None,
        origin: str | None = None,
        record_type: str | None = None,
    ) -> None:
        """Set one input unit aside, with what was wrong with it."""
        data = raw.encode("utf-8", "surrogateescape") if isinstance(raw, str) else bytes(raw)
        if len(data) > RAW_LIMIT:
            reason = f"{reason} (first {RAW_LIMIT} of {len(data)} bytes kept)"
            data = data[:RAW_LIMIT]
        item = Reject(origin or self.origin, position, data, reason, record_type)
        self.rejected += 1
        if self.on_reject is not None:
            self.on_reject(item)
        else:
            self.rejects.append(item)

    def filtered(self, units: int, reason: str) -> None:
        """Count units left out because the user's settings say so."""
        if units:
            self.filtered_by[reason] += units

    def folded(self, units: int, reason: str) -> None:
        """Count units merged into another row (a repeat, a continuation line)."""
        if units:
            self.folded_by[reason] += units

    def note(self, text: str, *, origin: str | None = None) -> None:
        """Remark on the input; printed at the end of the run and kept in the manifest."""
        self.notes.append(Note(origin or self.origin, text))

    def advance(self, size: int) -> None:
        """Report ``size`` more bytes of the input as read, for the progress display."""
        if self.progress is not None:
            self.progress(size)
