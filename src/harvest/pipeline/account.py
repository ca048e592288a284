"""The account of a run: what was read, and what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import ClassVar

import attrs

from harvest.storage.part import Part


@attrs.define(kw_only=True)
class SourceAccount:
    """Units of one source: read = written + filtered + folded + rejected.

    partitions: read in this run; skipped: unchanged since an earlier run.
    """

    source: str
    partitions: int = 0
    skipped: int = 0
    read: int = 0
    written: int = 0
    filtered: int = 0
    folded: int = 0
    rejected: int = 0
    failed: int = 0
    reasons: dict[str, int] = attrs.field(factory=dict)

    @property
    def balanced(self) -> bool:
        """Whether every unit read is accounted for."""
        return self.read == self.written + self.filtered + self.folded + self.rejected


@attrs.define
class Account:
    """The accounts of all sources of a run."""

    sources: dict[str, SourceAccount]

    COLUMNS: ClassVar = (
        "source", "parts", "unchanged", "read", "written", "filtered", "folded", "rejected"
    )  # fmt: skip
    """What people see of it, beside the reasons."""

    @property
    def rows(self) -> list[tuple[str | int, ...]]:
        """A row for each source, as ``COLUMNS`` says."""
        return [
            (a.source, a.partitions, a.skipped, a.read, a.written, a.filtered, a.folded, a.rejected)
            for a in self.sources.values()
        ]

    @property
    def rejected(self) -> int:
        """Rejects of all sources."""
        return sum(a.rejected for a in self.sources.values())

    @property
    def written(self) -> int:
        """Rows of all sources."""
        return sum(a.written for a in self.sources.values())


def account_of(read: Iterable[Part], skipped: Iterable[str]) -> Account:
    """Sum up the parts that a run read, and count those it skipped; these by their sources."""
    sources: dict[str, SourceAccount] = {}
    for part in read:
        account = sources.setdefault(part.source, SourceAccount(source=part.source))
        account.partitions += 1
        account.read += part.read
        account.written += part.written
        account.filtered += sum(part.filtered.values())
        account.folded += sum(part.folded.values())
        account.rejected += part.rejected
        account.failed += part.failed
        for word, counts in (("filtered", part.filtered), ("folded", part.folded)):
            for reason, count in counts.items():
                key = f"{word}: {reason}"
                account.reasons[key] = account.reasons.get(key, 0) + count
    for source, count in Counter(skipped).items():
        account = sources.setdefault(source, SourceAccount(source=source))
        account.skipped += count
    return Account(dict(sorted(sources.items())))
